package stack

import (
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
)

// maxSaid limits the agent's words in the summary of an item, in characters.
const maxSaid = 400

// Why an item was dropped.
const (
	absent    = "dropped from the list"
	cancelled = "cancelled in the list"
)

// Follow makes the tree show what a call of the host's list tool says: its items become planned, current
// and ended frames below the frame in which the list was written. owner identifies whose list it is. said
// returns the agent's last words before the call; nil if they are not known. A call that changes nothing
// writes nothing.
func Follow(ctx context.Context, p *project.Project, by project.Caller, owner string, call evidence.ListCall, said func() string) error {
	if !p.Plans {
		return nil
	}
	return p.Run(ctx, by, func(s *project.Op) error {
		lists, err := recordLists.Find(s.Tx, owner)
		if err != nil {
			return err
		}
		mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
		if err != nil {
			return err
		}
		compacted, err := s.Tx.FindEvents(project.EventQuery{Session: s.Session.ID, Since: lists.At, Kinds: []string{core.SummaryStored}, Limit: 1})
		if err != nil {
			return err
		}
		prompted := mine.Prompt != lists.Prompt
		moves, changed := lists.Take(call, prompted, lists.At > 0 && len(compacted) > 0)
		if !changed && (!prompted || len(lists.All) == 0) {
			return nil
		}
		lists.Prompt, lists.At = mine.Prompt, s.Now
		return s.Change(func(s *project.Op) error {
			f := follower{s: s, owner: owner, call: call, lists: &lists, free: map[string][]core.Frame{}}
			if said != nil && !s.Project.Replaying {
				f.hear(said())
			}
			if err := f.follow(moves); mine.Forked == "" || err != nil {
				return errors.Join(err, recordLists.Save(s.Tx, owner, lists))
			}
			return errors.Join(recordLists.Save(s.Tx, owner, lists), project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) {
				mine.Forked = "" // it has a list of its own
			}))
		})
	})
}

// A follower makes the moves of one call.
type follower struct {
	s     *project.Op
	owner string
	call  evidence.ListCall
	lists *evidence.Lists
	said  string                  // since the last call
	free  map[string][]core.Frame // what freeBelow returned
}

// hear takes in the agent's last words: those that stood there at the last call are about earlier items.
func (f *follower) hear(text string) {
	if text = core.Tail(core.Printable(text), maxSaid); text != f.lists.Said {
		f.said, f.lists.Said = text, text
	}
}

// follow makes moves. Items that end come before items that begin: a call often does both.
func (f *follower) follow(moves []evidence.Move) error {
	for _, m := range moves {
		var err error
		if m.Item.Frame == "" {
			err = f.plan(m)
		} else if m.Item.Text != m.Was.Text {
			err = f.rename(m)
		}
		if err != nil {
			return err
		}
	}
	for _, to := range []evidence.ItemStatus{evidence.ItemDone, evidence.ItemBlocked, evidence.ItemDropped, evidence.ItemPending, evidence.ItemActive} {
		for _, m := range moves {
			if m.To != to {
				continue
			}
			if err := f.move(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// move brings the frame of an item to a status. It leaves alone what others did with the frame: ended by
// hand, invalidated, taken over.
func (f *follower) move(m evidence.Move) error {
	frame, err := f.s.Tx.Frame(m.Item.Frame)
	if err != nil || frame.IsRemote() || frame.Status == core.Invalidated {
		return project.IgnoreMissing(err)
	}
	open := frame.Status != core.Completed && frame.Status != core.Failed
	switch {
	case m.To == evidence.ItemActive:
		return f.start(frame)
	case m.To == evidence.ItemPending:
		return f.postpone(frame)
	case m.To == evidence.ItemDone && open:
		return f.end(frame, m, core.Completed)
	case m.To == evidence.ItemBlocked && open:
		return f.end(frame, m, core.Blocked)
	case m.To == evidence.ItemDropped && open:
		why := cancelled
		if f.call.Whole && !slices.ContainsFunc(f.call.Items, func(i evidence.Item) bool { return i.Text == m.Item.Text }) {
			why = absent
		}
		_, err := invalidate(f.s, frame, why)
		return errors.Join(err, f.leave(frame, m.List))
	}
	return nil
}

// plan gives an item a frame: a planned one of the same goal that is there already, else a new one.
func (f *follower) plan(m evidence.Move) error {
	at, err := f.home(m)
	if err != nil || at == "" {
		return err
	}
	free, err := f.freeBelow(at)
	if err != nil {
		return err
	}
	frame := sameGoal(free, m.Item.Text)
	if frame == nil {
		made, err := f.s.Create(core.Frame{Parent: at, Goal: m.Item.Text, Status: core.Planned})
		if err != nil {
			return err
		}
		parent, err := f.s.Tx.Frame(at)
		if err != nil {
			return err
		}
		parent.PlannedChildren, parent.UpdatedAt = append(parent.PlannedChildren, made.ID), f.s.Now
		if err := f.s.Tx.SaveFrame(parent); err != nil {
			return err
		}
		frame = &made
	}
	m.Item.Frame = frame.ID
	f.free[at] = slices.DeleteFunc(free, func(other core.Frame) bool { return other.ID == m.Item.Frame })
	return recordItem.Save(f.s.Tx, m.Item.Frame, itemFrame{Owner: f.owner, ID: m.Item.ID, At: f.s.Now})
}

// freeBelow returns the open frames directly below one that are no items yet.
func (f *follower) freeBelow(at string) ([]core.Frame, error) {
	if free, known := f.free[at]; known {
		return free, nil
	}
	beside, err := openBeside(f.s, &core.Frame{ID: at}, maxItems)
	if err != nil {
		return nil, err
	}
	f.free[at], err = project.Filter(beside, func(other core.Frame) (bool, error) {
		item, err := IsItem(f.s, other.ID)
		return !item && !other.IsRemote(), err
	})
	return f.free[at], err
}

// home returns the frame below which an item belongs: the item that it is a part of, the place of its list
// or, for a new list, where the caller works. It is empty without one.
func (f *follower) home(m evidence.Move) (string, error) {
	if above := m.List.ByID(m.Item.Above); above != nil && above.Frame != "" {
		return above.Frame, nil
	}
	if m.List.Home != "" {
		if open, err := f.s.NearestOpen(m.List.Home); open == m.List.Home || err != nil {
			return open, err
		}
	}
	at, err := PushParent(f.s)
	if err == nil {
		at, err = outside(f.s, at, f.owner)
	}
	if f.call.Whole {
		m.List.Home = at
	}
	return at, err
}

// rename gives the frame of an item its new wording, unless somebody gave it another goal. The event keeps
// the earlier one.
func (f *follower) rename(m evidence.Move) error {
	frame, err := f.s.Tx.Frame(m.Item.Frame)
	if err != nil || frame.IsRemote() || frame.Goal != m.Was.Text {
		return project.IgnoreMissing(err)
	}
	frame.Goal, frame.UpdatedAt = m.Item.Text, f.s.Now
	data := updated(edits{"goal": frame.Goal})
	data["replacedGoal"] = m.Was.Text
	return errors.Join(f.s.Tx.SaveFrame(frame), f.s.Emit(core.FrameUpdated, frame.ID, data))
}

// start puts the frame of an item into progress. It becomes the caller's current one, unless the caller
// works in a frame that it made itself elsewhere, or has no frame of its own.
func (f *follower) start(frame core.Frame) error {
	if err := waits(f.s, frame.ID, false, ""); err != nil {
		return err
	}
	at, err := outside(f.s, f.s.Session.Current, f.owner)
	if turn, wrong := IsTurn(f.s, at); turn {
		at = f.s.Session.Root // a list goes on in any turn
	} else if err = errors.Join(err, wrong); err != nil {
		return err
	}
	enters, err := f.s.IsInside(frame.ID, at)
	if err != nil {
		return err
	}
	if enters && (f.s.Session.Parent == "" || f.s.Session.HasFrame()) {
		_, err = activate(f.s, frame, core.Frame{}, false)
	} else if frame.Status != core.InProgress {
		err = start(f.s, &frame, "")
	}
	if _, refused := errors.AsType[*core.Problem](err); refused && !errors.Is(err, core.ErrUnavailable) {
		return nil // another session works in it
	}
	return err
}

// postpone makes an item planned again. One with work stays in progress, and is no longer current.
func (f *follower) postpone(frame core.Frame) error {
	if frame.Status == core.Planned {
		return nil
	}
	if frame.Status != core.InProgress {
		if err := start(f.s, &frame, ""); err != nil {
			return err
		}
	}
	below, err := f.s.Tx.CountFrames(project.FrameQuery{Parent: frame.ID, Archived: true})
	if err != nil {
		return err
	}
	if project.Total(below) == 0 && len(frame.Artifacts)+len(frame.Decisions)+len(frame.Summary)+len(frame.Results) == 0 {
		frame.Return(f.s.Now)
		data := map[string]any{"goal": frame.Goal, "parent": frame.Parent}
		err = errors.Join(f.s.Tx.SaveFrame(frame), f.s.Emit(core.FramePlanned, frame.ID, data))
	}
	return errors.Join(err, f.leave(frame, nil))
}

// end ends the frame of an item. It stays in progress while a frame below it is, except steps of it.
func (f *follower) end(frame core.Frame, m evidence.Move, status core.Status) error {
	said := ""
	if m.Was.Status == evidence.ItemActive && frame.Summary == "" {
		said = f.said
	}
	if frame.Status == core.Planned {
		if err := start(f.s, &frame, ""); err != nil {
			return err
		}
	}
	open, err := Children(f.s, frame.ID, core.InProgress)
	if err == nil {
		open, err = project.Filter(open, func(child core.Frame) (bool, error) {
			item, err := recordItem.Find(f.s.Tx, child.ID)
			return item.Owner != f.owner, err
		})
	}
	switch {
	case err != nil:
		return err
	case len(open) > 0 && status == core.Completed:
		return waits(f.s, frame.ID, true, said)
	case frame.Status == status:
		return nil
	}
	if err := End(f.s, &frame, status, said); err != nil {
		return err
	}
	return f.leave(frame, m.List)
}

// leave has the caller work elsewhere if it works in a frame: in the item of the same list that is in
// progress and began last, else above it.
func (f *follower) leave(frame core.Frame, list *evidence.List) error {
	inside, err := f.s.IsInside(f.s.Session.Current, frame.ID)
	if err != nil || !inside {
		return err
	}
	next := frame.Parent
	if list != nil && list.Active() != nil {
		other, err := f.s.Tx.Frame(list.Active().Frame)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if other.IsOpen() && other.Session == f.s.Session.ID {
			next = other.ID
		}
	}
	if next, err = f.s.NearestOpen(next); err != nil {
		return err
	}
	return autonomy.Enter(f.s, next)
}
