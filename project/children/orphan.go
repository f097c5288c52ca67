package children

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// Orphan ends the caller's descendants that its host no longer runs, and gives up on
// children that the host never started. It ends nothing below a child that still runs: that
// child reports its own children. Orphan works in batches, each complete in itself.
func Orphan(ctx context.Context, p *project.Project, by project.Caller, running []string) error {
	var children, calls []string
	err := p.View(ctx, by, func(s *project.Op) (err error) {
		if !s.NewSession {
			children, calls, err = lost(s, running)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = eachFor(ctx, p, by, children, func(s *project.Op, child string) error {
		return endChild(s, child, project.ChildOutcome{End: core.ChildOrphaned})
	})
	if err != nil {
		return err
	}
	return eachFor(ctx, p, by, calls, dropSpawn)
}

// eachFor runs work on ids in batches on behalf of a caller, and saves the caller's session if work
// changed it.
func eachFor(ctx context.Context, p *project.Project, by project.Caller, ids []string, work func(s *project.Op, id string) error) error {
	return project.InBatches(ctx, p, ids, func(tx project.Tx, id string) (none struct{}, err error) {
		s := p.Step(tx, by)
		if err := s.LoadSession(); err != nil {
			return none, err
		}
		before := s.Session
		if err := work(s, id); err != nil || s.Session == before {
			return none, err
		}
		return none, s.Tx.SaveSession(s.Session)
	}, func(struct{}) {})
}

// lost returns the session ids of the children to orphan, the latest activity first, and the
// calls by the caller and by those children, which Orphan may forget.
func lost(s *project.Op, running []string) (children, calls []string, err error) {
	var family []core.Session
	met := map[string]bool{s.Session.ID: true}
	for parents := []string{s.Session.ID}; len(parents) > 0; parents = parents[1:] {
		asked, _, err := requestedBy(s, parents[0])
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
	children = lo.FilterMap(family, func(child core.Session, _ int) (string, bool) { return child.ID, !child.IsCompleted })
	return children, calls, nil
}

// requestedBy returns the calls by which a session asked for children, and these children.
func requestedBy(s *project.Op, parent string) (calls []string, asked []RequestedChild, err error) {
	return recordSpawn.Where(s.Tx, "parent", parent, parent)
}

// dropSpawn forgets a call, unless its child still runs. The frame made for a child that
// its host never started becomes blocked.
func dropSpawn(s *project.Op, call string) error {
	asked, there, err := recordSpawn.Get(s.Tx, call)
	if err != nil || !there {
		return err
	}
	if asked.Child == "" {
		err = errors.Join(countUnbound(s, asked), endSpawn(s, asked, project.ChildOutcome{End: core.ChildOrphaned, Last: neverStarted}))
	} else if running, unknown := stillRuns(s, asked.Child); running || unknown != nil {
		return unknown
	}
	if err != nil {
		return err
	}
	return recordSpawn.Delete(s.Tx, call)
}

// neverStarted is the summary of a frame whose child never started.
const neverStarted = "(its subagent was never started)"

func stillRuns(s *project.Op, child string) (bool, error) {
	session, err := s.Tx.Session(child)
	return err == nil && !session.IsCompleted, project.IgnoreMissing(err)
}

// waiting returns the watched children whose sessions are unknown. Their calls stand in for
// the sessions.
func waiting(s *project.Op) (list []core.Session, err error) {
	err = recordSpawn.Each(s.Tx, func(call string, asked RequestedChild) error {
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

// Interrupt cancels the children of a session that its host ran in the foreground: a person's
// prompt shows that the turn which waited for them is over, even if the host did not report
// that. Children in the background continue.
func Interrupt(s *project.Op, parent string) error {
	calls, all, err := requestedBy(s, parent)
	if err != nil {
		return err
	}
	for i, call := range calls {
		asked := all[i]
		if asked.Background || asked.Over {
			continue
		}
		if err := cancel(s, call, asked); err != nil {
			return err
		}
	}
	return nil
}

// cancel ends a child that its host ran in the foreground, and first the children below it.
func cancel(s *project.Op, call string, asked RequestedChild) error {
	how := project.ChildOutcome{End: core.ChildCancelled}
	if asked.Child == "" {
		return endCall(s, call, asked, how)
	}
	asked.Over = true
	if err := errors.Join(recordSpawn.Save(s.Tx, call, asked), Interrupt(s, asked.Child)); err != nil {
		return err
	}
	return endChild(s, asked.Child, how)
}

// EndRemoteWaits ends everything that only waited for a frame that ended on another machine:
// children of sessions here, and a root whose session left that work below it.
func EndRemoteWaits(s *project.Op, id string) error {
	frame, err := s.Tx.Frame(id)
	if err != nil || frame.Status == core.InProgress || frame.Status == core.Planned {
		return project.IgnoreMissing(err)
	}
	if err := stack.EndRootLater(s, frame); err != nil {
		return err
	}
	above, err := s.Tx.Ancestors(frame.ID, project.MaxAncestors)
	if err != nil {
		return err
	}
	for _, f := range above {
		if f.Session == "" || !f.IsOpen() {
			continue
		}
		if err := endParent(s, f.Session); err != nil {
			return err
		}
	}
	return nil
}
