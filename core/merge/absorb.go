package merge

import (
	"maps"
	"math"

	"flame/core"
)

// Absorb returns the document of a frame as it now is in a machine's store; was is the
// document that the store had when they last agreed, the zero Doc if there was none. What
// differs is what this machine did since, and gets stamps of its own by tick; without a
// difference was is returned. Only the machine that a frame belongs to can have worked in
// it: of the others' frames the rest counts.
func Absorb(was Doc, f core.Frame, machine string, tick func() Stamp) Doc {
	d := was
	d.V, d.ID = Version, f.ID
	if was.ID == "" {
		d.CreatedAt = f.CreatedAt
	}
	if f.Machine == "" {
		d.Work = absorbWork(was, f, machine, tick)
	}
	d.Artifacts = absorbSet(was.Artifacts, f.Artifacts, tick)
	d.Decisions = absorbSet(was.Decisions, f.Decisions, tick)
	d.Planned = absorbSet(was.Planned, f.PlannedChildren, tick)
	if f.Status == core.Invalidated && (was.Invalid == nil || was.Invalid.Reason != f.InvalidationReason || was.Invalid.At != f.InvalidatedAt) {
		d.Invalid = &Invalidation{f.InvalidationReason, f.InvalidatedAt, tick()}
	}
	if f.ArchivedAt != was.Archived.At {
		d.Archived = Archived{f.ArchivedAt, tick()}
	}
	if own := f.Usage.Minus(was.used(machine)); !sameUsage(own, was.Usage[machine].Usage) {
		d.Usage = maps.Clone(was.Usage)
		if d.Usage == nil {
			d.Usage = map[string]Spent{}
		}
		d.Usage[machine] = Spent{own, tick()}
	}
	if was.ID != "" && d.Equal(was) {
		return was
	}
	d.UpdatedAt = max(was.UpdatedAt, f.UpdatedAt)
	return d
}

// absorbWork returns the work of a frame that belongs to machine.
func absorbWork(was Doc, f core.Frame, machine string, tick func() Stamp) Work {
	w := Work{
		Machine: machine, Term: was.Work.Term, Stamp: was.Work.Stamp,
		Parent: f.Parent, Session: f.Session, Status: f.Status, Goal: f.Goal, GoalIsDefault: f.GoalIsDefault,
		SuccessCriteria: f.SuccessCriteria, Summary: f.Summary, Results: f.Results, Confidence: f.Confidence,
		StartedAt: f.StartedAt, EndedAt: f.EndedAt,
	}
	if f.Status == core.Invalidated && was.ID != "" { // that is no work
		w.Status, w.EndedAt = was.Work.Status, was.Work.EndedAt
	}
	if was.ID != "" && was.Work.Machine != machine {
		w.Term++
	}
	if was.ID == "" || !sameWork(w, was.Work) {
		w.Stamp = tick()
		return w
	}
	return was.Work
}

func sameWork(a, b Work) bool {
	if (a.Confidence == nil) != (b.Confidence == nil) || a.Confidence != nil && *a.Confidence != *b.Confidence {
		return false
	}
	a.Confidence, b.Confidence = nil, nil
	return a == b
}

// absorbSet returns was with what list has beyond it.
func absorbSet(was []Entry, list []string, tick func() Stamp) []Entry {
	known := make(map[string]bool, len(was))
	for _, e := range was {
		known[e.Text] = true
	}
	set := was[:len(was):len(was)]
	for _, text := range list {
		if !known[text] {
			known[text] = true
			set = append(set, Entry{text, tick()})
		}
	}
	return set
}

// sameUsage compares usages; sums of fractions of a dollar differ by their order.
func sameUsage(a, b core.Usage) bool {
	cost := math.Abs(a.CostUSD - b.CostUSD)
	a.CostUSD, b.CostUSD = 0, 0
	return a == b && cost < 1e-9
}
