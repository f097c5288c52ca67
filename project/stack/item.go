package stack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
)

// The records of the to-do lists of hosts.
const (
	recordLists project.RecordKind[evidence.Lists] = "lists"      // by owner: what its lists have, and had
	recordItem  project.RecordKind[itemFrame]      = "frame.item" // by frame of an item
)

// An itemFrame is what the tree does not say about the frame of an item.
type itemFrame struct {
	Owner   string      `json:"owner"`             // of its list
	ID      string      `json:"id,omitempty"`      // the host's for it; empty if it has none
	At      core.Millis `json:"at,omitempty"`      // when the agent made the call that the item is known from; 0: as the frame
	Waits   bool        `json:"waits,omitempty"`   // the host says that it is done, but a frame below it is in progress
	Summary string      `json:"summary,omitempty"` // for the end that it waits for
}

// maxItems limits the open frames among which items are looked for: more than a list has.
const maxItems = 100

// leftItem is the summary of an item that was in progress when its session ended.
const leftItem = "left by the session"

// IsItem reports whether a frame is that of an item of a host's list.
func IsItem(s *project.Op, frame string) (bool, error) {
	_, known, err := recordItem.Get(s.Tx, frame)
	return known, err
}

// outside returns the first open frame at or above one that is not an item of an owner's list; of any, if
// owner is empty.
func outside(s *project.Op, at, owner string) (string, error) {
	for {
		open, err := s.NearestOpen(at)
		if at = open; at == "" || err != nil {
			return at, err
		}
		item, known, err := recordItem.Get(s.Tx, at)
		if !known || owner != "" && item.Owner != owner || err != nil {
			return at, err
		}
		frame, err := s.Tx.Frame(at)
		if err != nil {
			return "", err
		}
		at = frame.Parent
	}
}

// ItemsAmong returns those of frames that are items of hosts' lists.
func ItemsAmong(s *project.Op, frames []string) ([]string, error) {
	known, err := recordItem.At(s.Tx, frames)
	return lo.Keys(known), err
}

// NeededCalls returns when the host's agent made the calls without which it would not know what is open in its
// lists, of which open are the open frames: for items with an id those that created them, else the last ones.
func NeededCalls(s *project.Op, open []core.Frame) (at []core.Millis, err error) {
	known, err := recordItem.At(s.Tx, lo.Map(open, func(f core.Frame, _ int) string { return f.ID }))
	if err != nil {
		return nil, err
	}
	owners := map[string]bool{}
	for _, frame := range open {
		switch item, is := known[frame.ID]; {
		case is && item.ID != "":
			at = append(at, cmp.Or(item.At, frame.CreatedAt))
		case is:
			owners[item.Owner] = true
		}
	}
	for owner := range owners {
		lists, err := recordLists.Find(s.Tx, owner)
		if err != nil {
			return nil, err
		}
		at = append(at, lists.At)
	}
	return at, nil
}

// openStatuses are those of items that are still to be done. One that its session left is blocked.
var openStatuses = []core.Status{core.InProgress, core.Planned, core.Blocked}

// Fork records that the caller's session is a fork of another one of its host. Without that one's id it is
// the only session with open items; with several, flame does not know which list its history shows.
func Fork(ctx context.Context, p *project.Project, by project.Caller, origin string) error {
	return p.Run(ctx, by, func(s *project.Op) error {
		var owners []string
		err := recordLists.Each(s.Tx, func(of string, lists evidence.Lists) error {
			session := of[strings.LastIndex(of, "/")+1:]
			if !strings.HasPrefix(of, by.Host+"/") || session == by.Session || origin != "" && session != origin || len(lists.Open()) == 0 {
				return nil
			}
			_, err := s.Tx.Session(session) // a list of another name is that of several sessions: the fork has it, too
			if err == nil {
				owners = append(owners, of)
			}
			return project.IgnoreMissing(err)
		})
		if len(owners) != 1 || err != nil || !p.Plans {
			return err
		}
		return s.Change(func(s *project.Op) error {
			return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) { mine.Forked = owners[0] })
		})
	})
}

// OpenItems returns the open items of the lists of the caller's session, those in progress first, and the
// host's ids for them, which are empty where it has none. For a fork without a list they are those of the
// list in its history, whose ids do not hold: forked is true then.
func OpenItems(s *project.Op) (open []core.Frame, ids []string, forked bool, err error) {
	if !s.Project.Plans {
		return nil, nil, false, nil
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil {
		return nil, nil, false, err
	}
	if mine.Forked != "" {
		theirs, wrong := recordLists.Find(s.Tx, mine.Forked)
		open, err := s.Tx.FramesOf(lo.Map(theirs.Open(), func(i *evidence.Item, _ int) string { return i.Frame }))
		open = slices.DeleteFunc(open, func(f core.Frame) bool { return !slices.Contains(openStatuses, f.Status) })
		slices.SortStableFunc(open, func(a, b core.Frame) int {
			return cmp.Compare(slices.Index(openStatuses, a.Status), slices.Index(openStatuses, b.Status))
		})
		return open, make([]string, len(open)), true, errors.Join(err, wrong)
	}
	if s.Session.Root == "" {
		return nil, nil, false, nil
	}
	for _, status := range openStatuses {
		found, err := s.Tx.FindFrames(project.FrameQuery{Under: s.Session.Root, Statuses: []core.Status{status}, Limit: maxItems})
		if err != nil {
			return nil, nil, false, err
		}
		known, err := recordItem.At(s.Tx, lo.Map(found, func(f core.Frame, _ int) string { return f.ID }))
		if err != nil {
			return nil, nil, false, err
		}
		for _, frame := range found {
			if item, is := known[frame.ID]; is {
				open, ids = append(open, frame), append(ids, item.ID)
			}
		}
	}
	return open, ids, false, nil
}

// openItems returns the open items of hosts' lists at a frame and directly below it and, if the frame is an
// item itself, beside it.
func openItems(s *project.Op, at string) ([]core.Frame, error) {
	var all []core.Frame
	for item := at != ""; item; {
		frame, err := s.Tx.Frame(at)
		if err != nil {
			return nil, project.IgnoreMissing(err)
		}
		below, err := openBeside(s, &frame, maxItems)
		if err != nil {
			return nil, err
		}
		all, at = append(append(all, frame), below...), frame.Parent
		if item, err = IsItem(s, frame.ID); err != nil {
			return nil, err
		}
		item = item && at != ""
	}
	return items(s, all)
}

// items returns those of frames that are items of hosts' lists.
func items(s *project.Op, frames []core.Frame) ([]core.Frame, error) {
	known, err := recordItem.At(s.Tx, lo.Map(frames, func(f core.Frame, _ int) string { return f.ID }))
	return slices.DeleteFunc(frames, func(f core.Frame) bool { return !lo.HasKey(known, f.ID) }), err
}

// sameGoal returns the first frame with a goal, perhaps in other words; nil without one.
func sameGoal(frames []core.Frame, goal string) *core.Frame {
	at := slices.IndexFunc(frames, func(f core.Frame) bool { return evidence.SameGoal(f.Goal, goal) })
	if at < 0 {
		return nil
	}
	return &frames[at]
}

// waits records whether an item waits for the frames below it, and its summary then.
func waits(s *project.Op, frame string, is bool, summary string) error {
	item, err := recordItem.Find(s.Tx, frame)
	if err != nil || item.Waits == is {
		return err
	}
	item.Waits, item.Summary = is, summary
	return recordItem.Save(s.Tx, frame, item)
}

// endWaiting completes the frame of an item that only waited for the frames below it.
func endWaiting(s *project.Op, id string) error {
	item, err := recordItem.Find(s.Tx, id)
	if err != nil || !item.Waits {
		return err
	}
	frame, err := s.Tx.Frame(id)
	if err != nil || !frame.IsOpen() {
		return project.IgnoreMissing(err)
	}
	if open, err := Children(s, id, core.InProgress); len(open) > 0 || err != nil {
		return err
	}
	if frame.Summary != "" {
		item.Summary = ""
	}
	return errors.Join(waits(s, id, false, ""), End(s, &frame, core.Completed, item.Summary))
}

// leaveItems blocks the items that the caller's session, which has ended, left in progress.
func leaveItems(s *project.Op) error {
	if s.Session.Root == "" {
		return nil
	}
	open, err := s.Tx.FindFrames(project.FrameQuery{Under: s.Session.Root, Statuses: []core.Status{core.InProgress}})
	if err != nil || len(open) < 2 {
		return err
	}
	left, err := items(s, slices.Clone(open))
	for _, frame := range slices.Backward(left) {
		busy := slices.ContainsFunc(open, func(f core.Frame) bool { return f.Parent == frame.ID })
		if frame.Session != s.Session.ID || frame.IsRemote() || busy {
			continue
		}
		err = errors.Join(err, End(s, &frame, core.Blocked, leftItem), blockItem(s, frame.ID))
	}
	return err
}

// blockItem records that an item is blocked: the next call of the host that begins it is a start.
func blockItem(s *project.Op, frame string) error {
	item, err := recordItem.Find(s.Tx, frame)
	if err != nil {
		return err
	}
	return recordLists.Change(s.Tx, item.Owner, func(l *evidence.Lists) {
		for _, list := range l.All {
			if item, found := lo.Find(list.Items, func(i *evidence.Item) bool { return i.Frame == frame }); found {
				item.Status = evidence.ItemBlocked
			}
		}
	})
}
