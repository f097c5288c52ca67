package merge

import (
	"maps"
	"math"
	"slices"

	"github.com/samber/lo"

	"flame/core"
)

// UpdateLocal returns the document of a frame as it is now in a machine's store. was is the document
// at the time when both agreed last, the zero Doc if there was none. This machine made all
// differences since then; they get new stamps from tick. Without differences UpdateLocal returns was.
// Only the machine that a frame belongs to can have changed its work, so UpdateLocal ignores the work
// of frames of other machines.
func UpdateLocal(was Doc, f core.Frame, machine string, tick func() Timestamp) Doc {
	if was.ID == "" && f.Machine != "" {
		was = secondHand(f)
	}
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
		d.Archived = ArchivedState{f.ArchivedAt, tick()}
	}
	if own := f.Usage.Minus(was.used(machine)); !sameUsage(own, was.Usage[machine].Usage, f.Usage.CostUSD) {
		d = d.withUsage(machine, MachineUsage{own, tick()})
	}
	if was.ID != "" && d.Equal(was) {
		return was
	}
	d.UpdatedAt = max(was.UpdatedAt, f.UpdatedAt)
	return d
}

// secondHand returns a document for a frame of another machine if that machine's document is
// missing here. It has no stamps, so that everything its machine says wins.
func secondHand(f core.Frame) Doc {
	none := func() Timestamp { return Timestamp{} }
	d := Doc{V: Version, ID: f.ID, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Work: workOf(f, f.Machine)}
	d.Artifacts, d.Decisions, d.Planned = absorbSet(nil, f.Artifacts, none), absorbSet(nil, f.Decisions, none), absorbSet(nil, f.PlannedChildren, none)
	if f.Usage != (core.Usage{}) {
		d = d.withUsage(f.Machine, MachineUsage{Usage: f.Usage})
	}
	return d
}

// withUsage returns the document with a new usage of one machine.
func (d Doc) withUsage(machine string, s MachineUsage) Doc {
	if d.Usage = maps.Clone(d.Usage); d.Usage == nil {
		d.Usage = map[string]MachineUsage{}
	}
	if d.Usage[machine] = s; s == (MachineUsage{}) {
		delete(d.Usage, machine)
	}
	if len(d.Usage) == 0 {
		d.Usage = nil
	}
	return d
}

// workOf returns the work of a frame that belongs to machine, without a stamp.
func workOf(f core.Frame, machine string) OwnerFields {
	return OwnerFields{
		Machine: machine, Parent: f.Parent, Session: f.Session, Status: f.Status, Goal: f.Goal, GoalIsDefault: f.GoalIsDefault,
		SuccessCriteria: f.SuccessCriteria, Summary: f.Summary, Results: f.Results, Confidence: f.Confidence,
		StartedAt: f.StartedAt, EndedAt: f.EndedAt,
	}
}

// absorbWork returns the work of a frame that belongs to machine.
func absorbWork(was Doc, f core.Frame, machine string, tick func() Timestamp) OwnerFields {
	w := workOf(f, machine)
	w.Term, w.Stamp = was.Work.Term, was.Work.Stamp
	if f.Status == core.Invalidated && was.ID != "" { // invalidating is not work
		w.Status, w.EndedAt = was.Work.Status, was.Work.EndedAt
	}
	if was.ID != "" && was.Work.Machine != machine {
		w.Term = min(w.Term+1, maxTerm) // among documents with maxTerm the latest stamp wins
	}
	if was.ID == "" || !sameWork(w, was.Work) {
		w.Stamp = tick()
		return w
	}
	return was.Work
}

func sameWork(a, b OwnerFields) bool {
	if (a.Confidence == nil) != (b.Confidence == nil) || a.Confidence != nil && *a.Confidence != *b.Confidence {
		return false
	}
	a.Confidence, b.Confidence = nil, nil
	return a == b
}

// absorbSet returns was with the additional elements of list.
func absorbSet(was []Entry, list []string, tick func() Timestamp) []Entry {
	known := lo.SliceToMap(was, func(e Entry) (string, bool) { return e.Text, true })
	set := was[:len(was):len(was)]
	for _, text := range list {
		if !known[text] {
			known[text] = true
			set = append(set, Entry{text, tick()})
		}
	}
	slices.SortStableFunc(set[len(was):], byStamp) // entries without stamps get the same order on every machine
	return set
}

// sameUsage compares usages. It allows a small difference in cost, because sums of fractions
// depend on their order; total is the cost of the frame in all.
func sameUsage(a, b core.Usage, total float64) bool {
	cost := math.Abs(a.CostUSD - b.CostUSD)
	a.CostUSD, b.CostUSD = 0, 0
	return a == b && cost <= 1e-9+1e-12*math.Abs(total)
}
