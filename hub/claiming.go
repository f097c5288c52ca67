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
// this data folder has joined. It connects for that alone: the claim lasts until whoever
// keeps the project connected holds it, or a few seconds. If the hub knows of work in the
// frame that this machine had not heard of, it is taken in, and the claim refused. Without
// a hub there is nobody to agree with: every claim is granted.
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

// unheard takes in what the hub knows of a frame if this machine had not heard of it, and
// says so by an error.
func (c *Conn) unheard(ctx context.Context, p *project.Project, id string) error {
	t, err := c.tree(ctx)
	if err != nil {
		return err
	}
	value, _, err := t.last(ctx, keyOf(id))
	if err != nil {
		return err
	}
	came, is, err := parse(keyOf(id), value, p.Now())
	switch {
	case is == unread:
		return core.Invalidf("%s cannot be taken over, for what the hub has of it is of no use here: %v", id, err).
			WithHint("use the same version of flame on all machines; is the clock of this machine right?")
	case is == nothing:
		return nil // what this machine has will replace it
	}
	known, err := shared.Agreed(ctx, p, id)
	if err != nil {
		return err
	}
	both := merge.Merge(known, came).Work
	if w := known.Work; both.Machine == w.Machine && both.Term == w.Term && both.Stamp == w.Stamp && (came.Invalid == nil || known.Invalid != nil) {
		return nil
	}
	if _, err := shared.Take(ctx, p, c.link.Machine, []merge.Doc{came}); err != nil {
		return err
	}
	return core.Invalidf("%s has changed on machine %s meanwhile; what was done there is in it now", id, came.Work.Machine).
		WithHint("look at the frame, and try again if it is still to be taken over")
}
