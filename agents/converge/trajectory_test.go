package converge_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/converge"
	"flame/core"
)

// told returns merged trajectories, one entry a word.
func told(entries []converge.Entry) (all []string) {
	for _, e := range entries {
		if e.Conflict != nil {
			all = append(all, fmt.Sprintf("%d:%s%v", e.TS, e.Conflict.ID, e.Conflict.SubagentIDs))
			continue
		}
		if e.Said != nil {
			all = append(all, fmt.Sprintf("%d:%s:%q", e.TS, e.SubagentID, e.Said.Text))
			continue
		}
		all = append(all, fmt.Sprintf("%d:%s:%s", e.TS, e.SubagentID, e.Event.Event))
	}
	return all
}

func TestMergeTrajectories(t *testing.T) {
	event := func(ts core.Millis, seq int64, name string) converge.Entry {
		return converge.Entry{TS: ts, Event: &core.Event{TS: ts, Seq: seq, Event: name}}
	}
	said := func(ts core.Millis, text string) converge.Entry {
		return converge.Entry{TS: ts, Said: &core.Part{Type: core.PartText, Text: text}}
	}
	conflict := func(id string, sides ...string) converge.Conflict {
		c := converge.Conflict{ID: id}
		for _, side := range sides {
			c.Sides = append(c.Sides, converge.Side{SubagentID: side})
		}
		return c
	}
	events := map[string][]converge.Entry{
		"a1": {event(30, 9, "stop"), event(10, 1, "start")},
		"a2": {event(20, 2, "start"), event(40, 4, "stop")},
		"a3": {event(20, 3, "start"), event(50, 5, "stop")},
		"a4": {},
	}
	tests := map[string]struct {
		events    map[string][]converge.Entry
		conflicts []converge.Conflict
		want      []string
	}{
		"nothing gives nothing": {nil, nil, nil},
		"events stand in the order of time, then of the log": {events, nil,
			[]string{"10:a1:start", "20:a2:start", "20:a3:start", "30:a1:stop", "40:a2:stop", "50:a3:stop"}},
		"a mark stands behind the last event of its later side": {events, []converge.Conflict{conflict("file:x", "a1", "a2")},
			[]string{"10:a1:start", "20:a2:start", "20:a3:start", "30:a1:stop", "40:a2:stop", "40:file:x[a1 a2]", "50:a3:stop"}},
		"marks at one place keep their order": {events, []converge.Conflict{conflict("file:x", "a3", "a2"), conflict("file:y", "a1", "a3")},
			[]string{"10:a1:start", "20:a2:start", "20:a3:start", "30:a1:stop", "40:a2:stop", "50:a3:stop", "50:file:x[a3 a2]", "50:file:y[a1 a3]"}},
		"a mark whose sides left no events stands at the end": {events, []converge.Conflict{conflict("file:x", "a4", "a5")},
			[]string{"10:a1:start", "20:a2:start", "20:a3:start", "30:a1:stop", "40:a2:stop", "50:a3:stop", "50:file:x[a4 a5]"}},
		"words stand between the events, in the order in which they were said": {
			map[string][]converge.Entry{
				"a2": {said(20, "z"), said(20, "y"), event(20, 4, "start"), said(30, "end")},
				"a1": {event(10, 1, "start"), said(20, "x"), event(30, 5, "stop")},
			},
			[]converge.Conflict{conflict("file:x", "a1", "a2")},
			[]string{"10:a1:start", "20:a2:start", `20:a1:"x"`, `20:a2:"z"`, `20:a2:"y"`, "30:a1:stop", `30:a2:"end"`, "30:file:x[a1 a2]"}},
		"a mark without any event stands alone": {nil, []converge.Conflict{conflict("file:x", "a1", "a2")},
			[]string{"0:file:x[a1 a2]"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, told(converge.Merge(tt.events, tt.conflicts)))
		})
	}
}

func TestMergedEventsKeepTheirContent(t *testing.T) {
	said := core.Event{V: core.EventVersion, TS: 7, Event: "TranscriptEvent", Data: json.RawMessage(`{"tool":"Read"}`)}
	merged := converge.Merge(map[string][]converge.Entry{"a1": {{TS: 7, Event: &said}}}, nil)
	assert.Equal(t, []converge.Entry{{TS: 7, SubagentID: "a1", Event: &said}}, merged)
}
