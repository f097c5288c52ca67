package view

import (
	"context"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/core/summaries"
	"flame/project"
	"flame/project/usage"
)

// Details is one frame with its surroundings.
type Details struct {
	core.Frame
	Ancestors []core.Frame        `json:"-"` // parent first
	Children  map[core.Status]int `json:"-"`
	Current   bool                `json:"-"`                         // the caller works in it
	Agent     string              `json:"-"`                         // type of the agent or subagent that it was made for; empty for other frames
	AgentID   string              `json:"-"`                         // of that agent, if flame started it
	Plan      string              `json:"plan,omitempty"`            // that the user approved while a session worked in it
	Composed  string              `json:"composedSummary,omitempty"` // of what was done below it, if it ended without a summary
	Closing   string              `json:"closing,omitempty"`         // of a root that ended: all that the next session needs; empty if there is nothing below it
	Folded    *fold.Savings       `json:"folded,omitempty"`          // the text that folding left out of its session's requests; nil unless it was folded
	Metered   []usage.ClassTotals `json:"metered,omitempty"`         // requests that a gateway measured while a session worked in it, by class
	Files     usage.FileList      `json:"changed,omitzero"`          // changed while a session worked in it, without patches
}

// DetailsOf returns the caller's frame, or the frame that ref names.
func DetailsOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (d Details, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		if d.Frame, err = s.Resolve(ref); err != nil {
			return err
		}
		if d.Ancestors, err = s.Tx.Ancestors(d.Frame.ID, project.MaxAncestors); err != nil {
			return err
		}
		if d.Children, err = s.Tx.CountFrames(project.FrameQuery{Parent: d.Frame.ID, Archived: true}); err != nil {
			return err
		}
		if d.AgentID, err = project.RecordAgentFrame.Find(s.Tx, d.Frame.ID); err != nil {
			return err
		}
		session, err := s.Tx.Session(d.Frame.Session)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if d.Agent, err = agentOf(s, d.Frame, session); err != nil {
			return err
		}
		plan, err := project.RecordPlan.Find(s.Tx, d.Frame.ID)
		if err != nil {
			return err
		}
		d.Plan = plan.Text
		outcomes, err := project.Outcomes(s.Tx, []core.Frame{d.Frame})
		if err != nil {
			return err
		}
		d.Composed = outcomes.Compose(&d.Frame, map[string]bool{}, summaries.MaxCharsAlone)
		if d.Closing, err = closingOf(s.Tx, d.Frame); err != nil {
			return err
		}
		spared, err := usage.SavingsByFrame(s.Tx, d.Frame.Session)
		if err != nil {
			return err
		}
		if folded, is := spared[d.Frame.ID]; is {
			d.Folded = &folded
		}
		if d.Metered, err = usage.OfFrame(s.Tx, d.Frame.ID); err != nil {
			return err
		}
		if d.Files, err = usage.FilesOf(s, d.Frame.ID); err != nil {
			return err
		}
		open, err := s.NearestOpen(s.Session.Current)
		d.Current = open != "" && open == d.Frame.ID
		return err
	})
	return d, err
}

// maxClosing limits the length of a closing in Details, in UTF-16 code units.
const maxClosing = 8000

func closingOf(tx project.Tx, f core.Frame) (string, error) {
	if f.Parent != "" || !f.Status.Ended() {
		return "", nil
	}
	c, ok, err := project.ContinuationOf(tx, f)
	if err != nil || !ok {
		return "", err
	}
	return c.Text(maxClosing), nil
}

// SearchArgs say which frames to find.
type SearchArgs struct {
	Text   string
	Status core.Status // empty: any
	Limit  int         // 1..100; 0: 20
}

// maxFound limits the frames that a search returns: an answer that a model can read.
const maxFound = 100

// SearchHit is a frame that a search found.
type SearchHit struct {
	core.Frame
	Composed string   `json:"composedSummary,omitempty"`  // from the work below it, if it ended without a summary
	Matched  []string `json:"matchedDecisions,omitempty"` // decisions that contain words of the search
}

// Search finds frames by words in their goal, success criteria, summary, results and
// decisions, newest first.
func Search(ctx context.Context, p *project.Project, by project.Caller, args SearchArgs) (found []SearchHit, err error) {
	if args.Text, err = project.RequiredText("query", args.Text); err != nil {
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
	err = p.View(ctx, by, func(s *project.Op) error {
		frames, err := s.Tx.FindFrames(query)
		if err != nil {
			return err
		}
		outcomes, err := project.Outcomes(s.Tx, frames)
		found = make([]SearchHit, len(frames))
		for i := range frames {
			f := &frames[i]
			found[i] = SearchHit{*f, outcomes.Compose(f, map[string]bool{}, summaries.MaxChars), core.Matching(f.Decisions, args.Text)}
		}
		return err
	})
	return found, err
}

// Frames returns the frames that q describes.
func Frames(ctx context.Context, p *project.Project, q project.FrameQuery) ([]core.Frame, error) {
	return project.Read(ctx, p, func(tx project.Tx) ([]core.Frame, error) { return tx.FindFrames(q) })
}

// A CascadePreview says what the invalidation of a frame would do.
type CascadePreview struct {
	Planned    FrameSample `json:"planned"`    // flame would invalidate these with it
	InProgress FrameSample `json:"inProgress"` // these would continue; flame would warn the agents that work there
}

// FrameSample counts frames and names the first of them.
type FrameSample struct {
	Count int             `json:"count"`
	First []AffectedFrame `json:"first"`
}

// An AffectedFrame is one of them.
type AffectedFrame struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
}

// maxAffected limits the frames that FrameSample names.
const maxAffected = 20

// PreviewCascade returns what the invalidation of the frame that ref names would do.
func PreviewCascade(ctx context.Context, p *project.Project, by project.Caller, ref string) (c CascadePreview, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		top, err := s.Resolve(ref)
		if err != nil {
			return err
		}
		if c.Planned, err = affected(s.Tx, top, core.Planned); err != nil {
			return err
		}
		c.InProgress, err = affected(s.Tx, top, core.InProgress)
		return err
	})
	return c, err
}

// affected finds the frames below one that have a status.
func affected(tx project.Tx, top core.Frame, status core.Status) (a FrameSample, err error) {
	query := project.FrameQuery{Under: top.ID, Statuses: []core.Status{status}, Archived: true}
	counts, err := tx.CountFrames(query)
	if err != nil {
		return a, err
	}
	query.Limit = maxAffected + 1 // top may be among them
	found, err := tx.FindFrames(query)
	if err != nil {
		return a, err
	}
	a.Count = counts[status]
	if top.Status == status {
		a.Count--
	}
	below := lo.Filter(found, func(f core.Frame, _ int) bool { return f.ID != top.ID })
	a.First = lo.Map(below[:min(len(below), maxAffected)], func(f core.Frame, _ int) AffectedFrame {
		return AffectedFrame{f.ID, core.OneLine(f.Goal, project.MaxTitle)}
	})
	return a, nil
}
