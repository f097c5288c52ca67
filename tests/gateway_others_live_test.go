package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/model"
	"flame/transcripts"
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

// fronted has Gemini CLI work on a prompt behind a gateway, and returns the id of the session.
func (u *user) fronted(prompt string, args ...string) (session string) {
	args = append([]string{"gemini", "--prompt", prompt, "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--approval-mode", "yolo"}, args...)
	found := geminiSession.FindStringSubmatch(u.must(u.flame, args...))
	require.NotNil(u.t, found)
	return found[1]
}

// refusals returns the requests that the model's API refused.
func (u *user) refusals() (refused []error) {
	for _, r := range u.model.Requests() {
		if r.Refused != nil {
			refused = append(refused, r.Refused)
		}
	}
	return refused
}

// costs checks that flame's figures are those of the model: each answer counts once, in its frame and as
// a request.
func (u *user) costs(script model.Script) {
	want := core.Usage{}
	for _, r := range u.model.By("main") {
		said := script[0].Turns[r.Turn].Usage
		want = want.Add(core.Usage{TokensIn: int64(said.Input), TokensOut: int64(said.Output), CacheRead: int64(said.CacheRead)})
	}
	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	require.Eventually(u.t, func() bool { // flame counts the log after the session
		require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
		return told.Usage.ToolCalls == 12
	}, patience, 100*time.Millisecond)
	require.NotEmpty(u.t, told.Metered)
	assert.Equal(u.t, []any{"main", 14}, []any{told.Metered[0].Class, told.Metered[0].Requests})
	for _, figures := range []core.Usage{told.Usage, told.Metered[0].Usage} {
		assert.InDelta(u.t, transcripts.WithPrice("gemini-2.5-pro", want).CostUSD, figures.CostUSD, 1e-9)
		figures.CostUSD, figures.ToolCalls = 0, 0
		assert.Equal(u.t, want, figures)
	}
}

// By default nothing is folded; the economy's work is.
func TestGeminiBehindAGateway(t *testing.T) {
	t.Parallel()
	u := ready(t, gemini)
	work := func(word string) []model.Turn {
		print := model.Turn{Tools: []model.Tool{{Name: "run_shell_command", Input: map[string]any{"command": "echo IN-" + word, "description": "x"}}}}
		return []model.Turn{calls("flame_push", map[string]any{"goal": "piece " + word}), print, print, pop(word + "-SUMMARY")}
	}
	say := func(text string) []model.Turn { return []model.Turn{{Text: text}} }
	script := model.Script{asked("main", "FIRST", inOrder(work("A"), work("B"), say("one"), work("C"), say("two"))...)}
	for i := range script[0].Turns {
		script[0].Turns[i].Usage = model.Usage{Input: 1000 + i, Output: 20 + i, CacheRead: 300 * i}
	}
	u.model.Play(script)
	session := u.fronted("FIRST please")
	assert.Equal(t, session, u.fronted("SECOND please", "--resume", session))
	assert.Empty(t, u.refusals())
	for _, word := range []string{"A", "B", "C"} {
		assert.Contains(t, u.newestOf("main").Everything(), "IN-"+word, "nothing is left out")
	}
	u.costs(script)
}

// An agent of a session may do no more than a session whose approval mode is not known.
func TestGeminiSubagentsAndAgentsPassAGateway(t *testing.T) {
	t.Parallel()
	u := ready(t, gemini)
	u.env = append(u.env, "FLAME_GATEWAY_FOLD=on", "FLAME_AGENT_HOST=gemini")
	file := filepath.Join(u.project, "long.txt")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("much to read\n", 400)), 0o644))
	reads := model.Turn{Tools: []model.Tool{{Name: "read_file", Input: map[string]any{"file_path": file}}}}
	work := func(word string) []model.Turn {
		return []model.Turn{
			calls("flame_push", map[string]any{"goal": "piece " + word}), reads, reads,
			calls("flame_pop", map[string]any{"status": "completed", "summary": word + "-SUMMARY"}),
		}
	}
	spawn := flameTool("spawn_agent", map[string]any{"subagent_type": "builder", "prompt": "BUILDIT", "permission_mode": "bypassPermissions", "background": false})
	script := model.Script{
		asked("agent", "BUILDIT", inOrder(work("AGENT"), []model.Turn{reads, {Text: "AGENT-RESULT"}})...),
		asked("child", "SUBONE", inOrder(work("CHILD"), []model.Turn{completes("CHILD-RESULT")})...),
		asked("main", "FIRST", inOrder(work("A"), []model.Turn{{Tools: []model.Tool{invoke("SUBONE: look")}}, {Tools: []model.Tool{spawn}}, {Text: "done"}})...),
	}
	u.model.Play(script)
	u.fronted("FIRST please")
	assert.Empty(t, u.refusals())
	assert.NotContains(t, u.newestOf("main").Everything(), "much to read")
	assert.Contains(t, u.newestOf("main").Everything(), "AGENT-RESULT")
	assert.Contains(t, u.newestOf("child").Everything(), "much to read", "a subagent's requests stay whole")
	assert.NotContains(t, u.newestOf("agent").Tools, "write_file")
	results := lo.CountBy(u.newestOf("agent").Messages, func(m model.Message) bool { return strings.Contains(strings.Join(m.Results, ""), "much to read") })
	assert.Equal(t, 1, results, "the work of its finished frame is left out")

	want := map[string]int{"main": len(u.model.By("main")) + len(u.model.By("agent")), "subagent": len(u.model.By("child"))}
	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	require.Eventually(t, func() bool { // flame counts the logs after the session
		require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
		used := core.Usage{}
		for _, m := range told.Metered {
			used = used.Add(m.Usage)
		}
		return told.Usage.TokensIn == used.TokensIn && told.Usage.TokensOut == used.TokensOut
	}, patience, 200*time.Millisecond, "each answer once")
	got := map[string]int{}
	for _, m := range told.Metered {
		got[m.Class] = m.Requests
	}
	assert.Positive(t, got["auxiliary"], "the client's own question, which model the agent should have")
	delete(got, "auxiliary")
	assert.Equal(t, want, got)
}

// The agent's own gateway also counts side requests and native subagents.
func TestAnAgentsGatewayCountsAllAnswers(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.write(".claude/agents/boss.md", "---\nname: boss\ndescription: delegates\nmodel: inherit\n---\nYou delegate.\n")
	usage := model.Usage{Input: 1_000, Output: 100, CacheRead: 10_000}
	native := model.Tool{Name: "Agent", Input: map[string]any{
		"subagent_type": "general-purpose", "description": "look closer", "prompt": "NATIVEWORK", "run_in_background": false,
	}}
	u.model.Play(model.Script{
		asked("native", "NATIVEWORK", model.Turn{Text: "NATIVE-RESULT", Usage: usage}),
		asked("child", "CHILDWORK", model.Turn{Tools: []model.Tool{native}, Usage: usage}, model.Turn{Text: "CHILD-RESULT", Usage: usage}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{spawns("boss", "look at it", "CHILDWORK go", nil)}}, waitsFor(), model.Turn{Text: "MAIN-RESULT"}),
	})
	u.must(u.flame, "claude", "-p", "--output-format", "json", "--allowedTools", spawnRule, "--", "MAINWORK please")
	require.Len(t, u.model.By("native"), 1, u.log())
	child := u.model.By("child")
	require.Len(t, child, 2)
	for _, r := range child {
		assert.Equal(t, "main", r.Headers.Get("X-Claude-Code-Request-Class"))
	}
	var agents []struct {
		ID       string `json:"subagent_id"`
		Progress struct {
			Metered bool
			Usage   struct{ TokensIn, TokensOut, CacheRead int64 }
			Below   struct{ TokensIn, TokensOut, CacheRead int64 }
		}
	}
	text := u.must(u.flame, "agents", "runs", "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &agents), text)
	require.Len(t, agents, 1, text)
	p := agents[0].Progress
	assert.True(t, p.Metered, text)
	assert.Equal(t, int64(2_000), p.Usage.TokensIn, text)
	assert.Equal(t, int64(1_000), p.Below.TokensIn, text)
	var told struct {
		Usage   core.Usage
		Metered []metered
	}
	require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
	used := core.Usage{}
	for _, m := range told.Metered {
		used = used.Add(m.Usage)
	}
	assert.InDelta(t, used.CostUSD, told.Usage.CostUSD, 1e-9, "each answer once")
	assert.Equal(t, used.Tokens(), told.Usage.Tokens())
	left, err := filepath.Glob(filepath.Join(u.data(), "gateway", "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
