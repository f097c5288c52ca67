package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestEachKindOfEventIsToldInWords(t *testing.T) {
	t.Parallel()
	for _, kind := range core.EventKinds {
		assert.NotContains(t, eventWords(core.Event{Event: kind}), kind)
	}
	assert.Len(t, eventTexts, len(core.EventKinds))
}

func TestAnEventFitsItsLine(t *testing.T) {
	t.Parallel()
	e := core.Event{Seq: 12, Event: core.FrameCompleted, Frame: "frame-k3x9a1b2", Data: []byte(`{"status": "completed"}`)}
	goal := "Fix the login, and whatever else is wrong with sessions"
	assert.Contains(t, Event(e, goal, 0), `frame-k3x9a1b2: ended (completed) "`+goal+`"`)
	narrow := Event(e, goal, 80)
	assert.LessOrEqual(t, len([]rune(narrow)), 80)
	assert.Contains(t, narrow, `frame-k3x9a1b2: ended (completed) "Fix`)
	e.Event, e.Data = core.RequestAnswered, []byte(`{"class": "main", "status": 200, "out": 1200000, "cost": 0.019404000000000001}`)
	assert.Contains(t, Event(e, "", 0), "a request to the model (main: 200: 1200000 tokens out: 0.0194 USD)")
	e.Event, e.Data = core.FrameCompleted, []byte("what is no JSON")
	assert.Contains(t, Event(e, "", 80), "frame-k3x9a1b2: ended")
	e.Frame, e.Event, e.SubagentID = "", "OfTomorrow", ""
	assert.Regexp(t, `^12 \S+ \S+ OfTomorrow$`, Event(e, "", 80))
}
