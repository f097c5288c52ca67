package tests

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/tests/model"
)

// geminiSession finds the id of the session in the output of Gemini CLI.
var geminiSession = regexp.MustCompile(`"session_id":"([0-9a-f-]+)"`)

// gemini has Gemini CLI work on a prompt, and returns the id of the session.
func (u *user) gemini(prompt string, args ...string) (session string) {
	out := u.must("gemini", append([]string{"--prompt", prompt, "--output-format", "stream-json", "--model", "gemini-2.5-pro"}, args...)...)
	found := geminiSession.FindStringSubmatch(out)
	require.NotNil(u.t, found, out)
	return found[1]
}

func flameTool(name string, input map[string]any) model.Tool {
	return model.Tool{Name: "mcp_flame_" + name, Input: input}
}

func invoke(prompt string) model.Tool {
	return model.Tool{Name: "invoke_agent", Input: map[string]any{"agent_name": "generalist", "prompt": prompt}}
}

func writesFile(file, content string) model.Tool {
	return model.Tool{Name: "write_file", Input: map[string]any{"file_path": file, "content": content}}
}

// completes ends a subagent.
func completes(result string) model.Turn {
	return model.Turn{Tools: []model.Tool{{Name: "complete_task", Input: map[string]any{"result": map[string]string{"response": result}}}}}
}

// geminiFamily is a session with two subagents at once, each of which works in a frame of its own.
// The second is answered some time after the first has ended its work: where both called within a
// second, flame would ask their models to repeat the calls.
func geminiFamily(u *user) model.Script {
	child := func(name string) model.Actor {
		file := filepath.Join(u.project, name+".txt")
		return model.Actor{Name: name, Match: regexp.MustCompile(name), Where: model.FirstUser, Turns: []model.Turn{
			calls("flame_push", map[string]any{"goal": "inside " + name}),
			{Tools: []model.Tool{writesFile(file, "x\n")}},
			calls("flame_pop", map[string]any{"status": "completed", "summary": name + " is clear"}),
			completes(name + " is over"),
		}}
	}
	one, two := child("SUBONE"), child("SUBTWO")
	first := two.Turns[0]
	first.Delay = 3 * time.Second
	two.Turns[0] = model.Turn{From: func(model.Request) model.Turn {
		assert.Eventually(u.t, func() bool { return len(u.model.By(one.Name)) >= len(one.Turns) }, patience, 20*time.Millisecond)
		return first
	}}
	return model.Script{
		one, two,
		{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
			{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "a piece"})}, Usage: model.Usage{Input: 600, Output: 7, CacheRead: 400}},
			{Tools: []model.Tool{writesFile(filepath.Join(u.project, "a.txt"), "hello\n")}},
			{Tools: []model.Tool{invoke("SUBONE: look at one"), invoke("SUBTWO: look at two")}},
			calls("flame_pop", map[string]any{"status": "completed", "summary": "all seen"}),
			{Text: "it is done", Usage: model.Usage{Input: 500, Output: 3}},
		}},
	}
}

func TestGeminiSubagentsBuildTheTree(t *testing.T) {
	t.Parallel()
	u := ready(t, gemini)
	u.model.Play(geminiFamily(u))
	session := u.gemini("MAINWORK please", "--approval-mode", "yolo")
	root, piece := u.isPair(session)
	for _, name := range []string{"ONE", "TWO"} {
		child, inside := u.frame("SUB"+name+": look at "+strings.ToLower(name)), u.frame("inside SUB"+name)
		assert.Contains(t, append(child.Artifacts, inside.Artifacts...), "SUB"+name+".txt")
	}
	u.must(u.flame, "tree") // counts what is due
	assert.Contains(t, u.must(u.flame, "show", root.SessionID), "400 cache read")
	assert.Contains(t, u.must(u.flame, "show", piece.SessionID, "--diff"), "+hello")
	for _, r := range u.model.By("main")[:3] { // before it starts subagents
		assert.NotContains(t, r.Everything(), "modified by a hook", "flame changes no arguments of its own tools")
	}
	frames := len(u.state().Frames)
	assert.Equal(t, session, u.gemini("/flame:push more of it", "--resume", session))
	last := u.model.Requests()[len(u.model.Requests())-1].LastUser()
	assert.Contains(t, last, string(op.Push), "a slash command of the extension")
	assert.Contains(t, last, "more of it")
	u.must(u.flame, "tree") // handles events that were late on a busy machine
	assert.Equal(t, "completed", u.frame("MAINWORK please").Status)
	assert.Len(t, u.state().Frames, frames, "a resumed session goes on in its root")
	logs, err := filepath.Glob(filepath.Join(u.home, ".gemini", "tmp", "*", "chats"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	assert.Regexp(t, `MAINWORK please \[`+session+`\] completed.*\n├── SUB\w+: look at \w+ \(@generalist\)`, u.must(u.flame, "agents", "graph", logs[0]))
	assert.Contains(t, u.must(u.flame, "economy"), "mcp_flame_flame_push", "the newest session of the project")
	u.project = t.TempDir()
	assert.Contains(t, u.must(u.flame, "import", logs[0]), "3 frames added")
}

func TestGeminiRestoresTheContextAfterACompaction(t *testing.T) {
	t.Parallel()
	u := ready(t, gemini)
	look := model.Tool{Name: "list_directory", Input: map[string]any{"dir_path": u.project}}
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{
			{Text: "<state_snapshot>FIRST</state_snapshot>"}, {Text: "<state_snapshot>WE-STOPPED-HERE</state_snapshot>"},
		}},
		{Name: "main", Turns: []model.Turn{
			calls("flame_push", map[string]any{"goal": "a long piece"}),
			{Text: "the first part"},
			{Tools: []model.Tool{look}, Usage: model.Usage{Input: 900_000, Output: 5}},
			{Tools: []model.Tool{look}},
			{Text: "it goes on"},
		}},
	})
	session := u.gemini("LONGWORK please")
	u.gemini("and more", "--resume", session)
	assert.Equal(t, "WE-STOPPED-HERE", u.frame("a long piece").CompactionSummary)
	requests := u.model.By("main")
	require.Len(t, requests, 5)
	assert.Contains(t, requests[3].Everything(), "WE-STOPPED-HERE", "it was compressed")
	assert.NotContains(t, requests[3].Everything(), "flame-context")
	assert.Contains(t, requests[4].Everything(), "flame-context", "a session's context comes again after a compaction")
}

func TestGeminiKilledWithItsWorkIsNoticed(t *testing.T) {
	t.Parallel()
	u := ready(t, gemini)
	u.model.Play(model.Script{{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
		calls("flame_push", map[string]any{"goal": "a piece"}),
		{Text: "never said", Delay: time.Hour},
	}}})
	ctx, kill := context.WithCancel(t.Context())
	cmd := u.command(ctx, "gemini", "--prompt", "MAINWORK please", "--output-format", "stream-json", "--model", "gemini-2.5-pro")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(u.model.By("main")) == 2 }, patience, 50*time.Millisecond)
	kill()
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		u.must(u.flame, "tree")
		return !strings.Contains(u.must(u.flame, "sessions"), " active")
	}, patience, 200*time.Millisecond)
	assert.Equal(t, "in_progress", u.frame("a piece").Status, "others can take it up")
}
