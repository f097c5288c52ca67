package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/project"
	"flame/project/usage"
)

// latest is how many frames that changed last a TodayOf reads, and how many open ones.
const latest = 500

// TodayOf returns how a project stands. It reads the frames that changed last and those that are open,
// so that it takes no longer with many frames.
func TodayOf(ctx context.Context, p *project.Project, known hosts.Registry) (Today, error) {
	b := New(p.Store, p.Now, known)
	b.seen.latest = latest
	_, err := b.Read(ctx)
	return b.today, err
}

// latestFrames returns the frames that changed last and the latest open ones, with those above them.
func latestFrames(tx project.Tx, limit int) ([]core.Frame, error) {
	frames, err := tx.FindFrames(project.FrameQuery{Order: project.RecentFirst, Limit: limit})
	if err != nil {
		return nil, err
	}
	open, err := tx.FindFrames(project.FrameQuery{Statuses: []core.Status{core.InProgress, core.Blocked}, Order: project.RecentFirst, Limit: limit})
	if err != nil {
		return nil, err
	}
	frames = lo.UniqBy(append(frames, open...), func(f core.Frame) string { return f.ID })
	met := lo.SliceToMap(frames, func(f core.Frame) (string, bool) { return f.ID, true })
	for i := 0; i < len(frames) && i < 4*limit; i++ {
		if up := frames[i].Parent; up != "" && !met[up] {
			met[up] = true
			above, err := tx.Frame(up)
			if project.IgnoreMissing(err) != nil {
				return nil, err
			}
			if err == nil {
				frames = append(frames, above)
			}
		}
	}
	return frames, nil
}

// The limits of what a board says of frames beside their rows.
const (
	maxLooked   = 300 // frames that changed last, and updates among which it looks for decisions
	maxDecided  = 12
	maxDecision = 300 // characters of one
)

// readTexts reads the latest summaries and decisions, and what folding left out, if they may have changed.
func (r *readResult) readTexts(tx project.Tx) error {
	if !r.begins && len(r.events)+len(r.frames)+len(r.gone) == 0 {
		return nil
	}
	frames, err := tx.FindFrames(project.FrameQuery{Order: project.RecentFirst, Limit: maxLooked})
	if err != nil {
		return err
	}
	r.said = lo.SliceToMap(frames, func(f core.Frame) (id, text string) { return f.ID, core.OneLine(f.Summary, maxGoal) })
	if r.decided, err = decisions(tx, frames); err != nil {
		return err
	}
	r.folded, err = folded(tx)
	return err
}

// folded says what folding left out of all requests: bytes where a gateway measured them, else what is
// estimated of their messages; empty for nothing.
func folded(tx project.Tx) (string, error) {
	measured, err := usage.ByClass(tx)
	if sum := usage.Sum(measured); sum.BytesSaved() > 0 || err != nil {
		return fmt.Sprintf("folding left out %s of %s", core.Size(sum.BytesSaved()), core.Size(sum.BytesReceived)), err
	}
	estimated, err := usage.RequestsByHost(tx, nil) // their sum needs no sessions
	var sum fold.Meter
	for _, m := range estimated {
		sum = sum.Add(m.Meter)
	}
	if sum.LeftOut <= 0 {
		return "", err
	}
	return fmt.Sprintf("folding left out about %s of messages, %s", core.Tokens(sum.LeftOut), core.Less(sum.ShrinkFactor())), err
}

// decisions returns the newest decisions among the last updates of frames, and then those of frames: no event
// says when they were made, as it was dropped, has many others after it, or was on another machine.
func decisions(tx project.Tx, frames []core.Frame) ([]Item, error) {
	list := []Item{}
	add := func(f core.Frame, text string, at core.Millis) {
		i := Item{Sign: "decision", Text: core.OneLine(text, maxDecision), Above: lo.Compact([]string{core.OneLine(f.Goal, maxGoal)}), Frame: f.ID, At: at}
		known := slices.ContainsFunc(list, func(k Item) bool { return k.Frame == i.Frame && k.Text == i.Text })
		if text != "" && len(list) < maxDecided && !known {
			list = append(list, i)
		}
	}
	updates, err := tx.FindEvents(project.EventQuery{Kinds: []string{core.FrameUpdated}, Last: true, Limit: maxLooked})
	for _, e := range slices.Backward(updates) {
		var said struct {
			Decision string `json:"decisions"`
		}
		if json.Unmarshal(e.Data, &said) != nil || said.Decision == "" { // data of another form says nothing here
			continue
		}
		frame, err := tx.Frame(e.Frame)
		if project.IgnoreMissing(err) != nil {
			return list, err
		}
		frame.ID = e.Frame
		add(frame, said.Decision, e.TS)
	}
	for _, f := range frames {
		for _, text := range slices.Backward(f.Decisions) {
			add(f, text, 0)
		}
	}
	return list, err
}
