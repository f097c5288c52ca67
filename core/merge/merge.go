package merge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"flame/core"
)

// Merge merges two documents of one frame. The result does not depend on the order of documents,
// or on how often one is merged.
func Merge(a, b Doc) Doc {
	switch {
	case a.ID == "":
		return b
	case b.ID == "":
		return a
	}
	return Doc{
		V: max(a.V, b.V), ID: a.ID, CreatedAt: earliest(a.CreatedAt, b.CreatedAt), UpdatedAt: max(a.UpdatedAt, b.UpdatedAt),
		Work:      latest(a.Work, b.Work, cmp.Or(cmp.Compare(a.Work.Term, b.Work.Term), a.Work.Stamp.Compare(b.Work.Stamp))),
		Artifacts: union(a.Artifacts, b.Artifacts), Decisions: union(a.Decisions, b.Decisions), Planned: union(a.Planned, b.Planned),
		Invalid:  invalid(a.Invalid, b.Invalid),
		Archived: latest(a.Archived, b.Archived, a.Archived.Stamp.Compare(b.Archived.Stamp)),
		Deleted:  latest(a.Deleted, b.Deleted, a.Deleted.Compare(b.Deleted)),
		Usage:    spent(a.Usage, b.Usage),
	}
}

// earliest returns the earlier of two times. Each may be unset.
func earliest(a, b core.Millis) core.Millis {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}

// latest returns the value that comes last. order compares a with b, by their stamps at least.
// Different values with the same stamp are ordered by their bytes; they occur after a machine's data
// were restored from an older copy.
func latest[T any](a, b T, order int) T {
	if order == 0 {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		order = bytes.Compare(x, y)
	}
	if order >= 0 {
		return a
	}
	return b
}

func invalid(a, b *Invalidation) *Invalidation {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(latest(*a, *b, a.Stamp.Compare(b.Stamp)))
}

// union returns the elements of both sets, each with its earliest stamp, in order of stamps. It
// keeps the first maxSet of them, so that Parse accepts the result.
func union(a, b []Entry) []Entry {
	first := make(map[string]Timestamp, len(a)+len(b))
	for _, e := range slices.Concat(a, b) {
		if at, known := first[e.Text]; !known || e.Stamp.Compare(at) < 0 {
			first[e.Text] = e.Stamp
		}
	}
	var all []Entry
	for text, at := range first {
		all = append(all, Entry{text, at})
	}
	slices.SortFunc(all, byStamp)
	return all[:min(len(all), maxSet)]
}

// byStamp orders the elements of a set.
func byStamp(x, y Entry) int {
	return cmp.Or(x.Stamp.Compare(y.Stamp), strings.Compare(x.Text, y.Text))
}

func spent(a, b map[string]MachineUsage) map[string]MachineUsage {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	all := make(map[string]MachineUsage, len(a)+len(b))
	for _, each := range []map[string]MachineUsage{a, b} {
		for machine, s := range each {
			if was, known := all[machine]; known {
				s = latest(was, s, was.Stamp.Compare(s.Stamp))
			}
			all[machine] = s
		}
	}
	return all
}
