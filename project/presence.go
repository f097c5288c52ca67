package project

import (
	"context"
	"errors"

	"flame/core"
)

// recordPresence, by session, is what its hooks must remember from one call to the next.
const recordPresence Kind[Presence] = "presence"

// A Presence is what the hooks of a session remember about it.
type Presence struct {
	Seen     int64       `json:"seen"`               // the last event that its agent knows of
	Prompt   string      `json:"prompt,omitempty"`   // id of the last prompt
	Answered string      `json:"answered,omitempty"` // id of the last prompt whose turn is known to have ended
	Turn     int64       `json:"turn,omitempty"`     // the last event before its turn began
	Told     bool        `json:"told,omitempty"`     // a child: its parent has its summary from the host
	Fallback string      `json:"fallback,omitempty"` // its last message so far
	Rested   bool        `json:"rested,omitempty"`   // its last turn ended by itself, and left nothing running
	Ended    *Ending     `json:"ended,omitempty"`    // a child: it has ended, but work below it goes on
	Framed   bool        `json:"framed,omitempty"`   // a child: its frame was counted
	Counted  bool        `json:"counted,omitempty"`  // a child: how it ended first was counted
	Given    bool        `json:"given,omitempty"`    // an agent's: its first context came with its task
	Process  Process     `json:"process,omitzero"`   // of its host; zero if not known
	Over     core.Millis `json:"over,omitempty"`     // when the session ended; 0: it never did
	Owed     bool        `json:"owed,omitempty"`     // its context was due when nobody waited for the answer
	Standing
}

// A Process is one that runs or ran. Pids are reused, so its start distinguishes it from
// others.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // as the system reports it
}

// noteFirst records the host's process at the first call of a session.
func noteFirst(s *Step) error {
	if !s.Fresh {
		return nil
	}
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil || !mine.NoteProcess(s) {
		return err
	}
	return s.SavePresence(s.Session.ID, mine)
}

// NoteProcess records the host's process that the caller's session lives in, and reports
// whether that is news. A child ends with its parent, whatever process it lives in.
func (p *Presence) NoteProcess(s *Step) bool {
	if s.Project.HostProcess == nil || s.Session.Parent != "" || s.By.Anonymous() || s.By.Host == CommandLine {
		return false
	}
	at := s.Project.HostProcess()
	news := at != Process{} && at != p.Process
	if news {
		p.Process = at
	}
	return news
}

// PresenceOf returns the Presence of a session; zero if its hooks never called.
func (s *Step) PresenceOf(session string) (p Presence, err error) {
	_, err = recordPresence.Load(s.Tx, session, &p)
	return p, err
}

// SavePresence writes the Presence of a session.
func (s *Step) SavePresence(session string, p Presence) error {
	return recordPresence.Save(s.Tx, session, p)
}

// An Ending is how a child's run ended, and its last message.
type Ending struct {
	End   core.ChildEnd `json:"end"`
	Last  string        `json:"last,omitempty"`
	Idle  bool          `json:"idle,omitempty"`  // flame concluded it from the child's silence
	Hand  bool          `json:"hand,omitempty"`  // somebody completed it by a tool
	Agent bool          `json:"agent,omitempty"` // the child is an agent of flame's own; events of its run report the end
}

// Summary returns the summary for the child's frame.
func (e Ending) Summary() string {
	switch {
	case e.Last != "":
		return e.Last
	case e.Idle:
		return autoCompleted
	}
	return e.End.Note()
}

// autoCompleted is the summary of a subagent that fell idle without leaving one.
const autoCompleted = "(completed automatically when the subagent fell idle)"

// A Standing is what a host reports about the permissions of a session that may ask for
// agents. It bounds what those may do.
type Standing struct {
	Mode  string `json:"mode,omitempty"`       // permission mode; empty: not reported
	Agent string `json:"host_agent,omitempty"` // name of the host's own agent that works in it; empty: not reported, or no particular one
	Rules string `json:"rules,omitempty"`      // that agent's permissions as OpenCode has them, in JSON; empty: not reported
}

// NoteStanding records the Standing that the caller's host reports.
func (p *Project) NoteStanding(ctx context.Context, by Caller, told Standing) error {
	return p.Consider(ctx, by, func(s *Step) (func(*Step) error, error) {
		mine, err := s.PresenceOf(s.Session.ID)
		if err != nil || mine.Standing == told {
			return nil, err
		}
		return func(s *Step) error {
			mine, err := s.PresenceOf(s.Session.ID) // joining an agent may have changed it
			if err != nil {
				return err
			}
			mine.Standing = told
			return s.SavePresence(s.Session.ID, mine)
		}, nil
	})
}

// StandingOf returns the last Standing reported for a session; zero without one.
func StandingOf(tx Tx, session string) (Standing, error) {
	var p Presence
	_, err := recordPresence.Load(tx, session, &p)
	return p.Standing, err
}

// Forget deletes a session, its Presence, its Timeline and when it was idle.
func Forget(tx Tx, id string) error {
	return errors.Join(recordPresence.Delete(tx, id), recordWorked.Delete(tx, id), RecordIdle.Delete(tx, id), tx.DeleteSession(id))
}
