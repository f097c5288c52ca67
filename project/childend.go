package project

import (
	"context"
	"slices"
	"strings"

	"flame/core"
)

// tellEnd tells how a child ended.
func (s *step) tellEnd(how childEnded, frame core.Frame, child string) error {
	if how.Agent {
		return nil
	}
	told := map[string]any{"status": frame.Status}
	if child != "" {
		told["childSession"] = child
	}
	return s.emit(how.End.Event(), frame.ID, told)
}

// A ChildEnded tells of a child's end: which, how, and its last words.
type ChildEnded struct {
	Agent      string // id of the agent that it was; empty for a child of the host's own
	Session    string // the child's; empty: the one that Call came to be
	Call       string // the host's id of the call that asked for it; may be empty
	End        core.ChildEnd
	Last       string // its last message, or the error
	HandedOver string // what the host itself gives the parent of it; empty when nothing
	Transcript string // path of the host's log of the child; empty without one
	Messages   int    // it exchanged, where the host tells; 0: as was seen
}

// EndChild ends the frame of a child session in the way its run ended. Frames of
// its own below that end with it; while another agent still works below it, its
// frame waits for that. Telling it again changes nothing, but a child that was
// taken for lost may still be done. A child that is unknown stays so.
func (p *Project) EndChild(ctx context.Context, by Caller, ended ChildEnded) error {
	return p.ifKnown(ctx, by, func(s *step) error {
		id := ended.Session
		if ended.Call != "" {
			var asked spawn
			if _, err := recordSpawn.Load(s, ended.Call, &asked); err != nil {
				return err
			}
			if id != "" && asked.Child == "" {
				if _, err := s.bind(ended.Call, id); err != nil {
					return err
				}
			}
			if id == "" && asked.Child == "" {
				return s.endSpawn(asked, childEnded{End: ended.End, Last: ended.Last})
			}
			if id == "" {
				id = asked.Child
			}
		}
		if err := s.frameAtLast(id, ended.Messages); err != nil {
			return err
		}
		if err := s.endChild(id, childEnded{End: ended.End, Last: ended.Last}); err != nil {
			return err
		}
		if err := s.countChildLater(id, ended.Transcript); err != nil {
			return err
		}
		return s.handedOver(id, ended.HandedOver)
	})
}

// frameAtLast returns a child that waits for one its frame after all, if its whole
// run was worth it: not every host tells of its children before they end.
func (s *step) frameAtLast(child string, messages int) error {
	session, err := s.Session(child)
	if err != nil || !session.Tracked || session.HasFrame() || session.IsCompleted {
		return ignoreMissing(err)
	}
	return s.as(session, func(s *step) error {
		s.session.MessageCount = max(s.session.MessageCount, messages)
		return s.tryHeuristics()
	})
}

// countChildLater sees to it that the child's own log is counted.
func (s *step) countChildLater(child, path string) error {
	session, err := s.Session(child)
	if err != nil || path == "" {
		return ignoreMissing(err)
	}
	return s.as(session, func(s *step) error { return s.countLater(path) })
}

// handedOver keeps that the parent has the child's summary from its host.
func (s *step) handedOver(child, text string) error {
	session, err := s.Session(child)
	if err != nil || text == "" || !session.HasFrame() {
		return ignoreMissing(err)
	}
	frame, err := s.Frame(session.Root)
	if err != nil || !strings.Contains(text, strings.TrimSpace(frame.Summary)) {
		return ignoreMissing(err)
	}
	theirs, err := s.presenceOf(child)
	if err != nil || theirs.Told {
		return err
	}
	theirs.Told = true
	return s.savePresence(child, theirs)
}

// endChild is EndChild for a session that is known by its id.
func (s *step) endChild(id string, how childEnded) error {
	session, err := s.Session(id)
	if err != nil || session.Parent == "" || session.IsCompleted && how.End != core.ChildCompleted {
		return ignoreMissing(err)
	}
	how, err = s.lastWords(id, how)
	if err != nil {
		return err
	}
	waits, err := s.waitsBelow(session)
	if err != nil {
		return err
	}
	if waits {
		return s.endLater(id, &how)
	}
	if busy, err := s.busyItself(session); how.Idle && busy || err != nil {
		return err // its silence says nothing while it has pushed frames of its own
	}
	if err := s.endLater(id, nil); err != nil {
		return err
	}
	err = s.as(session, func(s *step) error {
		s.session.IsCompleted, s.session.Current, s.session.State = true, "", core.SessionEnded
		if err := s.ClearDeadline(deadlineIdle, id); err != nil {
			return err
		}
		return s.endFrames(how)
	})
	if err != nil {
		return err
	}
	return s.endAbove(session)
}

// endAbove ends children that only waited for this one: the one that asked for it,
// and the one in whose frame its own was made.
func (s *step) endAbove(child core.Session) error {
	if err := s.endParent(child.Parent); err != nil || !child.HasFrame() {
		return err
	}
	frame, err := s.Frame(child.Root)
	if err != nil || frame.Parent == "" {
		return ignoreMissing(err)
	}
	parent, err := s.Frame(frame.Parent)
	if err != nil || parent.Session == child.Parent {
		return ignoreMissing(err)
	}
	return s.endParent(parent.Session)
}

// lastWords adds what the child was seen to say, where its end tells nothing.
func (s *step) lastWords(id string, how childEnded) (childEnded, error) {
	if how.Last != "" {
		return how, nil
	}
	theirs, err := s.presenceOf(id)
	how.Last = theirs.Fallback
	return how, err
}

// waitsBelow reports whether another session still works below the child's frame.
func (s *step) waitsBelow(child core.Session) (bool, error) {
	open, err := s.openBelow(child)
	return slices.ContainsFunc(open, func(f core.Frame) bool { return f.Session != child.ID && f.Session != "" }), err
}

// busyItself reports whether the child has frames of its own in progress below
// its first one.
func (s *step) busyItself(child core.Session) (bool, error) {
	open, err := s.openBelow(child)
	return slices.ContainsFunc(open, func(f core.Frame) bool { return f.ID != child.Root }), err
}

// openBelow returns the frames in progress in and below the child's, oldest first.
func (s *step) openBelow(child core.Session) ([]core.Frame, error) {
	if !child.HasFrame() {
		return nil, nil
	}
	return s.FindFrames(FrameQuery{Under: child.Root, Statuses: []core.Status{core.InProgress}})
}

// endFrames ends what the child left in progress, the newest first, and tells of
// its end. The summary goes to its own frame, where that has none of its own
// making.
func (s *step) endFrames(how childEnded) error {
	child := s.session
	if !child.HasFrame() {
		return nil
	}
	open, err := s.openBelow(child)
	if err != nil {
		return err
	}
	for _, frame := range slices.Backward(open) {
		if frame.ID == child.Root {
			continue
		}
		if err := s.end(&frame, how.End.Status(), ""); err != nil {
			return err
		}
	}
	frame, err := s.Frame(child.Root)
	if err != nil || !frame.CanMove(how.End.Status()) || frame.Status == how.End.Status() {
		return ignoreMissing(err)
	}
	summary := how.summary()
	if how.Last == "" && frame.Summary != "" {
		summary = ""
	}
	if err := s.end(&frame, how.End.Status(), summary); err != nil {
		return err
	}
	return s.tellEnd(how, frame, child.ID)
}

// endLater keeps how a child ended until nothing works below it any more; nil
// forgets it. One that ended is not lost when its host no longer runs it.
func (s *step) endLater(id string, how *childEnded) error {
	theirs, err := s.presenceOf(id)
	if err != nil || how == nil && theirs.Ended == nil || how != nil && theirs.Ended != nil && how.End == core.ChildOrphaned {
		return err
	}
	theirs.Ended = how
	return s.savePresence(id, theirs)
}

// endParent ends a child that only waited for those below it.
func (s *step) endParent(id string) error {
	theirs, err := s.presenceOf(id)
	if err != nil || theirs.Ended == nil {
		return err
	}
	return s.endChild(id, *theirs.Ended)
}

// continued is what the goal of a finished subagent's new frame ends in.
const continued = " (continued)"

// ContinueChild notes that a child's session runs again. A finished frame stays
// so: the child goes on in a new one beside it, whose context is given in at
// most maxChars characters.
func (p *Project) ContinueChild(ctx context.Context, by Caller, child string, maxChars int) (context string, err error) {
	err = p.ifKnown(ctx, by, func(s *step) error {
		session, err := s.Session(child)
		if err != nil || !session.IsCompleted {
			return ignoreMissing(err)
		}
		err = s.as(session, func(s *step) error { return s.goOn() })
		if err != nil {
			return err
		}
		if session, err = s.Session(child); err != nil {
			return err
		}
		context, err = s.childContext(session.Root, maxChars)
		return err
	})
	return context, err
}

// goOn returns the caller's session, a child that had finished, a frame to go on in.
func (s *step) goOn() error {
	if !s.session.IsCompleted {
		return nil
	}
	s.session.IsCompleted, s.session.State = false, core.SessionActive
	if !s.session.HasFrame() {
		return nil
	}
	finished, err := s.Frame(s.session.Root)
	if err != nil {
		return ignoreMissing(err)
	}
	parent, err := s.nearestOpen(finished.Parent)
	if parent == "" && err == nil {
		parent, err = s.parentFrame()
	}
	if err != nil {
		return err
	}
	goal := strings.TrimSuffix(finished.Goal, continued) + continued
	frame, err := s.create(core.Frame{Parent: parent, Goal: goal, Status: core.InProgress})
	if err != nil {
		return err
	}
	s.session.Root, s.session.Current = frame.ID, frame.ID
	theirs, err := s.presenceOf(s.session.ID)
	if err != nil {
		return err
	}
	theirs.Told, theirs.Fallback, theirs.Ended = false, "", nil
	return s.savePresence(s.session.ID, theirs)
}

// endSpawn ends the frame of a child that has no session.
func (s *step) endSpawn(asked spawn, how childEnded) error {
	if asked.Frame == "" {
		return nil
	}
	frame, err := s.Frame(asked.Frame)
	if err != nil || !frame.CanMove(how.End.Status()) {
		return ignoreMissing(err)
	}
	if err := s.end(&frame, how.End.Status(), how.summary()); err != nil {
		return err
	}
	return s.tellEnd(how, frame, "")
}
