package tests

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// A piece of work goes from Claude Code to Codex and back; each continues where the other stopped.
func TestWorkGoesOnInAnotherHost(t *testing.T) {
	t.Parallel()
	u := ready(t, codex, claudeCode)

	u.model.Play(model.Script{{Name: "first", Turns: []model.Turn{
		{Tools: []model.Tool{{Name: "flame_push", Input: map[string]any{"goal": "a big piece"}}}},
		{Tools: []model.Tool{{Name: "flame_push", Input: map[string]any{"goal": "its first half"}}}},
		{Tools: []model.Tool{{Name: "flame_pop", Input: map[string]any{"status": "completed", "summary": "HALF-DONE", "decisions": []string{"THE-WAY: because"}}}}},
		{Text: "no tokens are left"},
	}}})
	u.ask(claudeCode, "FIRSTWORK please")
	piece := u.frame("a big piece")

	next := func(name, half string) model.Script {
		return model.Script{{Name: name, Match: regexp.MustCompile(piece.SessionID), Where: model.FirstUser, Turns: []model.Turn{
			{Tools: []model.Tool{{Name: "flame_activate", Input: map[string]any{"sessionID": piece.SessionID, "force": true}}}},
			{Tools: []model.Tool{{Name: "flame_push", Input: map[string]any{"goal": half}}}},
			{Tools: []model.Tool{{Name: "flame_pop", Input: map[string]any{"status": "completed", "summary": half + " works"}}}},
			{Text: "it goes on"},
		}}}
	}
	u.model.Play(next("second", "its second half"))
	session := u.exec(u.handedOver(piece.SessionID))
	asked := u.model.By("second")
	require.NotEmpty(t, asked)
	assert.Contains(t, asked[0].FirstUser(), "HALF-DONE")
	assert.Contains(t, asked[0].FirstUser(), "THE-WAY")
	assert.Contains(t, asked[1].LastResult(), "a big piece", "the answer has the context of the frame")
	assert.Equal(t, piece.SessionID, u.frame("its second half").ParentSessionID)
	assert.Equal(t, session, u.frame("a big piece").Session)

	u.model.Play(next("third", "the last touch"))
	u.ask(claudeCode, u.handedOver(piece.SessionID))
	asked = u.model.By("third")
	require.NotEmpty(t, asked)
	assert.Contains(t, asked[0].FirstUser(), "its second half works")
	assert.Equal(t, piece.SessionID, u.frame("the last touch").ParentSessionID)
}

// handedOver returns the first prompt of a session that continues the given frame.
func (u *user) handedOver(frame string) string {
	var left struct{ Frame, Text string }
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "continue", "--json")), &left))
	assert.Equal(u.t, frame, left.Frame)
	return left.Text
}

// TestASessionBeginsWithTheWorkOfAnother starts the real client at a terminal.
func TestASessionBeginsWithTheWorkOfAnother(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "push", "a big piece")
	u.must(u.flame, "setup", claudeCode)
	u.settled()
	u.model.Play(model.Script{{Name: "next", Match: regexp.MustCompile("THE-TESTS-FIRST"), Where: model.FirstUser, Turns: []model.Turn{{Text: "SEEN-IT"}}}})
	term := u.interactive(u.flame, "continue", claudeCode, "THE-TESTS-FIRST")
	term.shows("SEEN-IT")
	term.leave()
	assert.Contains(t, u.model.By("next")[0].FirstUser(), "a big piece")
}
