// Package view reads a project for people and models: the tree (whole, in outline or
// around the caller's frame), single frames, counts and events.
package view

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// TreeOf returns the frames of the project, or those under one of them. If they exceed the
// limit, it returns the path to the caller's frame with some frames beside it, and counts
// the rest.
func TreeOf(ctx context.Context, p *project.Project, by project.Caller, args TreeArgs) (tree Tree, err error) {
	limit := args.Limit
	if limit == 0 {
		limit = MaxWhole
	}
	err = p.View(ctx, by, func(s *project.Op) error {
		scope, current, err := scope(s, args)
		if err != nil {
			return err
		}
		tree.Current, tree.Usage = current.ID, current.Usage
		if tree.Off, err = s.Off(); err != nil {
			return err
		}
		if tree.Counts, err = s.Tx.CountFrames(scope); err != nil {
			return err
		}
		whole := project.Total(tree.Counts) <= limit
		if whole {
			whole, err = wholeTree(s, &tree, scope, limit)
		}
		if err == nil && !whole {
			if err = focusedTree(s, &tree, scope); err == nil {
				err = errors.Join(markAgents(s, tree.Lines), markTurns(s, tree.Lines))
			}
		}
		return err
	})
	return tree, err
}

// wholeTree reads every frame in scope, and reports whether they are within the limit.
// The counts cannot tell: they leave out frames with an unknown status.
func wholeTree(s *project.Op, tree *Tree, scope project.FrameQuery, limit int) (whole bool, err error) {
	scope.Limit = limit + 1
	links, err := s.Tx.Links(scope)
	if err != nil || len(links) > limit {
		return false, err
	}
	revision, _, err := s.Tx.Revision()
	if err != nil {
		return false, err
	}
	tree.Lines, err = linesAt(s, outline.Order(links), revision)
	return true, err
}

// TreeArgs say which part of the tree to return.
type TreeArgs struct {
	Root     string // only this frame and those below it
	Archived bool   // also archived frames
	Limit    int    // frames up to which TreeOf returns the whole tree; 0: MaxWhole
	Latest   int    // of an outline: open roots and so many of the others, the newest; 0: all
}

// MaxWhole is the greatest number of frames that flame holds in memory at once: about 50 MB
// at the usual size. It reads larger trees page by page.
const MaxWhole = 20_000

// A Tree is frames in their order, ready to draw.
type Tree struct {
	Lines   []outline.Line
	Current string              // id of the caller's current frame; empty without one
	Counts  map[core.Status]int // of the project, or of Root and the frames below it
	Usage   core.Usage          // of the caller's current frame
	Off     bool                // hooks and injection are off for the project
}

// scope returns the query for the frames that args ask for, and the caller's current frame;
// the zero Frame without one.
func scope(s *project.Op, args TreeArgs) (q project.FrameQuery, current core.Frame, err error) {
	q.Archived = args.Archived
	if args.Root != "" {
		root, err := s.Resolve(args.Root)
		if err != nil {
			return q, current, err
		}
		q.Under, q.Archived = root.ID, args.Archived || root.ArchivedAt != 0
	}
	current, _, err = s.Current()
	return q, current, err
}

// An Outline is a tree of any size. It holds the places of all frames, 16 bytes each, and
// reads the frames themselves on demand.
type Outline struct {
	Current string // id of the caller's current frame; empty without one
	Roots   int    // that were left out
	Frames  int    // that were left out with them

	p        *project.Project
	places   []outline.Position
	revision int64 // of the tree when the places were read
}

// OutlineOf returns the tree of the project, or the part under one of its frames. It
// ignores the limit of args.
func OutlineOf(ctx context.Context, p *project.Project, by project.Caller, args TreeArgs) (*Outline, error) {
	o := &Outline{p: p}
	var links []outline.Link
	err := p.View(ctx, by, func(s *project.Op) error {
		scope, current, err := scope(s, args)
		if err != nil {
			return err
		}
		o.Current = current.ID
		if o.revision, _, err = s.Tx.Revision(); err != nil {
			return err
		}
		if links, err = s.Tx.Links(scope); err != nil {
			return err
		}
		if o.places = outline.Order(links); args.Latest > 0 && args.Root == "" {
			return o.onlyLatest(s, current, args.Latest)
		}
		return nil
	})
	return o, err
}

// onlyLatest leaves out roots that have ended, but for the latest and that of the current frame.
func (o *Outline) onlyLatest(s *project.Op, current core.Frame, latest int) error {
	tops := lo.Filter(o.places, func(at outline.Position, _ int) bool { return at.Depth == 0 })
	frames, err := s.Tx.FramesAt(lo.Map(tops, func(at outline.Position, _ int) int64 { return at.Key }))
	if err != nil {
		return err
	}
	above, err := s.Tx.Ancestors(current.ID, 0)
	if project.IgnoreMissing(err) != nil {
		return err
	}
	here, kept, keep := lo.LastOr(above, current).ID, []outline.Position{}, false
	for _, at := range o.places {
		if at.Depth == 0 {
			root, there := frames[at.Key]
			keep = !there || at.Fault != outline.NoFault || !root.Status.Ended() || root.ID == here
			if !keep && latest > 0 {
				keep, latest = true, latest-1
			}
			if !keep {
				o.Roots++
			}
		}
		if keep {
			kept = append(kept, at)
		}
	}
	o.Frames, o.places = len(o.places)-len(kept), kept
	return nil
}

// Size returns the number of frames.
func (o *Outline) Size() int { return len(o.places) }

// Pages returns the lines of the tree, page by page. It reads each page in a separate View
// that ends before it yields the page, so a slow reader blocks no writer. It leaves out
// frames that were deleted meanwhile.
func (o *Outline) Pages(ctx context.Context) iter.Seq2[[]outline.Line, error] {
	return func(yield func([]outline.Line, error) bool) {
		for places := range slices.Chunk(o.places, project.PageSize) {
			lines, err := project.Read(ctx, o.p, func(tx project.Tx) ([]outline.Line, error) {
				return linesAt(o.p.Step(tx, project.Caller{}), places, o.revision)
			})
			if !yield(lines, err) || err != nil {
				return
			}
		}
	}
}

// linesAt reads the frames at places from an earlier revision. If some are missing although
// nothing was written since, the data is damaged.
func linesAt(s *project.Op, places []outline.Position, revision int64) ([]outline.Line, error) {
	keys := lo.Map(places, func(place outline.Position, _ int) int64 { return place.Key })
	frames, err := s.Tx.FramesAt(keys)
	if err != nil {
		return nil, err
	}
	if len(frames) < len(keys) {
		if err := mayBeGone(s, revision); err != nil {
			return nil, err
		}
	}
	lines := make([]outline.Line, 0, len(places))
	for _, place := range places {
		frame, there := frames[place.Key]
		if !there {
			continue
		}
		line := outline.Line{Branch: place.Branch, Frame: frame}
		if line.Fault == outline.NoParent {
			if line.Fault, err = outside(s, frame.Parent); err != nil {
				return nil, err
			}
		}
		lines = append(lines, line)
	}
	return lines, errors.Join(markAgents(s, lines), markTurns(s, lines))
}

// mayBeGone returns an error unless frames may have been deleted since a revision.
func mayBeGone(s *project.Op, revision int64) error {
	if now, _, err := s.Tx.Revision(); err != nil || now != revision {
		return err
	}
	return core.Unavailablef(errFramesLost, "the data is damaged: %v", errFramesLost).
		WithHint("`flame doctor` says what is wrong; the file was left as it is")
}

var errFramesLost = errors.New("its index lists frames that are not there")

// outside returns the fault of a frame whose parent the tree does not show: NoFault if the
// parent exists.
func outside(s *project.Op, parent string) (outline.Fault, error) {
	if parent == "" {
		return outline.NoParent, nil
	}
	_, err := s.Tx.Frame(parent)
	if errors.Is(err, core.ErrNotFound) {
		return outline.NoParent, nil
	}
	return outline.NoFault, err
}

// markAgents sets the agents of lines whose frames flame made for an agent.
func markAgents(s *project.Op, lines []outline.Line) error {
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

// markTurns marks the lines of turns, which are directly below roots.
func markTurns(s *project.Op, lines []outline.Line) error {
	var ids []string
	for _, line := range lines {
		if line.Depth <= 1 && line.Frame.Parent != "" {
			ids = append(ids, line.Frame.ID)
		}
	}
	turns, err := project.RecordTurn.At(s.Tx, ids)
	for i := range lines {
		lines[i].Turn = lo.HasKey(turns, lines[i].Frame.ID)
	}
	return err
}

// agentOf returns the type of the agent or subagent for which flame made a frame. The frame
// is the root of a session whose title names the type, or was it in an earlier run: then the
// frame above it is another session's. If flame has forgotten the session, it still knows the
// type of agents that it started itself.
func agentOf(s *project.Op, frame core.Frame, session core.Session) (string, error) {
	agentType := core.SubagentType(session.Title)
	switch {
	case session.Root == frame.ID:
		return agentType, nil
	case session.Root != "" && agentType != "":
		above, err := s.Tx.Frame(frame.Parent)
		if err != nil || above.Session == frame.Session {
			return "", project.IgnoreMissing(err)
		}
		return agentType, nil
	case session.Root == "":
		id, known, err := project.RecordAgentFrame.Get(s.Tx, frame.ID)
		if err != nil || !known {
			return "", err
		}
		work, err := project.RecordAgentWork.Find(s.Tx, id)
		return core.SubagentType(work.Title), err
	}
	return "", nil
}
