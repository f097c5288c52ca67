package view

import (
	"context"
	"errors"
	"iter"
	"slices"

	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// An Outline is a tree of any size. It holds the places of all frames, 16 bytes each;
// the frames themselves are read on demand.
type Outline struct {
	Current string // id of the caller's current frame; empty without one

	p        *project.Project
	places   []outline.Place
	revision int64 // of the tree when the places were read
}

// OutlineOf returns the tree of the project, or the part under one of its frames. It
// ignores the limit of args.
func OutlineOf(ctx context.Context, p *project.Project, by project.Caller, args TreeArgs) (*Outline, error) {
	o := &Outline{p: p}
	var links []outline.Link
	err := p.View(ctx, by, func(s *project.Step) error {
		scope, err := scope(s, args)
		if err != nil {
			return err
		}
		current, ok, err := s.Current()
		if err != nil {
			return err
		}
		if ok {
			o.Current = current.ID
		}
		if o.revision, _, err = s.Tx.Revision(); err != nil {
			return err
		}
		links, err = s.Tx.Links(scope)
		return err
	})
	o.places = outline.Of(links)
	return o, err
}

// Empty reports whether there are no frames.
func (o *Outline) Empty() bool { return len(o.places) == 0 }

// Pages returns the lines of the tree, page by page. Each page is read in a View of its
// own that ends before the page is yielded, so a slow reader blocks nobody. Frames
// deleted meanwhile are left out.
func (o *Outline) Pages(ctx context.Context) iter.Seq2[[]outline.Line, error] {
	return func(yield func([]outline.Line, error) bool) {
		for places := range slices.Chunk(o.places, project.PageSize) {
			var lines []outline.Line
			err := o.p.Store.View(ctx, func(tx project.Tx) (err error) {
				s := o.p.Step(tx, project.Caller{})
				lines, err = linesAt(s, places, o.revision)
				return err
			})
			if !yield(lines, err) || err != nil {
				return
			}
		}
	}
}

// linesAt reads the frames at places that were read at a revision. If some are missing
// although nothing was written since, the data is damaged.
func linesAt(s *project.Step, places []outline.Place, revision int64) ([]outline.Line, error) {
	keys := make([]int64, len(places))
	for i, place := range places {
		keys[i] = place.Key
	}
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
	return lines, markAgents(s, lines)
}

// mayBeGone returns an error unless frames may have been deleted since a revision.
func mayBeGone(s *project.Step, revision int64) error {
	if now, _, err := s.Tx.Revision(); err != nil || now != revision {
		return err
	}
	return core.Unavailablef(errFramesLost, "the data is damaged: %v", errFramesLost).
		WithHint("`flame doctor` says what is wrong; the file was left as it is")
}

var errFramesLost = errors.New("its index lists frames that are not there")

// outside returns the fault of a frame whose parent is not shown: NoFault if the parent
// exists and is only left out.
func outside(s *project.Step, parent string) (outline.Fault, error) {
	if parent == "" {
		return outline.NoParent, nil
	}
	_, err := s.Tx.Frame(parent)
	if errors.Is(err, core.ErrNotFound) {
		return outline.NoParent, nil
	}
	return outline.NoFault, err
}

// markAgents sets the agents of lines whose frames were made for one.
func markAgents(s *project.Step, lines []outline.Line) error {
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

// agentOf returns the type of the agent or subagent that a frame was made for: the root
// of its session, whose title names the type. If that session is forgotten, flame knows
// it of agents that it started itself.
func agentOf(s *project.Step, frame core.Frame, session core.Session) (string, error) {
	switch session.Root {
	case frame.ID:
		return core.SubagentType(session.Title), nil
	case "":
		var id string
		var work project.AgentWork
		if known, err := project.RecordAgentFrame.Load(s.Tx, frame.ID, &id); err != nil || !known {
			return "", err
		}
		_, err := project.RecordAgentWork.Load(s.Tx, id, &work)
		return core.SubagentType(work.Title), err
	}
	return "", nil
}
