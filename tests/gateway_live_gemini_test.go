package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
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
		assert.InDelta(u.t, transcripts.Priced("gemini-2.5-pro", want).CostUSD, figures.CostUSD, 1e-9)
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
