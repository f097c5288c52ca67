package converge

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// An Entry is one line of merged trajectories: an event, what an agent said, or
// the mark of a conflict.
type Entry struct {
	TS         core.Millis `json:"ts"`
	SubagentID string      `json:"subagent_id,omitempty"` // whose event or words it is; empty for a mark
	Event      *core.Event `json:"event,omitempty"`
	Said       *core.Part  `json:"said,omitempty"` // its words, or its tool call
	Conflict   *Mark       `json:"conflict,omitempty"`
}

// A Mark is the place where a conflict arose.
type Mark struct {
	ID          string     `json:"id"`
	Kind        Kind       `json:"kind"`
	Key         string     `json:"key"`
	SubagentIDs []string   `json:"subagent_ids"` // its sides
	Resolution  Resolution `json:"resolution,omitempty"`
	Winner      string     `json:"winner,omitempty"`
}

// Merge merges the entries of agents, keyed by subagent_id, into one stream:
// ordered by time, each entry tagged with its agent, and a mark for each
// conflict after the last entry of any of its sides. Words of an agent at the
// same time keep their order, independent of its events. Equal input gives an
// equal stream.
func Merge(told map[string][]Entry, conflicts []Conflict) []Entry {
	var stream []Entry
	for _, subagentID := range slices.Sorted(maps.Keys(told)) {
		for _, entry := range told[subagentID] {
			entry.SubagentID = subagentID
			stream = append(stream, entry)
		}
	}
	slices.SortStableFunc(stream, inTime)
	marks := map[int][]Entry{} // by the number of entries before them
	for _, c := range conflicts {
		at := lastOf(stream, c)
		marks[at] = append(marks[at], Entry{TS: lo.LastOrEmpty(stream[:at]).TS, Conflict: &Mark{
			ID: c.ID, Kind: c.Kind, Key: c.Key, Resolution: c.Resolution, Winner: c.Winner,
			SubagentIDs: lo.Map(c.Sides, func(s Side, _ int) string { return s.SubagentID }),
		}})
	}
	merged := slices.Clone(marks[0])
	for i, entry := range stream {
		merged = append(append(merged, entry), marks[i+1]...)
	}
	return merged
}

// inTime orders entries by time; within a millisecond events come first, in the
// order of the log, then words, by agent.
func inTime(a, b Entry) int {
	x, y := lo.FromPtr(a.Event), lo.FromPtr(b.Event)
	return cmp.Or(
		cmp.Compare(a.TS, b.TS),
		cmp.Compare(lo.Ternary(a.Event == nil, 1, 0), lo.Ternary(b.Event == nil, 1, 0)),
		cmp.Compare(x.Seq, y.Seq),
		cmp.Compare(a.SubagentID, b.SubagentID),
		cmp.Compare(x.Event, y.Event),
		bytes.Compare(x.Data, y.Data),
	)
}

// lastOf returns how many entries of a stream precede the mark of c; all of
// them if none is from its sides.
func lastOf(stream []Entry, c Conflict) int {
	_, at, ok := lo.FindLastIndexOf(stream, func(e Entry) bool {
		return slices.ContainsFunc(c.Sides, func(s Side) bool { return s.SubagentID == e.SubagentID })
	})
	if !ok {
		return len(stream)
	}
	return at + 1
}

// milestones are the events of an agent in a trajectory. The agent's own words are between
// them.
var milestones = []string{core.SubagentSpawned, core.SubagentRetry, core.FrameUpdated, core.SubagentStop}

// Trajectory returns the words, tool calls and milestones of the agents of a convergence in
// one stream, with a mark where each conflict arose. If the output of an agent was deleted,
// the stream has only its events.
func (all Convergences) Trajectory(ctx context.Context, c Convergence) ([]Entry, error) {
	runs, told := map[string]record.Agent{}, map[string][]Entry{}
	err := all.Project.Store.View(ctx, func(tx project.Tx) error {
		for _, id := range c.Result.Inputs {
			run, err := record.Find(tx, id)
			if err != nil {
				return err
			}
			events, err := tx.FindEvents(project.EventQuery{SubagentID: id, Kinds: milestones})
			if err != nil {
				return err
			}
			runs[id] = run
			told[id] = lo.Map(events, func(e core.Event, _ int) Entry { return Entry{TS: e.TS, Event: &e} })
		}
		return nil
	})
	for id, run := range runs {
		told[id] = append(told[id], all.said(run)...)
	}
	return Merge(told, c.Result.Conflicts), err
}

// said returns the words and calls of an agent from its log. A message without a time gets the
// time of the previous message.
func (all Convergences) said(run record.Agent) (entries []Entry) {
	at := run.CreatedAt
	for m := range record.Messages(all.Data, run, all.Hosts) {
		at = max(at, m.Time)
		for _, part := range m.Parts {
			if m.Role == core.RoleAssistant && (part.Type == core.PartText || part.Type == core.PartToolCall) {
				entries = append(entries, Entry{TS: at, Said: &part})
			}
		}
	}
	return entries
}
