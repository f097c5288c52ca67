package children

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/project"
)

// Orphan ends the caller's descendants that its host no longer runs, and gives up on
// children that the host never started. Below a child that still runs it ends nothing:
// that child reports its own. Orphan works in batches, each complete in itself.
func Orphan(ctx context.Context, p *project.Project, by project.Caller, running []string) error {
	var children, calls []string
	err := p.View(ctx, by, func(s *project.Step) (err error) {
		if !s.Fresh {
			children, calls, err = lost(s, running)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = p.EachFor(ctx, by, children, func(s *project.Step, child string) error {
		return endChild(s, child, project.Ending{End: core.ChildOrphaned})
	})
	if err != nil {
		return err
	}
	return p.EachFor(ctx, by, calls, dropSpawn)
}

// lost returns the session ids of the children to orphan, the latest activity first, and
// the calls by the caller and by those children, which may be forgotten.
func lost(s *project.Step, running []string) (children, calls []string, err error) {
	var family []core.Session
	met := map[string]bool{s.Session.ID: true}
	for parents := []string{s.Session.ID}; len(parents) > 0; parents = parents[1:] {
		asked, err := s.Tx.RecordsOf(string(recordSpawn), parents[0])
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, asked...)
		found, err := s.Tx.FindSessions(project.SessionQuery{Tracked: true, Parent: parents[0]})
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

// dropSpawn forgets a call, unless its child still runs. The frame made for a child that
// its host never started becomes blocked.
func dropSpawn(s *project.Step, call string) error {
	var asked spawn
	there, err := recordSpawn.Load(s.Tx, call, &asked)
	if err != nil || !there {
		return err
	}
	if asked.Child == "" {
		err = errors.Join(countUnbound(s, asked), endSpawn(s, asked, project.Ending{End: core.ChildOrphaned, Last: neverStarted}))
	} else if running, unknown := stillRuns(s, asked.Child); running || unknown != nil {
		return unknown
	}
	if err != nil {
		return err
	}
	return recordSpawn.Delete(s.Tx, call)
}

// neverStarted is the summary of a frame whose child was never started.
const neverStarted = "(its subagent was never started)"

func stillRuns(s *project.Step, child string) (bool, error) {
	session, err := s.Tx.Session(child)
	return err == nil && !session.IsCompleted, project.IgnoreMissing(err)
}

// waiting returns the children that were asked for and watched, but whose sessions are not
// known: their calls stand in for those.
func waiting(s *project.Step) (list []core.Session, err error) {
	err = recordSpawn.Each(s.Tx, func(call string, asked spawn) error {
		if asked.Child == "" && asked.Watched && !asked.Over {
			list = append(list, core.Session{
				ID: call, Parent: asked.Parent, Host: asked.Host, Title: asked.Title, State: core.SessionActive, Root: asked.Frame, Current: asked.Frame,
				Tracked: true, IsSubagent: asked.Frame != "", CreatedAt: asked.At, LastActivityAt: asked.At,
			})
		}
		return nil
	})
	return list, err
}

// Interrupt cancels the children of the caller's session that its host ran in the
// foreground: a person's prompt shows that the turn which waited for them is over, also
// if the host did not say so. Children in the background go on.
func Interrupt(s *project.Step) error { return interrupt(s, s.Session.ID) }

func interrupt(s *project.Step, parent string) error {
	calls, err := s.Tx.RecordsOf(string(recordSpawn), parent)
	if err != nil {
		return err
	}
	for _, call := range calls {
		var asked spawn
		if _, err := recordSpawn.Load(s.Tx, call, &asked); err != nil {
			return err
		}
		if asked.Background || asked.Over {
			continue
		}
		if err := cancel(s, call, asked); err != nil {
			return err
		}
	}
	return nil
}

// cancel ends a child that its host ran in the foreground, those below it first.
func cancel(s *project.Step, call string, asked spawn) error {
	how := project.Ending{End: core.ChildCancelled}
	if asked.Child == "" {
		return endCall(s, call, asked, how)
	}
	asked.Over = true
	if err := errors.Join(recordSpawn.Save(s.Tx, call, asked), interrupt(s, asked.Child)); err != nil {
		return err
	}
	return endChild(s, asked.Child, how)
}
