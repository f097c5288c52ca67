package view

import (
	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// markAgents sets the agents of lines whose frames were made for one.
func markAgents(s *project.Step, lines []outline.Line) error {
	sessions := map[string]core.Session{}
	for i := range lines {
		frame := &lines[i].Frame
		if frame.Parent == "" || frame.Session == "" {
			continue
		}
		session, known := sessions[frame.Session]
		if !known {
			var err error
			if session, err = s.Tx.Session(frame.Session); project.IgnoreMissing(err) != nil {
				return err
			}
			sessions[frame.Session] = session
		}
		var err error
		if lines[i].Agent, err = agentOf(s, *frame, session); err != nil {
			return err
		}
	}
	return nil
}

// agentOf returns the type of the agent or subagent that a frame was made for: the root
// of its session, whose title names the type. If that session is forgotten, flame knows
// it of agents that it started itself.
func agentOf(s *project.Step, frame core.Frame, session core.Session) (string, error) {
	switch session.Root {
	case frame.ID:
		return core.SubagentType(session.Title), nil
	case "":
		var id string
		var work project.AgentWork
		if known, err := project.RecordAgentFrame.Load(s.Tx, frame.ID, &id); err != nil || !known {
			return "", err
		}
		_, err := project.RecordAgentWork.Load(s.Tx, id, &work)
		return core.SubagentType(work.Title), err
	}
	return "", nil
}
