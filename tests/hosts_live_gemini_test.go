package tests

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/tests/clients"
	"flame/tests/model"
)

func newGeminiUser(t *testing.T) *user {
	t.Helper()
	u := newUser(t, gemini)
	u.configureGemini()
	return u
}

// readyGemini returns a user of Gemini CLI who has set flame up.
func readyGemini(t *testing.T) *user {
	t.Helper()
	u := newGeminiUser(t)
	u.must(u.flame, "setup", gemini)
	u.trustFolder()
	return u
}

// configureGemini makes the scripted model that of Gemini CLI, and installs the Node that runs it.
func (u *user) configureGemini() {
	u.t.Helper()
	clientFile(u.t, clients.Node)
	require.NoError(u.t, u.place().LinkNode())
	u.settle(gemini)
}

// trustFolder does what the user's "Trust folder" does.
func (u *user) trustFolder() {
	u.t.Helper()
	require.NoError(u.t, u.place().TrustFolder())
}

// geminiSession finds the id of the session in the output of Gemini CLI.
var geminiSession = regexp.MustCompile(`"session_id":"([0-9a-f-]+)"`)

// gemini has Gemini CLI work on a prompt, and returns the id of the session.
func (u *user) gemini(prompt string, args ...string) (session string) {
	u.t.Helper()
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

func TestGeminiTellsTheStoryOfASession(t *testing.T) {
	t.Parallel()
	u := readyGemini(t)
	u.model.Play(model.Script{{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
		{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "a piece"})}, Usage: model.Usage{Input: 600, Output: 7, CacheRead: 400}},
		{Tools: []model.Tool{writesFile(filepath.Join(u.project, "a.txt"), "hello\n")}, Usage: model.Usage{Input: 100, Output: 1}},
		{Tools: []model.Tool{flameTool("flame_pop", map[string]any{"status": "completed", "summary": "all seen"})}, Usage: model.Usage{Input: 100, Output: 1}},
		{Text: "it is done", Usage: model.Usage{Input: 500, Output: 3}},
	}}})
	session := u.gemini("MAINWORK please", "--approval-mode", "auto_edit")
	root, piece := u.frame("MAINWORK please"), u.frame("a piece")
	assert.Equal(t, root.SessionID, piece.ParentSessionID)
	assert.Equal(t, session, root.Session)
	assert.Equal(t, session, piece.Session)
	assert.Equal(t, "all seen", piece.CompactionSummary)
	assert.Equal(t, []string{"a.txt"}, piece.Artifacts)
	for goal, f := range u.state().Frames {
		assert.Equal(t, "completed", f.Status, goal)
	}
	u.must(u.flame, "tree") // counts what is due
	assert.Regexp(t, `1100 tokens in, 10 out, 400 cache read`, u.must(u.flame, "show", root.SessionID))
	assert.Contains(t, u.must(u.flame, "show", piece.SessionID, "--diff"), "+hello")
	for _, r := range u.model.By("main") {
		assert.NotContains(t, r.Everything(), "modified by a hook", "flame changes no arguments of its own tools")
	}
	assert.Equal(t, session, u.gemini("/flame:push more of it", "--resume", session))
	last := u.model.Requests()[len(u.model.Requests())-1].LastUser()
	assert.Contains(t, last, string(op.Push), "a slash command of the extension")
	assert.Contains(t, last, "more of it")
	u.must(u.flame, "tree") // handles events that were late on a busy machine
	assert.Equal(t, "completed", u.frame("MAINWORK please").Status)
	assert.Len(t, u.state().Frames, 2, "a resumed session goes on in its root")
}

// geminiFamily is a session with two subagents at once, each of which works in a frame of its own.
// The second is answered some time after the first has ended its work: where both called within a
// second, flame would ask their models to repeat the calls.
func geminiFamily(u *user) model.Script {
	child := func(name string) model.Actor {
		file := filepath.Join(u.project, name+".txt")
		return model.Actor{Name: name, Match: regexp.MustCompile(name), Where: model.FirstUser, Turns: []model.Turn{
			{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "inside " + name})}},
			{Tools: []model.Tool{writesFile(file, "x\n")}},
			{Tools: []model.Tool{flameTool("flame_pop", map[string]any{"status": "completed", "summary": name + " is clear"})}},
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
			{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "a piece"})}},
			{Tools: []model.Tool{invoke("SUBONE: look at one"), invoke("SUBTWO: look at two")}},
			{Tools: []model.Tool{flameTool("flame_pop", map[string]any{"status": "completed", "summary": "all seen"})}},
			{Text: "it is done"},
		}},
	}
}

func TestGeminiSubagentsBuildTheTree(t *testing.T) {
	t.Parallel()
	u := readyGemini(t)
	u.model.Play(geminiFamily(u))
	session := u.gemini("MAINWORK please", "--approval-mode", "yolo")
	root, piece := u.frame("MAINWORK please"), u.frame("a piece")
	assert.Equal(t, root.SessionID, piece.ParentSessionID)
	assert.Equal(t, session, piece.Session)
	assert.Equal(t, "all seen", piece.CompactionSummary)
	for _, name := range []string{"ONE", "TWO"} {
		child := u.frame("SUB" + name + ": look at " + strings.ToLower(name))
		assert.Equal(t, piece.SessionID, child.ParentSessionID)
		assert.Equal(t, "SUB"+name+" is over", child.CompactionSummary)
		assert.NotEqual(t, session, child.Session)
		inside := u.frame("inside SUB" + name)
		assert.Equal(t, child.SessionID, inside.ParentSessionID, "the two do not mix up their frames")
		assert.Equal(t, "SUB"+name+" is clear", inside.CompactionSummary)
		assert.Contains(t, u.model.By("SUB" + name)[0].FirstUser(), "<flame-context")
		assert.Contains(t, append(child.Artifacts, inside.Artifacts...), "SUB"+name+".txt")
	}
	for goal, f := range u.state().Frames {
		assert.Equal(t, "completed", f.Status, goal)
	}
	logs, err := filepath.Glob(filepath.Join(u.home, ".gemini", "tmp", "*", "chats"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	assert.Regexp(t, `MAINWORK please \[`+session+`\] completed.*\n├── SUB\w+: look at \w+ \(@generalist\)`, u.must(u.flame, "track", logs[0]))
	assert.Contains(t, u.must(u.flame, "economy"), "mcp_flame_flame_push", "the newest session of the project")
	u.project = t.TempDir()
	assert.Contains(t, u.must(u.flame, "import", logs[0]), "3 frames added")
}

func TestGeminiIsSetUpAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	u := newGeminiUser(t)
	own := filepath.Join(u.home, ".gemini")
	before, err := os.ReadFile(filepath.Join(own, "settings.json"))
	require.NoError(t, err)
	plan := u.must(u.flame, "setup", gemini, "--dry-run")
	assert.Contains(t, plan, "gemini extensions link")
	said := u.must(u.flame, "setup", gemini)
	assert.Contains(t, said, "Trust folder")
	report, _, err := u.run(u.flame, "doctor")
	require.Error(t, err, "Gemini CLI starts no servers in a folder that is not trusted")
	assert.Contains(t, report, "Trust folder")
	u.trustFolder()
	assert.NotContains(t, u.must(u.flame, "doctor"), "Trust folder")
	assert.Contains(t, u.must(u.flame, "setup", gemini), "already set up")
	_, refusal, err := u.run(u.flame, "setup", gemini, "--scope", "project")
	require.Error(t, err)
	assert.Contains(t, refusal, "cannot be set up for one project")
	u.must(u.flame, "setup", gemini, "--remove")
	after, err := os.ReadFile(filepath.Join(own, "settings.json"))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	assert.NoDirExists(t, filepath.Join(own, "extensions", "flame"))
	assert.NoFileExists(t, filepath.Join(own, "policies", "flame.toml"))
	assert.NoDirExists(t, filepath.Join(u.home, ".local", "share", "flame", "gemini"))
	assert.NoFileExists(t, filepath.Join(u.home, ".local", "bin", "flame"))
}

// An agent of a session may do no more than a session whose approval mode is not known.
func TestGeminiRunsAgentsAndResumesThem(t *testing.T) {
	t.Parallel()
	u := readyGemini(t)
	u.env = append(u.env, "FLAME_AGENT_HOST=gemini")
	spawn := flameTool("spawn_agent", map[string]any{
		"subagent_type": "builder", "prompt": "ASKEDIT", "permission_mode": "bypassPermissions", "background": false,
	})
	u.model.Play(model.Script{
		asked("of a session", "ASKEDIT", model.Turn{Text: "ITS-ANSWER"}),
		asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{spawn}}, model.Turn{Text: "it is done"}),
	})
	u.gemini("MAINWORK please", "--approval-mode", "yolo")
	require.Len(t, u.model.By("main"), 2)
	assert.Contains(t, u.model.By("main")[1].LastResult(), "ITS-ANSWER")
	require.NotEmpty(t, u.model.By("of a session"))
	assert.NotContains(t, u.model.By("of a session")[0].Tools, "write_file")

	u.model.Play(model.Script{{Name: "agent", Match: regexp.MustCompile("BUILD"), Where: model.FirstUser, Turns: []model.Turn{
		{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "the agent's piece"})}, Usage: model.Usage{Input: 1000, Output: 10}},
		{Tools: []model.Tool{flameTool("flame_pop", map[string]any{"status": "completed", "summary": "done"})}, Usage: model.Usage{Input: 1000, Output: 10}},
		{Text: "AGENT-ANSWER", Usage: model.Usage{Input: 1000, Output: 10}},
		{Text: "SECOND-ANSWER", Usage: model.Usage{Input: 500, Output: 5}},
	}}})
	said := u.must(u.flame, "agents", "spawn", "builder", "BUILD it", "--wait")
	assert.Contains(t, said, "AGENT-ANSWER")
	id := regexp.MustCompile(`agent-\w+`).FindString(said)
	require.NotEmpty(t, id, said)
	assert.Contains(t, u.must(u.flame, "agents", "result", id), "3000 tokens in, 30 out")
	assert.NotContains(t, u.model.By("agent")[0].Tools, "write_file", "nobody allowed it to write")
	assert.NotEmpty(t, u.frame("the agent's piece").ParentSessionID)

	again := u.must(u.flame, "agents", "attach", id, "and more", "--wait")
	assert.Contains(t, again, "SECOND-ANSWER")
	next := regexp.MustCompile(`agent-\w+`).FindString(again)
	assert.Contains(t, u.must(u.flame, "agents", "result", next), "500 tokens in, 5 out", "what the session used before is not counted again")
}

func TestGeminiRestoresTheContextAfterACompaction(t *testing.T) {
	t.Parallel()
	u := readyGemini(t)
	look := model.Tool{Name: "list_directory", Input: map[string]any{"dir_path": u.project}}
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{
			{Text: "<state_snapshot>FIRST</state_snapshot>"}, {Text: "<state_snapshot>WE-STOPPED-HERE</state_snapshot>"},
		}},
		{Name: "main", Turns: []model.Turn{
			{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "a long piece"})}},
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
	u := readyGemini(t)
	u.model.Play(model.Script{{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
		{Tools: []model.Tool{flameTool("flame_push", map[string]any{"goal": "a piece"})}},
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
