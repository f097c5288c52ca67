package tests

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/hoststest"
	"flame/tests/model"
	"flame/tests/model/rules"
)

// bound has OpenCode speak Anthropic's API, with a model that binds its thinking and enforces the
// API's rules.
func (u *user) bound() *rules.Judge {
	judge := rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
	u.model.Enforce(judge)
	u.configure(anthropic(u.model.URL, map[string]any{
		"name": "Bound", "reasoning": true, "tool_call": true, "limit": map[string]any{"context": 1_000_000, "output": 32_000},
		"options": map[string]any{"thinking": map[string]any{"type": "adaptive"}},
	}))
	return judge
}

// think has the model think before each of its turns.
func think(turns ...model.Turn) []model.Turn {
	for i := range turns {
		turns[i].Thinking = "I think " + strings.Repeat("so ", i+1)
	}
	return turns
}

// output returns a call of the shell that prints a word and a long text.
func output(word string) model.Turn { return prints(4_000, word) }

func long(word string) model.Turn { return prints(24_000, word) }

func prints(characters int, word string) model.Turn {
	return calls("bash", map[string]any{"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo %s", characters, word), "description": "much output"})
}

func pop(summary string) model.Turn {
	return calls("flame_pop", map[string]any{"status": "completed", "summary": summary})
}

func TestOpenCodeKeepsThinkingThatFits(t *testing.T) {
	t.Parallel()
	u := ready(t, openCode)
	judge := u.bound()
	u.model.Play(model.Script{
		asked("child", "CHILDWORK", think(output("IN-CHILD"),
			calls("flame_push", map[string]any{"goal": "deeper"}), output("IN-DEEPER"), pop("deeper done"), output("IN-CHILD-2"), model.Turn{Text: "CHILD-RESULT"})...),
		asked("main", "FIRST", think(
			calls("flame_push", map[string]any{"goal": "piece A"}), output("IN-A"), output("IN-A-2"), pop("A-SUMMARY"),
			calls("flame_push", map[string]any{"goal": "piece B"}), output("IN-B"),
			model.Turn{Tools: []model.Tool{task("dig", "CHILDWORK")}}, pop("B-SUMMARY"), model.Turn{Text: "one"},
			calls("flame_push", map[string]any{"goal": "piece C"}), output("IN-C"), model.Turn{Text: "two"},
			output("IN-C-2"), pop("C-SUMMARY"), output("AFTER"), model.Turn{Text: "three"}, model.Turn{Text: "four"})...),
	})
	session := u.converse("FIRST", "SECOND")
	u.fits(judge, "two prompts, each by a process of its own")
	serve := u.serve()
	serve.post("/session/"+session+"/message", prompt("THIRD"))
	u.fits(judge, "another process of the same conversation")
	u.countsRequests()
	requests := u.model.By("main")
	last := requests[len(requests)-1].Everything()
	for _, gone := range []string{"IN-A", "IN-B", "IN-C"} {
		assert.NotContains(t, last, gone)
	}
	called, err := json.Marshal(requests[len(requests)-1].Messages)
	require.NoError(t, err)
	for _, stays := range []string{"FIRST", "SECOND", "THIRD", "A-SUMMARY", "B-SUMMARY", "C-SUMMARY", "AFTER"} {
		assert.Contains(t, string(called), stays)
	}

	serve.post("/session/"+session+"/message", prompt("FOURTH"))
	fork := serve.post("/session/"+session+"/fork", map[string]any{})["id"].(string)
	u.model.Play(model.Script{asked("main", "FIRST", think(output("IN-FORK"), model.Turn{Text: "five"})...)})
	serve.post("/session/"+fork+"/message", prompt("FIFTH"))
	u.fits(judge, "a branch of it")
	requests = u.model.By("main")
	assert.NotContains(t, requests[len(requests)-1].Everything(), "IN-A", "it is folded there as well")

	u.model.Play(model.Script{asked("main", "FIRST", think(calls("flame_push", map[string]any{"goal": "piece D"}), output("IN-D"),
		pop("D-SUMMARY"), output("AFTER-D"), model.Turn{Text: "six"}, output("INSTEAD"), model.Turn{Text: "seven"})...)})
	asking := serve.post("/session/"+session+"/message", prompt("SIXTH"))
	u.fits(judge, "one more piece")
	serve.post("/session/"+session+"/revert", map[string]any{"messageID": asking["info"].(map[string]any)["parentID"]})
	serve.post("/session/"+session+"/message", prompt("SEVENTH"))
	u.fits(judge, "what was taken back")
	requests = u.model.By("main")
	assert.NotContains(t, requests[len(requests)-1].Everything(), "IN-D")

	u.model.Play(model.Script{asked("main", ".", think(
		output("IN-1"), model.Turn{Text: "one"},
		output("IN-2"), output("IN-2b"), model.Turn{Text: "two"},
		model.Turn{Text: "A SUMMARY OF ALL"},
		output("IN-3"), output("IN-3b"), model.Turn{Text: "three"},
		output("IN-4"), model.Turn{Text: "four"})...)})
	session = serve.session()
	for _, agent := range []string{"plan", "build", "summarize", "build", "build"} {
		if agent == "summarize" {
			serve.post("/session/"+session+"/summarize", map[string]any{"providerID": "anthropic", "modelID": "claude-opus-5-5"})
		} else {
			p := prompt("DO " + agent)
			p["agent"] = agent
			serve.post("/session/"+session+"/message", p)
		}
		u.fits(judge, agent)
	}
}

// countsRequests checks that flame knows each request and what it left out, subagents' too.
func (u *user) countsRequests() {
	var told struct {
		Requests []struct{ Count, Sent, LeftOut int }
	}
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
	require.Len(u.t, told.Requests, 1)
	assert.InDelta(u.t, len(u.model.By("main"))+len(u.model.By("child")), told.Requests[0].Count, 1)
	assert.Positive(u.t, told.Requests[0].Sent)
	assert.Positive(u.t, told.Requests[0].LeftOut)
	assert.Contains(u.t, u.must(u.flame, "show", u.frame("piece A").SessionID), "Folded: ")
	assert.Contains(u.t, u.must(u.flame, "events", "--kind", "FrameFolded"), "piece B")
}

// fits checks that the model has refused and lost nothing so far.
func (u *user) fits(judge *rules.Judge, after string) {
	u.t.Helper()
	stats := judge.Stats()
	raw, err := json.Marshal(stats)
	require.NoError(u.t, err)
	u.t.Logf("%s: %s", after, raw)
	assert.Empty(u.t, judge.Reasons(), after)
	assert.Zero(u.t, stats.Dropped, after)
	assert.Positive(u.t, stats.Thinking, after)
}

func TestOpenCodeTrimsOutputsThatCanBeReadAgain(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.env = append(u.env, "FLAME_TRIM=old")
	u.must(u.flame, "setup", openCode)
	judge := u.bound()
	line := regexp.MustCompile(`\[about [\d.]+(?: k)? tokens left out by flame: [^\]]*; flame_recall with call "([^"]+)" shows them\]`)
	turns := []model.Turn{calls("flame_push", map[string]any{"goal": "a long piece"}), long("THE-FIRST"), long("THE-SECOND")}
	for i := range 8 {
		turns = append(turns, output(fmt.Sprint("NEXT-", i)))
	}
	turns = append(turns, model.Turn{From: func(r model.Request) model.Turn {
		found := line.FindStringSubmatch(r.Everything())
		if found == nil {
			return model.Turn{Text: "nothing was left out"}
		}
		turn := calls("flame_more", map[string]any{"tool": "flame_recall", "arguments": map[string]any{"call": found[1]}})
		turn.Thinking = "I want to see it"
		return turn
	}}, model.Turn{Text: "done"})
	u.model.Play(model.Script{asked("main", "FIRST", think(turns...)...)})
	u.converse("FIRST")
	u.fits(judge, "outputs of an open frame were cut")
	requests := u.model.By("main")
	before, last := requests[len(requests)-2], requests[len(requests)-1]
	assert.NotContains(t, before.Everything(), "THE-FIRST")
	assert.Regexp(t, line, before.Everything())
	assert.Contains(t, last.LastResult(), "THE-FIRST")
}

// The prices are right if they give the costs that Claude Code reports for a session.
func TestClaudeCodesSessionsHaveItsCosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"claude-fable-5-2", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-3-7-sonnet-20250219", "claude-opus-5-5",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, claudeCode)
			u.model.Play(model.Script{asked("main", "MAINWORK",
				model.Turn{
					Tools: []model.Tool{{Name: "Bash", Input: map[string]any{"command": "true", "description": "nothing"}}},
					Usage: model.Usage{Input: 1_000, Output: 2_000, CacheRead: 30_000, Cached5m: 4_000, CachedForHour: 5_000},
				},
				model.Turn{Text: "done", Usage: model.Usage{Input: 90_000, Output: 3_000, CacheRead: 20_000}},
			)})
			var said struct {
				Cost float64 `json:"total_cost_usd"`
			}
			require.NoError(t, json.Unmarshal([]byte(u.must("claude", "-p", "--output-format", "json", "--model", name, "--", "MAINWORK")), &said))

			logs, err := filepath.Glob(filepath.Join(u.home, ".claude", "projects", "*", "*.jsonl"))
			require.NoError(t, err)
			require.Len(t, logs, 1)
			var counted core.Usage
			for entry, err := range hoststest.Known().Formats().Read(claudeCode, logs[0], core.LogPosition{}) {
				require.NoError(t, err)
				counted = counted.Add(entry.Usage)
			}
			assert.Equal(t, int64(5_000), counted.TokensOut)
			assert.Positive(t, said.Cost)
			assert.InDelta(t, said.Cost, counted.CostUSD, 1e-9)
		})
	}
}

// TestEconomy has the clients do the beginning of the long work that `go run ./tests/economy`
// measures completely, with flame and without.
func TestEconomy(t *testing.T) {
	t.Parallel()
	const gateway = "FLAME_GATEWAY_FOLD=on flame "
	clients := map[string]string{ // with the measured variants, beside that without flame
		claudeCode: "flame claude", openCode: "flame", codex: gateway + codex, gemini: gateway + gemini, // whose savings are less than the noise of so little work
	}
	for client := range clients {
		clientBinary(t, client)
	}
	program := filepath.Join(t.TempDir(), "economy")
	out, err := exec.Command("go", "build", "-o", program, "./economy").CombinedOutput()
	require.NoError(t, err, string(out))
	for client, variants := range clients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if client != gemini {
				variants += ",no flame"
			}
			cmd := exec.CommandContext(t.Context(), program, "-frames", "6", "-host", client, "-only", variants, "-check", "-flame", flameBinary(t))
			out, err := cmd.CombinedOutput()
			t.Log(string(out))
			require.NoError(t, err)
		})
	}
}
