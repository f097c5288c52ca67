package hub

import (
	"context"
	"errors"
	"io/fs"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/shared"
)

// Claim claims a frame of another machine for this one, on the hub that the project with
// this data folder has joined. It makes a connection of its own: the claim lasts a few
// seconds, or until the process that keeps the project connected holds it. If the hub has
// work in the frame that this machine does not know, Claim stores it and refuses the
// claim. Without a hub every claim is granted.
func Claim(ctx context.Context, p *project.Project, data string, frame core.Frame) error {
	link, err := Load(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	conn, err := Connect(ctx, link)
	if errors.Is(err, core.ErrUnavailable) {
		return project.Unclaimed(frame)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	claims, err := conn.Claims(ctx)
	if err != nil {
		return err
	}
	if err := claims.Claim(ctx, frame.ID); err != nil {
		return err
	}
	if err := conn.unheard(ctx, p, frame.ID); err != nil {
		return errors.Join(err, claims.Release(ctx))
	}
	return nil
}

// unheard stores the hub's document of a frame if it has work that this machine does not know,
// and then returns an error that says so.
func (c *Conn) unheard(ctx context.Context, p *project.Project, id string) error {
	t, err := c.tree(ctx)
	if err != nil {
		return err
	}
	value, _, err := t.Last(ctx, keyOf(id))
	if err != nil {
		return err
	}
	came, is, err := parse(keyOf(id), value, p.Now())
	switch {
	case is == unread:
		return core.Invalidf("%s cannot be taken over, because flame cannot use the hub's version of it: %v", id, err).
			WithHint("use the same version of flame on all machines; is the clock of this machine right?")
	case is == nothing:
		return nil // this machine's document will replace it
	}
	known, err := shared.Agreed(ctx, p, id)
	if err != nil {
		return err
	}
	both := merge.Merge(known, came).Work
	if w := known.Work; both.Machine == w.Machine && both.Term == w.Term && both.Stamp == w.Stamp && (came.Invalid == nil || known.Invalid != nil) {
		return nil
	}
	if _, err := (shared.Tree{Project: p, Machine: c.link.Machine}).Take(ctx, []merge.Doc{came}); err != nil {
		return err
	}
	return core.Invalidf("%s has changed on machine %s meanwhile; flame has stored these changes", id, came.Work.Machine).
		WithHint("look at the frame, and try again if you still want to take it over")
}
