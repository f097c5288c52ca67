package agents

import (
	"context"

	"flame/core"
	"flame/project"
	"flame/transcripts"
)

// Recall returns what a call of a tool put out in the caller's conversation, as its host
// logged it. Requests to the model may have a line in its place, or nothing.
func (a *Agents) Recall(ctx context.Context, by project.Caller, call string) (output string, err error) {
	var session core.Session
	var logged project.Transcript
	err = a.Project.View(ctx, by, func(s *project.Step) error {
		session = s.Session
		_, err := project.RecordTranscript.Load(s.Tx, session.ID, &logged)
		return err
	})
	if err != nil {
		return "", err
	}
	log, err := a.Hosts.LogOf(a.Machine, session.Host, session.ID, logged.Path)
	if err != nil {
		return "", err
	}
	found := false
	for m, err := range transcripts.Complete(ctx, log) {
		if err != nil {
			return "", core.Unavailablef(err, "the transcript of session %s cannot be read: %v", session.ID, err)
		}
		for _, part := range m.Parts {
			if part.Type == core.PartToolResult && part.CallID == call {
				output, found = part.Text, true // some models number their calls anew in each answer
			}
		}
	}
	if found {
		return output, nil
	}
	return "", core.NotFoundf("no call %q has put out anything in session %s", call, session.ID).
		WithHint("pass the id of the call as the line in place of its output has it")
}
