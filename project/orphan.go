package project

import (
	"cmp"
	"context"
	"slices"

	"flame/core"
)

// orphan ends the caller's children, and theirs, that are not among those that its
// host still runs, and gives up on children that it never started. What those that
// still run have started is theirs to tell. It works in batches, each complete in
// itself.
func (p *Project) orphan(ctx context.Context, by Caller, running []string) error {
	var children, calls []string
	err := p.view(ctx, by, func(s *step) (err error) {
		if !s.fresh {
			children, calls, err = s.lost(running)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = p.eachFor(ctx, by, children, func(s *step, child string) error {
		return s.endChild(child, childEnded{End: core.ChildOrphaned})
	})
	if err != nil {
		return err
	}
	return p.eachFor(ctx, by, calls, (*step).dropSpawn)
}

// lost returns the children to be orphaned, by their sessions, the latest activity
// first, and the calls of the caller and of those that may be forgotten.
func (s *step) lost(running []string) (children, calls []string, err error) {
	var family []core.Session
	met := map[string]bool{s.session.ID: true}
	for parents := []string{s.session.ID}; len(parents) > 0; parents = parents[1:] {
		asked, err := s.RecordsOf(string(recordSpawn), parents[0])
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, asked...)
		found, err := s.FindSessions(SessionQuery{Tracked: true, Parent: parents[0]})
		if err != nil {
			return nil, nil, err
		}
		for _, child := range found {
			if !met[child.ID] && !slices.Contains(running, child.ID) {
				met[child.ID] = true
				family, parents = append(family, child), append(parents, child.ID)
			}
		}
	}
	slices.Sort(calls)
	slices.SortStableFunc(family, func(a, b core.Session) int { return cmp.Compare(b.LastActivityAt, a.LastActivityAt) })
	for _, child := range family {
		if !child.IsCompleted {
			children = append(children, child.ID)
		}
	}
	return children, calls, nil
}

// dropSpawn forgets a call, unless its child still runs. What was made for a child that
// its host never started is blocked.
func (s *step) dropSpawn(call string) error {
	var asked spawn
	there, err := recordSpawn.Load(s, call, &asked)
	if err != nil || !there {
		return err
	}
	if asked.Child == "" {
		err = s.endSpawn(asked, childEnded{End: core.ChildOrphaned, Last: neverStarted})
	} else if running, unknown := s.stillRuns(asked.Child); running || unknown != nil {
		return unknown
	}
	if err != nil {
		return err
	}
	return recordSpawn.Delete(s, call)
}

// neverStarted is the summary of a frame whose child was asked for in vain.
const neverStarted = "(its subagent was never started)"

func (s *step) stillRuns(child string) (bool, error) {
	session, err := s.Session(child)
	return err == nil && !session.IsCompleted, ignoreMissing(err)
}
