package converge

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/samber/lo"

	"flame/core"
)

// An Entry is one line of merged trajectories: an event, or the mark of a
// conflict.
type Entry struct {
	TS         core.Millis `json:"ts"`
	SubagentID string      `json:"subagent_id,omitempty"` // whose event it is; empty for a mark
	Event      *core.Event `json:"event,omitempty"`
	Conflict   *Mark       `json:"conflict,omitempty"`
}

// A Mark stands where a conflict came to be.
type Mark struct {
	ID          string     `json:"id"`
	Kind        Kind       `json:"kind"`
	Key         string     `json:"key"`
	SubagentIDs []string   `json:"subagent_ids"` // its sides
	Resolution  Resolution `json:"resolution,omitempty"`
	Winner      string     `json:"winner,omitempty"`
}

// Merge makes one stream of the events of agents, by subagent_id: ordered by
// time, each tagged with its agent, and a mark for each conflict behind the last
// event of any of its sides. The order of events within the lists is nothing to
// it; equal input gives an equal stream.
func Merge(events map[string][]core.Event, conflicts []Conflict) []Entry {
	var stream []Entry
	for subagentID, list := range events {
		for _, event := range list {
			stream = append(stream, Entry{TS: event.TS, SubagentID: subagentID, Event: &event})
		}
	}
	slices.SortFunc(stream, inTime)
	marks := map[int][]Entry{} // by how many events stand before them
	for _, c := range conflicts {
		at := lastOf(stream, c)
		marks[at] = append(marks[at], mark(stream[:at], c))
	}
	merged := slices.Clone(marks[0])
	for i, entry := range stream {
		merged = append(append(merged, entry), marks[i+1]...)
	}
	return merged
}

// inTime orders events: by time, those of one millisecond as they were written
// to the log, those of different logs by agent.
func inTime(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.TS, b.TS),
		cmp.Compare(a.Event.Seq, b.Event.Seq),
		cmp.Compare(a.SubagentID, b.SubagentID),
		cmp.Compare(a.Event.Event, b.Event.Event),
		bytes.Compare(a.Event.Data, b.Event.Data),
	)
}

// lastOf gives how many events of a stream stand before the mark of c; all of
// them if none is of its sides.
func lastOf(stream []Entry, c Conflict) int {
	_, at, ok := lo.FindLastIndexOf(stream, func(e Entry) bool {
		return slices.ContainsFunc(c.Sides, func(s Side) bool { return s.SubagentID == e.SubagentID })
	})
	if !ok {
		return len(stream)
	}
	return at + 1
}

// mark gives the mark of c behind the events before it, at the time of the last.
func mark(before []Entry, c Conflict) Entry {
	return Entry{
		TS: lo.LastOrEmpty(before).TS,
		Conflict: &Mark{
			ID:          c.ID,
			Kind:        c.Kind,
			Key:         c.Key,
			SubagentIDs: lo.Map(c.Sides, func(s Side, _ int) string { return s.SubagentID }),
			Resolution:  c.Resolution,
			Winner:      c.Winner,
		},
	}
}
