package children

import (
	"context"
	"errors"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
	"flame/project/stack"
)

// EndReport says which child ended, how, and what it said last.
type EndReport struct {
	Agent      string // id of the agent; empty for a host's own child
	Session    string // the child's; empty: the session of SpawnCall
	Call       string // the host's id of the call that asked for the child; may be empty
	End        core.ChildEnd
	Last       string // its last message, or the error
	HandedOver string // text that the host itself passes to the parent; may be empty
	Transcript string // path of the host's log of the child; empty without one
	Messages   int    // how many it exchanged, if the host reports that; 0: as counted
}

// End ends the frame of a child session in the way its run ended. The child's own frames
// below that end with it. While another agent still works below the child's frame, that
// frame waits for the other agent. A repeated call changes nothing, except that an orphaned
// child may still complete. An unknown child stays unknown.
func End(ctx context.Context, p *project.Project, by project.Caller, ended EndReport) error {
	return p.Run(ctx, by, func(s *project.Op) error {
		if s.NewSession {
			return nil
		}
		return s.Change(func(s *project.Op) error { return end(s, ended) })
	})
}

func end(s *project.Op, ended EndReport) error {
	id := ended.Session
	if ended.Call != "" {
		asked, err := recordSpawn.Find(s.Tx, ended.Call)
		if err != nil {
			return err
		}
		if id != "" && asked.Child == "" {
			if _, err := bind(s, ChildStart{Call: ended.Call, Session: id}); err != nil {
				return err
			}
		}
		if id == "" && asked.Child == "" {
			return endCall(s, ended.Call, asked, project.ChildOutcome{End: ended.End, Last: ended.Last})
		}
		if id == "" {
			id = asked.Child
		}
	}
	if mine, err := isBelow(s, id); !mine || err != nil {
		return err // a model may have written the id, or flame does not know the child
	}
	if err := frameAtLast(s, id, ended.Messages); err != nil {
		return err
	}
	if err := endChild(s, id, project.ChildOutcome{End: ended.End, Last: ended.Last}); err != nil {
		return err
	}
	if err := countChildLater(s, id, ended.Transcript); err != nil {
		return err
	}
	return handedOver(s, id, ended.HandedOver)
}

// frameAtLast makes a frame for a child that has none, if its whole run was worth one: not
// every host reports its children before they end.
func frameAtLast(s *project.Op, child string, messages int) error {
	session, err := s.Tx.Session(child)
	if err != nil || !session.Tracked || session.HasFrame() || session.IsCompleted {
		return project.IgnoreMissing(err)
	}
	return s.AsSession(session, func(s *project.Op) error {
		s.Session.MessageCount = max(s.Session.MessageCount, messages)
		return tryHeuristics(s)
	})
}

// countChildLater has flame count the child's own log soon.
func countChildLater(s *project.Op, child, path string) error {
	session, err := s.Tx.Session(child)
	if err != nil || path == "" {
		return project.IgnoreMissing(err)
	}
	return s.AsSession(session, func(s *project.Op) error { return s.CountLater(path) })
}

// handedOver records that the host gave the child's summary to the parent, if text contains
// it.
func handedOver(s *project.Op, child, text string) error {
	session, err := s.Tx.Session(child)
	if err != nil || text == "" || !session.HasFrame() {
		return project.IgnoreMissing(err)
	}
	frame, err := s.Tx.Frame(session.Root)
	if err != nil || !strings.Contains(text, strings.TrimSpace(frame.Summary)) {
		return project.IgnoreMissing(err)
	}
	return project.RecordHookState.Change(s.Tx, child, func(theirs *project.HookState) { theirs.SummaryDelivered = true })
}

// endChild is End for a session whose id is known.
func endChild(s *project.Op, id string, how project.ChildOutcome) error {
	session, err := s.Tx.Session(id)
	if err != nil || session.Parent == "" || session.IsCompleted && how.End != core.ChildCompleted {
		return project.IgnoreMissing(err)
	}
	how, err = lastWords(s, id, how)
	if err != nil {
		return err
	}
	waits, err := waitsBelow(s, session)
	if err != nil {
		return err
	}
	if waits {
		return endLater(s, id, &how)
	}
	if busy, err := busyItself(s, session); how.Idle && busy || err != nil {
		return err // a child with its own frames in progress may be silent
	}
	if err := endLater(s, id, nil); err != nil {
		return err
	}
	if err := s.AsSession(session, func(s *project.Op) error { return endHere(s, how) }); err != nil {
		return err
	}
	if session, err = s.Tx.Session(id); err != nil {
		return err
	}
	return endAbove(s, session)
}

// endHere ends the session of a child, with its frames.
func endHere(s *project.Op, how project.ChildOutcome) error {
	if err := tryHeuristics(s); err != nil {
		return err
	}
	s.Session.IsCompleted, s.Session.Current, s.Session.State = true, "", core.SessionEnded
	if err := countEnd(s, how); err != nil {
		return err
	}
	id := s.Session.ID
	if err := errors.Join(s.Tx.ClearDeadline(IdleDeadline, id), s.Tx.ClearDeadline(WorthDeadline, id)); err != nil {
		return err
	}
	return endFrames(s, how)
}

// endAbove ends the children that only waited for this child: the one that asked for it, and
// the one in whose frame this child's frame lies.
func endAbove(s *project.Op, child core.Session) error {
	if err := endParent(s, child.Parent); err != nil || !child.HasFrame() {
		return err
	}
	frame, err := s.Tx.Frame(child.Root)
	if err != nil || frame.Parent == "" {
		return project.IgnoreMissing(err)
	}
	parent, err := s.Tx.Frame(frame.Parent)
	if err != nil || parent.Session == child.Parent {
		return project.IgnoreMissing(err)
	}
	return endParent(s, parent.Session)
}

// lastWords adds the last message that flame saw of the child, if its end brought none.
func lastWords(s *project.Op, id string, how project.ChildOutcome) (project.ChildOutcome, error) {
	if how.Last != "" {
		return how, nil
	}
	theirs, err := project.RecordHookState.Find(s.Tx, id)
	how.Last = theirs.LastMessage
	return how, err
}

// waitsBelow reports whether another session, here or on another machine, still works
// below the child's frame.
func waitsBelow(s *project.Op, child core.Session) (bool, error) {
	open, err := openBelow(s, child)
	return slices.ContainsFunc(open, func(f core.Frame) bool { return f.IsRemote() || f.Session != child.ID && f.Session != "" }), err
}

// busyItself reports whether the child has frames of its own in progress below
// its first one.
func busyItself(s *project.Op, child core.Session) (bool, error) {
	open, err := openBelow(s, child)
	return slices.ContainsFunc(open, func(f core.Frame) bool { return f.ID != child.Root }), err
}

// openBelow returns the child's frame and those below it that are in progress, oldest first.
// It leaves out the child's own frame if another machine took it over.
func openBelow(s *project.Op, child core.Session) ([]core.Frame, error) {
	if !child.HasFrame() {
		return nil, nil
	}
	open, err := s.Tx.FindFrames(project.FrameQuery{Under: child.Root, Statuses: []core.Status{core.InProgress}})
	return slices.DeleteFunc(open, func(f core.Frame) bool { return f.ID == child.Root && f.IsRemote() }), err
}

// endFrames ends the frames that the child left in progress, the newest first, and records
// the child's end. The summary goes to the child's first frame, unless the child wrote one
// there itself and left no last message.
func endFrames(s *project.Op, how project.ChildOutcome) error {
	child := s.Session
	if !child.HasFrame() {
		return nil
	}
	open, err := openBelow(s, child)
	if err != nil {
		return err
	}
	for _, frame := range slices.Backward(open) {
		if frame.ID == child.Root || frame.IsRemote() {
			continue
		}
		if err := stack.End(s, &frame, how.End.Status(), ""); err != nil {
			return err
		}
	}
	frame, err := s.Tx.Frame(child.Root)
	if err != nil || frame.IsRemote() || !frame.CanTransition(how.End.Status()) || frame.Status == how.End.Status() {
		return project.IgnoreMissing(err)
	}
	summary := how.Summary()
	if how.Last == "" && frame.Summary != "" {
		summary = ""
	}
	if err := stack.End(s, &frame, how.End.Status(), summary); err != nil {
		return err
	}
	return tellEnd(s, how, frame, child.ID)
}

// endLater records how a child ended, until the work below it has ended; nil forgets it. It
// does not replace a recorded end by orphaned: the host of an ended child no longer runs it.
func endLater(s *project.Op, id string, how *project.ChildOutcome) error {
	return project.RecordHookState.Change(s.Tx, id, func(theirs *project.HookState) {
		if how == nil || theirs.Ended == nil || how.End != core.ChildOrphaned {
			theirs.Ended = how
		}
	})
}

// endParent ends a child that only waited for the children below it.
func endParent(s *project.Op, id string) error {
	theirs, err := project.RecordHookState.Find(s.Tx, id)
	if err != nil || theirs.Ended == nil {
		return err
	}
	return endChild(s, id, *theirs.Ended)
}

// continued is the suffix of the goal of a finished subagent's new frame.
const continued = " (continued)"

// Continue records that a child's session runs again. A finished frame stays finished: the
// child continues in a new frame beside it. Continue returns the context of the new frame,
// in at most maxChars characters.
func Continue(ctx context.Context, p *project.Project, by project.Caller, child string, maxChars int) (context string, err error) {
	err = p.Run(ctx, by, func(s *project.Op) error {
		if s.NewSession {
			return nil
		}
		return s.Change(func(s *project.Op) error {
			session, err := s.Tx.Session(child)
			if err != nil || !session.IsCompleted {
				return project.IgnoreMissing(err)
			}
			if err := s.AsSession(session, Resume); err != nil {
				return err
			}
			if session, err = s.Tx.Session(child); err != nil {
				return err
			}
			context, err = childContext(s, session.Root, maxChars)
			return err
		})
	})
	return context, err
}

// Resume makes a new frame for the caller's session, if it is a finished child, to continue
// in.
func Resume(s *project.Op) error {
	if !s.Session.IsCompleted {
		return nil
	}
	s.Session.IsCompleted, s.Session.State = false, core.SessionActive
	s.Session.Tracked = s.Session.Tracked || s.Session.IsSubagent
	if !s.Session.HasFrame() {
		return nil
	}
	finished, err := s.Tx.Frame(s.Session.Root)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	parent, err := s.NearestOpen(finished.Parent)
	if parent == "" && err == nil {
		parent, err = s.ParentFrame()
	}
	if err != nil {
		return err
	}
	goal := strings.TrimSuffix(finished.Goal, continued) + continued
	frame, err := s.Create(core.Frame{Parent: parent, Goal: goal, Status: core.InProgress})
	if err != nil {
		return err
	}
	s.Session.Root, s.Session.Current = frame.ID, frame.ID
	return project.RecordHookState.Change(s.Tx, s.Session.ID,
		func(mine *project.HookState) { mine.SummaryDelivered, mine.LastMessage, mine.Ended = false, "", nil })
}

// endCall ends a child whose session is unknown, by the call that asked for the child.
func endCall(s *project.Op, call string, asked RequestedChild, how project.ChildOutcome) error {
	if asked.Parent == "" {
		return nil // the call is not known
	}
	counted := countUnbound(s, asked)
	asked.Over = true
	return errors.Join(counted, recordSpawn.Save(s.Tx, call, asked), endSpawn(s, asked, how))
}

// countUnbound counts a child that ended while its session was unknown: as ended, or as
// skipped if it has no frame.
func countUnbound(s *project.Op, asked RequestedChild) error {
	if !asked.Watched || asked.Over {
		return nil
	}
	return countSubagents(s, asked.At, func(c *core.SubagentStats) {
		if asked.Frame != "" {
			c.EndedByHost++
		} else {
			c.SkippedByHeuristics++
		}
	})
}

// endSpawn ends the frame of a child that has no session.
func endSpawn(s *project.Op, asked RequestedChild, how project.ChildOutcome) error {
	if asked.Frame == "" {
		return nil
	}
	frame, err := s.Tx.Frame(asked.Frame)
	if err != nil || frame.IsRemote() || !frame.CanTransition(how.End.Status()) {
		return project.IgnoreMissing(err)
	}
	if err := stack.End(s, &frame, how.End.Status(), how.Summary()); err != nil {
		return err
	}
	return tellEnd(s, how, frame, "")
}

// tellEnd records the event of a child's end.
func tellEnd(s *project.Op, how project.ChildOutcome, frame core.Frame, child string) error {
	if how.Agent {
		return nil
	}
	told := map[string]any{"status": frame.Status}
	if child != "" {
		told["childSession"] = child
	}
	return s.Emit(how.End.Event(), frame.ID, told)
}
