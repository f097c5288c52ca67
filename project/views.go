package project

import (
	"context"

	"flame/core"
)

// Details is one frame with what lies around it.
type Details struct {
	Frame     core.Frame
	Ancestors []core.Frame // parent first
	Children  map[core.Status]int
	Current   bool // the caller works in it
}

// Details returns the caller's frame, or the one ref names.
func (p *Project) Details(ctx context.Context, by Caller, ref string) (d Details, err error) {
	err = p.view(ctx, by, func(s *step) error {
		if d.Frame, err = s.resolve(ref); err != nil {
			return err
		}
		if d.Ancestors, err = s.Ancestors(d.Frame.ID, maxAncestors); err != nil {
			return err
		}
		if d.Children, err = s.CountFrames(FrameQuery{Parent: d.Frame.ID, Archived: true}); err != nil {
			return err
		}
		open, err := s.nearestOpen(s.session.Current)
		d.Current = open != "" && open == d.Frame.ID
		return err
	})
	return d, err
}

// Current returns the caller's current frame; ok is false without one.
func (p *Project) Current(ctx context.Context, by Caller) (frame core.Frame, ok bool, err error) {
	err = p.view(ctx, by, func(s *step) error {
		frame, ok, err = s.current()
		return err
	})
	return frame, ok, err
}

// SearchArgs say what to look for.
type SearchArgs struct {
	Text   string
	Status core.Status // empty: any
	Limit  int         // 1..100; 0: 20
}

// maxFound bounds the frames a search gives: an answer that a model can read.
const maxFound = 100

// Search finds frames by the words of goal, success criteria, summary, results
// and decisions, newest first.
func (p *Project) Search(ctx context.Context, by Caller, args SearchArgs) (found []core.Frame, err error) {
	if args.Text, err = clean("query", args.Text); err != nil {
		return nil, err
	}
	query := FrameQuery{Text: args.Text, Archived: true, Order: NewestFirst, Limit: args.Limit}
	if args.Status != "" {
		if !args.Status.Valid() {
			return nil, core.Invalidf("there is no status %q", args.Status).WithHint("use planned, in_progress, completed, failed, blocked or invalidated")
		}
		query.Statuses = []core.Status{args.Status}
	}
	switch {
	case args.Limit < 0 || args.Limit > maxFound:
		return nil, core.Invalidf("limit %d is out of range", args.Limit).WithHint("give a number from 1 to %d", maxFound)
	case args.Limit == 0:
		query.Limit = 20
	}
	err = p.view(ctx, by, func(s *step) error {
		found, err = s.FindFrames(query)
		return err
	})
	return found, err
}

// Recent returns the frames that changed last, newest first.
func (p *Project) Recent(ctx context.Context, limit int) (frames []core.Frame, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		frames, err = tx.FindFrames(FrameQuery{Order: RecentFirst, Limit: limit})
		return err
	})
	return frames, err
}

// Complete returns frames whose id begins with prefix, newest first.
func (p *Project) Complete(ctx context.Context, prefix string, limit int) (frames []core.Frame, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		frames, err = tx.FindFrames(FrameQuery{Prefix: prefix, Order: NewestFirst, Limit: limit})
		return err
	})
	return frames, err
}
