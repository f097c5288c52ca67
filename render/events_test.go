package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestEachKindOfEventHasWords(t *testing.T) {
	for _, kind := range core.EventKinds {
		assert.NotContains(t, EventWords(core.Event{Event: kind}), kind)
	}
	assert.Len(t, eventTexts(), len(core.EventKinds))
}

func TestAnEventNamesItsMachine(t *testing.T) {
	for data, want := range map[string]string{
		`{"status": "failed", "machine": "laptop-x7k2"}`:       "ended (failed: @laptop-x7k2)",
		`{"machine": "laptop-x7k2"}`:                           "ended (@laptop-x7k2)",
		`{"machine": "laptop-x7k2", "fields": ["decisions"]}`:  "changed (decisions: @laptop-x7k2)",
		`{"from": "planned", "fromMachine": "laptop-x7k2"}`:    "taken up (from @laptop-x7k2)",
		`{"machine": "tower-1", "fromMachine": "laptop-x7k2"}`: "opened again (@tower-1: from @laptop-x7k2)",
	} {
		kind := map[string]string{"e": core.FrameCompleted, "c": core.FrameUpdated, "t": core.FrameActivated, "o": core.FrameReopened}[want[:1]]
		assert.Equal(t, want, EventWords(core.Event{Event: kind, Data: []byte(data)}))
	}
}

func TestAnEventFitsItsLine(t *testing.T) {
	e := core.Event{Seq: 12, Event: core.FrameCompleted, TS: 1, Frame: "frame-k3x9a1b2", Data: []byte(`{"status": "completed"}`)}
	goal := "Fix the login, and whatever else is wrong with sessions"
	assert.Contains(t, Event(e, goal, 0, 0), `frame-k3x9a1b2: ended (completed) "`+goal+`"`)
	narrow := Event(e, goal, 0, 80)
	assert.LessOrEqual(t, len([]rune(narrow)), 80)
	assert.Contains(t, narrow, `frame-k3x9a1b2: ended (completed) "Fix`)
	e.Event, e.Data = core.RequestAnswered, []byte(`{"class": "main", "status": 200, "out": 1200000, "cost": 0.019404000000000001}`)
	assert.Contains(t, Event(e, "", 0, 0), "a request to the model (main: 200: 1.2 M tokens out: $0.02)")
	e.Event, e.Data = core.FrameCompleted, []byte("what is no JSON")
	assert.Contains(t, Event(e, "", 0, 80), "frame-k3x9a1b2: ended")
	e.Frame, e.Event, e.SubagentID = "", "OfTomorrow", ""
	assert.Regexp(t, `^12 \S+ OfTomorrow$`, Event(e, "", 0, 80))
}
