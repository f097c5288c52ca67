package tests

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/model"
)

// codex has Codex work on a prompt behind a gateway, and returns the id of the session.
func (u *user) codex(args ...string) (session string) {
	out := u.must(u.flame, append([]string{"codex", "exec", "--json", "--skip-git-repo-check"}, args...)...)
	found := thread.FindStringSubmatch(out)
	require.NotNil(u.t, found, out)
	return found[1]
}

// codexPiece returns the turns of a frame with so many rounds, whose outputs contain the word.
func codexPiece(word string, rounds int) (turns []model.Turn) {
	turns = append(turns, calls("flame_push", map[string]any{"goal": "piece " + word}))
	for range rounds {
		turns = append(turns, codexShell("IN-"+word))
	}
	return append(turns, calls("flame_pop", map[string]any{"status": "completed", "summary": word + "-SUMMARY"}))
}

// codexShell returns two calls at once of Codex's shell, which print a word and a long text.
func codexShell(word string) model.Turn {
	prints := model.Tool{Name: "exec_command", Input: map[string]any{"cmd": "head -c 4000 /dev/zero | tr '\\0' x; echo " + word}}
	return model.Turn{Tools: []model.Tool{prints, prints}}
}

// thinking has each turn think.
func thinking(turns []model.Turn) []model.Turn {
	for i := range turns {
		turns[i].Thinking = "let me see"
	}
	return turns
}

// A session with two subagents at once, each of which works in a frame of its own, and an agent.
func TestCodexSubagentsAndAgentsPassAGateway(t *testing.T) {
	t.Parallel()
	u := ready(t, codex)
	u.env = append(u.env, "FLAME_GATEWAY_FOLD=on", "FLAME_AGENT_HOST=codex")
	u.allowSpawn()
	of := func(name string, turns ...model.Turn) model.Actor {
		return model.Actor{Name: name, Match: regexp.MustCompile(name), Where: model.FirstUser, Turns: thinking(turns)}
	}
	works := func(name, last string) model.Actor {
		return of(name, inOrder([]model.Turn{calls("flame_push", map[string]any{"goal": "inside " + name})},
			slices.Repeat([]model.Turn{codexShell("IN-" + name)}, 3),
			[]model.Turn{calls("flame_pop", map[string]any{"status": "completed", "summary": name + " is clear"}), codexShell("AFTER"), {Text: last}})...)
	}
	spawn := mcpTool("spawn_agent", map[string]any{"subagent_type": "builder", "prompt": "BUILDIT", "background": false})
	u.model.Play(model.Script{
		works("BUILDIT", "AGENT-RESULT"), // its context names the others
		works("SUBONE", "SUBONE is over"), works("SUBTWO", "SUBTWO is over"),
		of("MAINWORK",
			model.Turn{Tools: []model.Tool{mcpTool("flame_push", map[string]any{"goal": "a piece"})}, Usage: model.Usage{Input: 600, Output: 7, CacheRead: 400}},
			model.Turn{Tools: []model.Tool{sub("SUBONE: look at one"), sub("SUBTWO: look at two")}},
			model.Turn{From: func(model.Request) model.Turn {
				u.completes("SUBONE: look at one", "SUBTWO: look at two")
				return model.Turn{Tools: []model.Tool{spawn}}
			}},
			calls("flame_pop", map[string]any{"status": "completed", "summary": "all seen"}),
			model.Turn{Text: "it is done", Usage: model.Usage{Input: 500, Output: 3}}),
	})
	root, _ := u.isPair(u.codex("MAINWORK please"))
	assert.Empty(t, u.refusals())
	for _, name := range []string{"SUBONE", "SUBTWO", "BUILDIT"} {
		assert.NotContains(t, u.newestOf(name).Everything(), "IN-"+name)
	}
	assert.Contains(t, u.model.By("MAINWORK")[3].LastResult(), "AGENT-RESULT")
	u.countsCodex()
	assert.Regexp(t, `1.1 k tokens in, 10 out, 400 cache read`, u.must(u.flame, "show", root.SessionID))
}

func TestCodexCompactsBehindAGateway(t *testing.T) {
	t.Parallel()
	u := ready(t, codex)
	u.env = append(u.env, "FLAME_GATEWAY_FOLD=on")
	full := model.Turn{Text: "one", Usage: model.Usage{Input: 60_000, Output: 5}}
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "WHAT-WAS-DONE"}}},
		{Name: "main", Turns: thinking(inOrder(
			codexPiece("A", 3), []model.Turn{full}, // FIRST
			codexPiece("B", 3), []model.Turn{{Text: "two"}}, // SECOND, after a compaction
			[]model.Turn{{Text: "three"}},
		))},
	})
	limited := []string{"-c", "model_auto_compact_token_limit=50000"}
	session := u.codex(append(limited, "FIRST please")...)
	u.codex(append([]string{"resume", session, "SECOND please"}, limited...)...)
	u.codex("resume", session, "THIRD please")
	assert.Empty(t, u.refusals())
	assert.NotContains(t, u.newestOf("summary").Everything(), "IN-A", "the request for a summary is folded as well")
	last := u.newestOf("main").Everything()
	for _, words := range []string{"WHAT-WAS-DONE", "FIRST please", "SECOND please", "THIRD please"} {
		assert.Contains(t, last, words)
	}
	assert.NotContains(t, last, "IN-B")
	u.countsCodex()
}

// countsCodex checks that flame counts each answer once, as the model did: in the log and in the
// gateway.
func (u *user) countsCodex() {
	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
	measured, requests := core.Usage{}, 0
	for _, m := range told.Metered {
		measured, requests = measured.Add(m.Usage), requests+m.Requests
	}
	assert.Equal(u.t, len(u.model.Requests()), requests)
	assert.Positive(u.t, measured.TokensIn)
	told.Usage.ToolCalls = 0
	assert.Equal(u.t, measured, told.Usage, "each answer once")
}
