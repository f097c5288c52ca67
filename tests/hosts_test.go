package tests

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// The work that one client starts and another finishes.
const (
	parserGoal  = "Write the parser"
	tokensGoal  = "Tokenise the input"
	printerGoal = "Write the printer"
)

var planned = regexp.MustCompile(`plan-[a-z0-9]{8}`)

// begins plans and activates a frame, pushes and pops another inside it, plans a third, and stops.
var begins = []model.Turn{
	calls("flame_plan_children", map[string]any{"children": []string{parserGoal}}),
	{From: func(r model.Request) model.Turn {
		return calls("flame_activate", map[string]any{"sessionID": planned.FindString(r.LastResult())})
	}},
	calls("flame_push", map[string]any{"goal": tokensGoal}),
	calls("flame_pop", map[string]any{"status": "completed", "summary": "Tokens come as a stream"}),
	calls("flame_plan_children", map[string]any{"children": []string{printerGoal}}),
	calls("flame_tree", nil),
	{Text: "That is all for today."},
}

// ends takes over the frame in progress and the planned frame of begins.
func ends(parserID, writerID string) []model.Turn {
	return []model.Turn{
		calls("flame_activate", map[string]any{"sessionID": parserID}),
		calls("flame_activate", map[string]any{"sessionID": writerID}),
		calls("flame_pop", map[string]any{"status": "completed", "summary": "It prints what was parsed"}),
		calls("flame_pop", map[string]any{"status": "completed", "summary": "Parser and printer agree", "frameID": parserID}),
		calls("flame_tree", nil),
		{Text: "Finished."},
	}
}

func calls(tool string, input map[string]any) model.Turn {
	return model.Turn{Tools: []model.Tool{{Name: tool, Input: input}}}
}

func TestOneClientTakesOverAnothersWork(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ first, second string }{
		"OpenCode from Claude Code": {claudeCode, openCode},
		"Claude Code from OpenCode": {openCode, claudeCode},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, claudeCode, openCode)
			u.must(u.flame, "setup")

			u.model.Play(model.Script{{Name: "first", Turns: begins}})
			u.ask(tt.first, "Begin the work.")
			assert.Equal(t, "completed", u.frame(tokensGoal).Status)
			assert.Equal(t, "Tokens come as a stream", u.frame(tokensGoal).CompactionSummary)
			assert.Equal(t, "in_progress", u.frame(parserGoal).Status)
			assert.Equal(t, "planned", u.frame(printerGoal).Status)
			assert.Equal(t, u.frame(parserGoal).SessionID, u.frame(printerGoal).ParentSessionID)
			assert.Equal(t, u.frame(parserGoal).SessionID, u.frame(tokensGoal).ParentSessionID)
			left := u.frame(parserGoal).Session

			u.model.Play(model.Script{{Name: "second", Turns: ends(u.frame(parserGoal).SessionID, u.frame(printerGoal).SessionID)}})
			u.ask(tt.second, "End the work.")
			assert.Equal(t, "completed", u.frame(printerGoal).Status)
			assert.Equal(t, "completed", u.frame(parserGoal).Status)
			assert.Equal(t, "Parser and printer agree", u.frame(parserGoal).CompactionSummary)
			assert.NotEqual(t, left, u.frame(parserGoal).Session, "the frame belongs to the session that took it over")

			requests := u.model.By("second")
			require.NotEmpty(t, requests)
			tree := requests[len(requests)-1].LastResult()
			for _, goal := range []string{parserGoal, tokensGoal, printerGoal} {
				assert.Contains(t, tree, goal)
				assert.Contains(t, u.must(u.flame, "tree"), goal)
			}
		})
	}
}

func TestSlashCommandsLeadToTheTools(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.must(u.flame, "setup", client)
			commands := []struct {
				prompt, tool string
				input        map[string]any
				line         string // the user's; the model must see it verbatim
			}{
				{"/flame:push fix \"the login\" bug", "flame_push", map[string]any{"goal": "fix the login bug"}, "login"},
				{"/flame:pop completed it works again", "flame_pop", map[string]any{"status": "completed", "frameID": "?"}, "it works again"},
				{"/flame:status", "flame_status", nil, ""},
			}
			for _, c := range commands {
				if c.input["frameID"] != nil {
					c.input["frameID"] = u.frame("fix the login bug").SessionID
				}
				u.model.Play(model.Script{{Name: c.tool, Where: model.FirstUser, Match: regexp.MustCompile(c.tool), Turns: []model.Turn{calls(c.tool, c.input)}}})
				u.ask(client, c.prompt)
				requests := u.model.By(c.tool)
				require.Len(t, requests, 2, "%s: the command's text names the tool, and the tool was run", c.prompt)
				assert.Contains(t, requests[0].FirstUser(), c.line)
			}
			assert.Equal(t, "completed", u.frame("fix the login bug").Status)
		})
	}
}

func TestRegisteredByHand(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.byHand(client)
			u.model.Play(model.Script{{Name: "main", Turns: []model.Turn{calls("flame_push", map[string]any{"goal": parserGoal})}}})
			u.ask(client, "Begin the work.")
			assert.Equal(t, "in_progress", u.frame(parserGoal).Status)
		})
	}
}

func TestClientsPassSettingsOn(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			data := t.TempDir()
			u.env = append(u.env, "FLAME_DIR="+data)
			u.must(u.flame, "setup", client)
			u.model.Play(model.Script{{Name: "main", Turns: []model.Turn{calls("flame_push", map[string]any{"goal": parserGoal})}}})
			u.ask(client, "Begin the work.")
			assert.Equal(t, data, filepath.Dir(u.data()))
			assert.FileExists(t, filepath.Join(u.data(), "flame.db"))
			assert.NoDirExists(t, u.project+"/.flame")
		})
	}
}
