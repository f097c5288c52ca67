package agents

import (
	"context"
	"errors"
	"iter"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/transcripts"
)

// LogOf returns the frame that ref names, and yields what its host logged of the work in it
// so far. A transcript that is gone is core.ErrNotFound.
func LogOf(ctx context.Context, a *Agents, by project.Caller, ref string) (core.Frame, iter.Seq2[core.Message, error], error) {
	part, err := stack.LogSoFar(ctx, a.Project, by, ref)
	if err != nil {
		return part.Frame, nil, err
	}
	log, err := a.Hosts.LogOf(a.Machine, part.Host, part.Frame.Session, part.Path)
	if errors.Is(err, core.ErrNotFound) {
		return part.Frame, nil, core.NotFoundf("%v", err).WithHint("hosts delete old sessions; what the frame itself has stays")
	}
	if err != nil {
		return part.Frame, nil, core.Unavailablef(err, "the transcript of session %s cannot be read: %v", part.Frame.Session, err)
	}
	return part.Frame, part.Part(transcripts.Complete(ctx, log)), nil
}
