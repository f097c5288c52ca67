package turns

import (
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/stack"
)

// maxFolded limits the frames that flame looks up for one history, not counting those that
// the history names.
const maxFolded = 200

// foldFrames returns the frames that a history names, and the frames that flame started on
// its own in the session.
func foldFrames(s *project.Op, history []fold.Message) (frames []fold.Frame, err error) {
	ids := map[string]bool{}
	var order []string
	add := func(id string) {
		if !ids[id] {
			ids[id], order = true, append(order, id)
		}
	}
	for _, m := range history {
		for _, move := range m.Moves {
			add(move.Frame)
		}
	}
	begins := []string{core.FrameCreated, core.FrameActivated}
	started, err := s.Tx.FindEvents(project.EventQuery{Session: s.Session.ID, Kinds: begins, Limit: maxFolded, Last: true})
	if err != nil {
		return nil, err
	}
	unasked, err := unaskedAmong(s, started)
	if err != nil {
		return nil, err
	}
	for _, e := range started {
		if briefing.RuleOf(e) == autonomy.Rule || lo.HasKey(unasked.kinds, e.Frame) {
			add(e.Frame)
		}
	}
	known, err := s.Tx.FramesOf(order)
	if err != nil {
		return nil, err
	}
	for _, frame := range known {
		resumes, err := project.EndedWithSession(s.Tx, frame)
		if err != nil {
			return nil, err
		}
		if resumes {
			frame.Status, frame.EndedAt = core.InProgress, 0 // the end of a session is no move
		}
		kind := unasked.kinds[frame.ID]
		if kind != "" && unasked.isNeeded(frame) {
			continue
		}
		f := fold.Frame{Frame: frame, OtherSession: frame.Session != s.Session.ID, Turn: kind == ofTurn, Item: kind == ofItem}
		if !f.OtherSession {
			f.EnteredAt = frame.StartedAt
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// What made a frame for which no agent asked: a prompt of the user's, or an item of the host's list.
const ofTurn, ofItem = "turn", "item"

// unaskedFrames are frames of turns and items whose work requests may leave out.
type unaskedFrames struct {
	kinds  map[string]string // by frame
	needed []core.Millis     // when the agent made the calls that say what is open in its list
}

// unaskedAmong returns the frames of turns and items among those that began, without ones with work left below.
func unaskedAmong(s *project.Op, began []core.Event) (u unaskedFrames, err error) {
	u.kinds = map[string]string{}
	ids := lo.Map(began, func(e core.Event, _ int) string { return e.Frame })
	if s.Project.FoldTurns {
		turns, err := project.RecordTurn.At(s.Tx, ids)
		if err != nil {
			return u, err
		}
		for id := range turns {
			u.kinds[id] = ofTurn
		}
	}
	if s.Project.FoldPlans {
		items, err := stack.ItemsAmong(s, ids)
		if err != nil {
			return u, err
		}
		for _, id := range items {
			u.kinds[id] = ofItem
		}
	}
	if len(u.kinds) == 0 {
		return u, nil
	}
	open, err := s.Tx.FindFrames(project.FrameQuery{Under: s.Session.Root, Statuses: []core.Status{core.Planned, core.InProgress, core.Blocked}, Limit: maxFolded})
	if err != nil {
		return u, err
	}
	above := map[string]string{}
	for _, frame := range open {
		if frame.Status != core.Blocked {
			above[frame.ID] = frame.Parent
		}
	}
	for id := range above {
		for at, n := id, 0; at != "" && n <= len(above); at, n = above[at], n+1 { // a cycle ends
			delete(u.kinds, at)
		}
	}
	u.needed, err = stack.NeededCalls(s, open)
	return u, err
}

// isNeeded reports whether the agent made a call while it worked in a frame that says what is open in its list:
// the host's ids for items, or the items themselves. The call that ended an item stays in any case.
func (u unaskedFrames) isNeeded(frame core.Frame) bool {
	return slices.ContainsFunc(u.needed, func(at core.Millis) bool { return frame.StartedAt <= at && at < frame.EndedAt })
}
