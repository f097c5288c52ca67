package view

import (
	"context"

	"flame/core"
	"flame/core/fold"
	"flame/core/outcome"
	"flame/project"
	"flame/project/conversation"
	"flame/project/files"
	"flame/project/usage"
)

// Details is one frame with its surroundings.
type Details struct {
	Frame     core.Frame
	Ancestors []core.Frame // parent first
	Children  map[core.Status]int
	Current   bool         // the caller works in it
	Agent     string       // type of the agent or subagent that it was made for; empty for other frames
	AgentID   string       // of that agent, if flame started it
	Composed  string       // summary of what was done below it, if it ended without one
	Closing   string       // of a root that ended: all that is needed to go on; empty if there is nothing below it
	Folded    *fold.Spared // what the requests of its session went without; nil unless it was folded

	Metered []usage.Metered // requests that a gateway measured while a session worked in it, by class
	Files   files.List      // that were changed while a session worked in it, without patches
}

// DetailsOf returns the caller's frame, or the one ref names.
func DetailsOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (d Details, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		if d.Frame, err = s.Resolve(ref); err != nil {
			return err
		}
		if d.Ancestors, err = s.Tx.Ancestors(d.Frame.ID, project.MaxAncestors); err != nil {
			return err
		}
		if d.Children, err = s.Tx.CountFrames(project.FrameQuery{Parent: d.Frame.ID, Archived: true}); err != nil {
			return err
		}
		if _, err := project.RecordAgentFrame.Load(s.Tx, d.Frame.ID, &d.AgentID); err != nil {
			return err
		}
		session, err := s.Tx.Session(d.Frame.Session)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if d.Agent, err = agentOf(s, d.Frame, session); err != nil {
			return err
		}
		outcomes, err := project.Outcomes(s.Tx, []core.Frame{d.Frame})
		if err != nil {
			return err
		}
		d.Composed = outcomes.Compose(&d.Frame, map[string]bool{}, outcome.Alone)
		if d.Closing, err = closingOf(s.Tx, d.Frame); err != nil {
			return err
		}
		spared, err := conversation.Spared(s.Tx, d.Frame.Session, d.Frame.ID)
		if err != nil {
			return err
		}
		if spared.Messages > 0 {
			d.Folded = &spared
		}
		if d.Metered, err = usage.OfFrame(s.Tx, d.Frame.ID); err != nil {
			return err
		}
		if d.Files, err = files.Of(s, d.Frame.ID); err != nil {
			return err
		}
		open, err := s.NearestOpen(s.Session.Current)
		d.Current = open != "" && open == d.Frame.ID
		return err
	})
	return d, err
}

// maxClosing is the length of a closing that is read by itself, in UTF-16 code units.
const maxClosing = 8000

func closingOf(tx project.Tx, f core.Frame) (string, error) {
	if f.Parent != "" || !f.Status.Ended() {
		return "", nil
	}
	c, ok, err := project.ClosingOf(tx, f)
	if err != nil || !ok {
		return "", err
	}
	return c.Text(maxClosing), nil
}

// SearchArgs say what to look for.
type SearchArgs struct {
	Text   string
	Status core.Status // empty: any
	Limit  int         // 1..100; 0: 20
}

// maxFound limits the frames that a search returns: an answer that a model can read.
const maxFound = 100

// Found is a frame that a search found.
type Found struct {
	core.Frame
	Composed string   `json:"composedSummary,omitempty"`  // of what was done below it, if it ended without a summary
	Matched  []string `json:"matchedDecisions,omitempty"` // decisions that contain words of the search
}

// Search finds frames by the words of goal, success criteria, summary, results
// and decisions, newest first.
func Search(ctx context.Context, p *project.Project, by project.Caller, args SearchArgs) (found []Found, err error) {
	if args.Text, err = project.Clean("query", args.Text); err != nil {
		return nil, err
	}
	query := project.FrameQuery{Text: args.Text, Archived: true, Order: project.NewestFirst, Limit: args.Limit}
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
	err = p.View(ctx, by, func(s *project.Step) error {
		frames, err := s.Tx.FindFrames(query)
		if err != nil {
			return err
		}
		outcomes, err := project.Outcomes(s.Tx, frames)
		found = make([]Found, len(frames))
		for i := range frames {
			f := &frames[i]
			found[i] = Found{*f, outcomes.Compose(f, map[string]bool{}, outcome.Room), core.Matching(f.Decisions, args.Text)}
		}
		return err
	})
	return found, err
}

// Recent returns the frames that changed last, newest first.
func Recent(ctx context.Context, p *project.Project, limit int) (frames []core.Frame, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		frames, err = tx.FindFrames(project.FrameQuery{Order: project.RecentFirst, Limit: limit})
		return err
	})
	return frames, err
}

// Complete returns frames whose id begins with prefix, newest first.
func Complete(ctx context.Context, p *project.Project, prefix string, limit int) (frames []core.Frame, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		frames, err = tx.FindFrames(project.FrameQuery{Prefix: prefix, Order: project.NewestFirst, Limit: limit})
		return err
	})
	return frames, err
}
