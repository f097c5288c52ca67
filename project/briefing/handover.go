package briefing

import (
	"context"
	"fmt"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

// maxHandover limits the text of a handover, in UTF-16 code units.
const maxHandover = 6000

// A Handover is the work of a frame for the session that continues it.
type Handover struct {
	Frame core.Frame
	Text  string // the first prompt of that session
}

// HandOver returns the work of a frame. Without an id, the frame is the caller's or, if the caller
// has none, the first one that flame would offer to a new session. HandOver changes nothing: the
// session that continues takes the frame up by itself. The error is a Problem of kind
// core.ErrNotFound if there is no such frame, and of kind core.ErrInvalid if the frame was
// invalidated.
func HandOver(ctx context.Context, p *project.Project, by project.Caller, id string) (h Handover, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		if h.Frame, err = handedOver(s, id); err != nil {
			return err
		}
		c, _, err := project.ClosingOf(s.Tx, h.Frame)
		c.Root = h.Frame
		h.Text = fmt.Sprintf("Continue the work of another session. First call %s with {\"sessionID\": %q, %q: true}: "+
			"it moves you into that frame and returns its context. The other session left this:\n\n%s\n",
			string(op.Activate), h.Frame.ID, string(op.ArgForce), c.Text(maxHandover))
		return err
	})
	return h, err
}

// handedOver returns the frame of HandOver.
func handedOver(s *project.Step, id string) (frame core.Frame, err error) {
	if id != "" {
		frame, err = s.Resolve(id)
		if err == nil && frame.Status == core.Invalidated {
			err = core.Invalidf("%s is invalidated: %s", frame.ID, core.OneLine(frame.InvalidationReason, project.MaxTitle))
		}
		return frame, err
	}
	frame, ok, err := place(s)
	if ok || err != nil {
		return frame, err
	}
	var around core.Surroundings
	switch err := offers(s, &around); {
	case err != nil:
		return frame, err
	case len(around.Unfinished) > 0:
		return around.Unfinished[0], nil
	case around.Finished.Text != "":
		return around.Finished.Frame, nil
	}
	return frame, core.NotFoundf("no session has left work to continue here").
		WithHint("name a frame, or start with %s; `flame tree` shows what there is", op.Push)
}
