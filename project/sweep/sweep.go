// Package sweep does the work that is due: it acts on deadlines, deletes old events and prunes
// idle roots.
package sweep

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/usage"
)

// maxSwept and maxCounted limit the deadlines of one sweep, to keep it short.
const (
	maxSwept   = 100
	maxCounted = 4
)

// clockJump is how far the clock may run ahead of the process's time awake before that
// counts as a jump: a laptop that slept.
const clockJump = core.Millis(60_000)

// RunOnce does the work that is due. It ends sessions that no longer run, and their roots,
// completes idle subagents, gives up on summaries that did not come, expires suggestions,
// counts usage and deletes old events. It writes only if something is due. If a deadline fails, it continues with the others.
func RunOnce(ctx context.Context, p *project.Project) error {
	return sweep(ctx, p, 0)
}

func sweep(ctx context.Context, p *project.Project, jumped core.Millis) error {
	work, err := DueWithDeadSessions(ctx, p)
	if err == nil {
		work.Do(ctx, p, jumped)
	}
	return err
}

// Do does the work. If the clock jumped, Do postpones the deadlines of idle subagents by as
// much.
func (w Work) Do(ctx context.Context, p *project.Project, jumped core.Millis) {
	endOver(ctx, p, w.over)
	for _, d := range w.deadlines {
		var err error
		if jumped > 0 && d.Kind == children.IdleDeadline {
			err = p.Store.Update(ctx, func(tx project.Tx) error {
				return tx.SetDeadline(project.Deadline{Kind: d.Kind, Subject: d.Subject, Due: d.Due + jumped, Set: p.Now()})
			})
		} else {
			err = meet(ctx, p, d)
		}
		if err != nil {
			p.Log.Warn("the work of a deadline failed", "kind", d.Kind, "subject", d.Subject, "error", err)
		}
	}
}

// Work is the work of one sweep.
type Work struct {
	deadlines []project.Deadline
	over      []string // ids of sessions that ended without a report
}

// Empty reports whether nothing is due.
func (w Work) Empty() bool { return len(w.deadlines)+len(w.over) == 0 }

// Due returns the work that is due: at most maxSwept deadlines, earliest first, and then at
// most maxCounted deadlines for usage, which take longest and would delay the others. A
// process without a TranscriptReader gets no deadlines for usage, and none for children to
// look at, because it does not count their messages. Due does not look for sessions that
// ended without a report: that takes longer the more sessions there are.
func Due(ctx context.Context, p *project.Project) (work Work, err error) {
	now := p.Now()
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if work.deadlines, err = tx.DueDeadlines(now, "", project.UsageDeadline, maxSwept); err != nil {
			return err
		}
		if p.Transcripts == nil {
			work.deadlines = slices.DeleteFunc(work.deadlines, func(d project.Deadline) bool { return d.Kind == children.WorthDeadline })
			return nil
		}
		usage, err := tx.DueDeadlines(now, project.UsageDeadline, "", maxCounted)
		work.deadlines = append(work.deadlines, usage...)
		return err
	})
	return work, err
}

// DueWithDeadSessions is Due that also looks for sessions that ended without a report.
func DueWithDeadSessions(ctx context.Context, p *project.Project) (work Work, err error) {
	if work, err = Due(ctx, p); err != nil {
		return work, err
	}
	work.over, err = project.Read(ctx, p, func(tx project.Tx) ([]string, error) { return over(p, tx, p.Now()) })
	return work, err
}

// meet acts on d exactly once: in the transaction that removes d, and only if no other
// process has done so. It drops a deadline whose action fails, rather than retry it forever;
// if the store is unavailable, the deadline stays for the next sweep.
func meet(ctx context.Context, p *project.Project, d project.Deadline) error {
	do := meetOnce
	if d.Kind == project.UsageDeadline {
		do = usage.CountLog
	}
	err := do(ctx, p, d)
	if err == nil || errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, p.Store.Update(ctx, func(tx project.Tx) error {
		return tx.ClearDeadline(d.Kind, d.Subject)
	}))
}

// meetOnce acts on d and removes it, if it is still due.
func meetOnce(ctx context.Context, p *project.Project, d project.Deadline) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		s := p.Step(tx, project.Caller{})
		_, due, err := s.Due(d.Kind, d.Subject)
		if err != nil || !due {
			return err
		}
		if err := s.Tx.ClearDeadline(d.Kind, d.Subject); err != nil {
			return err
		}
		act := acts[d.Kind]
		if act == nil {
			return core.Invalidf("no rule for deadlines of kind %q", d.Kind)
		}
		return act(s, d.Subject)
	})
}

// acts do the work of deadlines, by their kind.
var acts = map[string]func(s *project.Op, subject string) error{
	children.IdleDeadline:     children.CompleteIdle,
	children.WorthDeadline:    children.CheckSilentChild,
	stack.SummaryDeadline:     stack.GiveUpSummary,
	autonomy.ExpiryDeadline:   autonomy.Expire,
	stack.RootDeadline:        stack.EndRoot,
	project.ElsewhereDeadline: children.EndRemoteWaits,
	project.EventsDeadline:    func(s *project.Op, _ string) error { return errors.Join(dropOldEvents(s), endOldRoots(s)) },
}

// dropOldEvents deletes events older than EventDays, and sets the next deadline: in a day,
// or at once if there was not enough time for all of them.
func dropOldEvents(s *project.Op) error {
	const some = 100
	again := project.Deadline{Kind: project.EventsDeadline, Due: s.Now + project.Day, Set: s.Now}
	for left := s.Project.EventDays > 0; left; {
		n, err := s.Tx.DeleteEventsBefore(s.Now-core.Millis(s.Project.EventDays)*project.Day, some)
		if err != nil {
			return err
		}
		left = n == some
		if left && s.OutOfTime() {
			again.Due, left = s.Now, false
		}
	}
	return s.Tx.SetDeadline(again)
}

// Run sweeps at every tick until ctx ends. pace returns how long this process has been
// awake. If the clock runs ahead of that, the machine slept, and Run postpones idle
// deadlines that fell due meanwhile, once.
func Run(ctx context.Context, p *project.Project, tick <-chan time.Time, pace func() time.Duration) {
	wall, awake := p.Now(), pace()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		now, up := p.Now(), pace()
		jumped := (now - wall) - core.Millis((up - awake).Milliseconds())
		wall, awake = now, up
		if jumped < clockJump {
			jumped = 0
		}
		if err := sweep(ctx, p, jumped); err != nil && ctx.Err() == nil {
			p.Log.Warn("sweep", "error", err)
		}
	}
}

// maxLive limits the sessions that a sweep looks at, the latest active first. Sessions that
// it ends make room for others.
const maxLive = 100

// endOver records the end of sessions whose hosts did not report it. If that fails, the
// next sweep tries again.
func endOver(ctx context.Context, p *project.Project, sessions []string) {
	for _, id := range sessions {
		if err := children.EndEverywhere(ctx, p, project.Caller{Session: id, Trust: project.TrustFlame}); err != nil {
			p.Log.Warn("flame could not record the end of a session", "session", id, "error", err)
		}
	}
}

// over returns the ids of the sessions that ended without a report: the process of their
// host is gone, or they reported nothing for a day.
func over(p *project.Project, tx project.Tx, now core.Millis) ([]string, error) {
	live, err := tx.FindSessions(project.SessionQuery{Live: true, Limit: maxLive})
	if err != nil {
		return nil, err
	}
	ended, err := project.Filter(live, func(session core.Session) (bool, error) {
		if session.Host == project.CommandLine {
			return false, nil
		}
		return isOver(p.Step(tx, project.Caller{}), session, now)
	})
	return lo.Map(ended, func(session core.Session, _ int) string { return session.ID }), err
}

// isOver reports whether a session ended without a report. A session is not over while its
// children run in a process that is known to be alive: the clock may have jumped.
func isOver(s *project.Op, session core.Session, now core.Millis) (bool, error) {
	known, gone, err := processOf(s, session)
	if err != nil || gone || now-session.LastActivityAt <= project.Day {
		return gone, err
	}
	s.Session = session
	running, err := children.Running(s)
	return !(known && running), err
}

// processOf reports whether flame knows the process of a session's host, and whether that
// process is gone.
func processOf(s *project.Op, session core.Session) (known, gone bool, err error) {
	theirs, err := project.RecordHookState.Find(s.Tx, session.ID)
	if err != nil || s.Project.ProcessGone == nil || theirs.Process == (project.Process{}) {
		return false, false, err
	}
	lives := func(p project.Process) bool { return !s.Project.ProcessGone(p) }
	return true, !lives(theirs.Process) && !slices.ContainsFunc(theirs.Windows, lives), nil
}

// maxOld limits the roots that endOldRoots looks at, once a day.
const maxOld = 50

// endOldRoots ends roots whose sessions have ended: earlier versions of flame left such
// roots in progress.
func endOldRoots(s *project.Op) error {
	roots, err := s.Tx.FindFrames(project.FrameQuery{Roots: true, Statuses: []core.Status{core.InProgress}, Limit: maxOld})
	if err != nil {
		return err
	}
	for _, root := range roots {
		if s.OutOfTime() {
			break
		}
		if err := stack.EndRoot(s, root.ID); err != nil {
			return err
		}
	}
	return nil
}

// pruneAge is the age at which Prune archives a root without work.
const pruneAge = 7 * project.Day

// Prune archives, or with remove deletes, the roots that have been unchanged for a week
// and have no children, artifacts, decisions, summary or results. It leaves alone the
// current frames of live sessions. It works in batches, each complete in itself.
func Prune(ctx context.Context, p *project.Project, remove bool) (pruned []core.Frame, err error) {
	now := p.Now()
	roots, err := project.Read(ctx, p, func(tx project.Tx) ([]string, error) {
		return untouchedRoots(tx, project.FrameQuery{Roots: true, Archived: remove}, now)
	})
	if err != nil {
		return nil, err
	}
	err = project.InBatches(ctx, p, roots, func(tx project.Tx, id string) (*core.Frame, error) {
		return pruneRoot(tx, id, now, remove)
	}, func(root *core.Frame) {
		if root != nil {
			pruned = append(pruned, *root)
		}
	})
	return pruned, err
}

// untouchedRoots returns the ids of the untouched roots that q describes.
func untouchedRoots(tx project.Tx, q project.FrameQuery, now core.Millis) (ids []string, err error) {
	links, err := tx.Links(q)
	if err != nil {
		return nil, err
	}
	return ids, project.EachFrame(tx, links, func(root core.Frame) error {
		if untouched(root, now) {
			ids = append(ids, root.ID)
		}
		return nil
	})
}

// pruneRoot prunes a root if it is still idle, and returns it; else it returns nil.
func pruneRoot(tx project.Tx, id string, now core.Millis, remove bool) (*core.Frame, error) {
	root, err := tx.Frame(id)
	if err != nil {
		return nil, project.IgnoreMissing(err)
	}
	idle, err := isIdleRoot(tx, root, now)
	if err != nil || !idle {
		return nil, err
	}
	if remove {
		return &root, usage.DropFrame(tx, id)
	}
	root.ArchivedAt = now
	return &root, tx.SaveFrame(root)
}

// untouched reports whether root has no results and is old enough to prune. Each machine
// prunes only its own roots.
func untouched(root core.Frame, now core.Millis) bool {
	worked := len(root.Artifacts)+len(root.Decisions)+len(root.Summary)+len(root.Results) > 0
	return !worked && !root.IsRemote() && now-root.UpdatedAt >= pruneAge
}

// isIdleRoot reports whether root is untouched, has no children, and no live
// session works in it.
func isIdleRoot(tx project.Tx, root core.Frame, now core.Millis) (bool, error) {
	if !untouched(root, now) {
		return false, nil
	}
	children, err := tx.CountFrames(project.FrameQuery{Parent: root.ID, Archived: true})
	if err != nil || project.Total(children) > 0 {
		return false, err
	}
	at, err := tx.FindSessions(project.SessionQuery{Current: root.ID})
	for _, session := range at {
		if session.State != core.SessionEnded && now-session.LastActivityAt < pruneAge {
			return false, err
		}
	}
	return err == nil, err
}
