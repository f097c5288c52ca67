package tests

import (
	"context"
	"encoding/json"
	"errors"
	"os"
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

// thread finds the id of the session in the output of codex exec.
var thread = regexp.MustCompile(`"thread_id":"([0-9a-f-]+)"`)

// exec has Codex work on a prompt, and returns the id of the session.
func (u *user) exec(args ...string) (session string) {
	out := u.must("codex", append([]string{"exec", "--json", "--skip-git-repo-check", "-c", `sandbox_mode="workspace-write"`}, args...)...)
	found := thread.FindStringSubmatch(out)
	require.NotNil(u.t, found, out)
	return found[1]
}

// sub has Codex's model start a subagent.
func sub(message string) model.Tool {
	return model.Tool{Name: "multi_agent_v1__spawn_agent", Input: map[string]any{"message": message}}
}

func mcpTool(name string, input map[string]any) model.Tool {
	return model.Tool{Name: "mcp__flame__" + name, Input: input}
}

// isPair checks the tree of a session with two subagents, each of which worked in a frame of its own.
func (u *user) isPair(session string) (root, piece stateFrame) {
	root, piece = u.frame("MAINWORK please"), u.frame("a piece")
	assert.Equal(u.t, root.SessionID, piece.ParentSessionID)
	assert.Equal(u.t, session, piece.Session)
	assert.Equal(u.t, "all seen", piece.CompactionSummary)
	for _, name := range []string{"ONE", "TWO"} {
		child := u.frame("SUB" + name + ": look at " + strings.ToLower(name))
		assert.Equal(u.t, piece.SessionID, child.ParentSessionID)
		assert.Equal(u.t, "SUB"+name+" is over", child.CompactionSummary)
		assert.NotEqual(u.t, session, child.Session)
		inside := u.frame("inside SUB" + name)
		assert.Equal(u.t, child.SessionID, inside.ParentSessionID, "the two do not mix up their frames")
		assert.Equal(u.t, "SUB"+name+" is clear", inside.CompactionSummary)
		assert.Contains(u.t, u.model.By("SUB" + name)[0].FirstUser(), "<flame-context")
	}
	for goal, f := range u.state().Frames {
		assert.Equal(u.t, "completed", f.Status, goal)
	}
	return root, piece
}

func TestCodexRestoresTheContextAfterACompaction(t *testing.T) {
	t.Parallel()
	u := ready(t, codex)
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "WE-STOPPED-HERE"}}},
		{Name: "main", Turns: []model.Turn{
			{Tools: []model.Tool{mcpTool("flame_push", map[string]any{"goal": "a long piece"})}, Usage: model.Usage{Input: 60_000, Output: 5}},
			{Text: "it goes on"},
		}},
	})
	u.exec("-c", "model_auto_compact_token_limit=50000", "LONGWORK please")
	assert.Equal(t, "WE-STOPPED-HERE", u.frame("a long piece").CompactionSummary)
	last := u.model.By("main")[1]
	assert.Contains(t, last.Everything(), "WE-STOPPED-HERE")
	assert.Contains(t, last.Everything(), "<flame-context", "a session's context comes again after a compaction")
}

// An agent of a session may do what the sandbox of that session allows, whatever the model asks for.
func TestCodexSessionsStartAgentsWithinTheirSandbox(t *testing.T) {
	t.Parallel()
	for sandbox, made := range map[string]bool{"workspace-write": true, "read-only": false} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			u := ready(t, codex)
			u.env = append(u.env, "FLAME_AGENT_HOST=codex")
			u.allowSpawn()
			u.model.Play(model.Script{
				{Name: "agent", Match: regexp.MustCompile("BUILDIT"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{{Name: "exec_command", Input: map[string]any{"cmd": "echo x > made-by-agent"}}}},
					{Text: "AGENT-ANSWER"},
				}},
				{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{mcpTool("spawn_agent", map[string]any{
						"subagent_type": "builder", "prompt": "BUILDIT", "permission_mode": "bypassPermissions", "background": false,
					})}},
					{Text: "it is done"},
				}},
			})
			u.exec("-c", "sandbox_mode="+`"`+sandbox+`"`, "MAINWORK please")
			require.Len(t, u.model.By("main"), 2)
			assert.Contains(t, u.model.By("main")[1].LastResult(), "AGENT-ANSWER")
			_, err := os.Stat(filepath.Join(u.project, "made-by-agent"))
			assert.Equal(t, made, err == nil)
		})
	}
}

// allowSpawn has Codex allow flame's spawn_agent, as the documents say.
func (u *user) allowSpawn() {
	file, err := os.OpenFile(filepath.Join(u.home, ".codex", "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(u.t, err)
	_, err = file.WriteString("\n[plugins.\"flame@flame-setup\".mcp_servers.flame.tools.spawn_agent]\napproval_mode = \"approve\"\n")
	require.NoError(u.t, errors.Join(err, file.Close()))
}

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

// task has OpenCode's model start a subagent.
func task(description, prompt string) model.Tool {
	return model.Tool{Name: "task", Input: map[string]any{
		"description": description, "prompt": prompt, "subagent_type": "general",
	}}
}

// configure adds settings to the project's opencode.json.
func (u *user) configure(more map[string]any) {
	var config map[string]any
	require.NoError(u.t, json.Unmarshal([]byte(openCodeConfig(u.t, u.model.URL, nil)), &config))
	for name, value := range more {
		config[name] = value
	}
	text, err := json.Marshal(config)
	require.NoError(u.t, err)
	u.write("opencode.json", string(text))
}

// nested lets OpenCode's subagents start subagents.
var nested = map[string]any{
	"subagent_depth": 3,
	"agent":          map[string]any{"general": map[string]any{"permission": map[string]any{"task": "allow"}}},
}

var openCodeSession = regexp.MustCompile(`"sessionID":"(ses_\w+)"`)

// converse has OpenCode work on prompts one after another in one session, each in its own process.
func (u *user) converse(prompts ...string) (session string) {
	for _, prompt := range prompts {
		args := []string{"run", "--format", "json"}
		if session != "" {
			args = append(args, "--session", session)
		}
		found := openCodeSession.FindStringSubmatch(u.must("opencode", append(args, prompt)...))
		require.NotNil(u.t, found)
		session = found[1]
	}
	return session
}

func TestOpenCodeSubagentsBuildTheTree(t *testing.T) {
	t.Parallel()
	u := ready(t, openCode)
	u.configure(nested)
	u.model.Play(family(task))
	u.converse("MAINWORK please")
	u.isFamily(true)
}

func TestOpenCodeGetsTheContextBack(t *testing.T) {
	t.Parallel()
	u := ready(t, openCode)
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "<analysis>thoughts</analysis>\nWHAT-WAS-DONE"}}},
		{Name: "main", Kind: model.Work, Turns: []model.Turn{
			calls("flame_push", map[string]any{"goal": parserGoal}),
			calls("flame_add_decision", map[string]any{"decision": "recursive descent"}),
			{Text: "first"},
			calls("flame_pop", map[string]any{"status": "completed", "summary": "my words", "generateSummary": true}),
			calls("flame_summarize", nil),
			{Text: "second"}, {Text: "third"}, {Text: "fourth"},
		}},
	})
	session := u.converse("MAINWORK")
	frame := u.frame(parserGoal)
	serve := u.serve()
	serve.message(session, "PROMPT-RESUMED")
	resumed := u.model.By("main")[3]
	assert.Contains(t, resumed.Everything(), frame.SessionID, "its history holds what it knew")
	assert.NotContains(t, resumed.Everything(), "<current-frame", "so that is not told again")
	require.Eventually(t, func() bool { return u.frame(parserGoal).Status == "completed" }, patience, 100*time.Millisecond,
		"flame_summarize has the host make a summary, and that finishes the pop that waited for it")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	summaries := u.model.By("summary")
	require.NotEmpty(t, summaries)
	assert.Contains(t, summaries[0].System+summaries[0].Everything(), "Type: frame_completion")
	assert.Equal(t, "my words\n\n---\n\nWHAT-WAS-DONE", u.frame(parserGoal).CompactionSummary)

	serve.message(session, "PROMPT-AFTER")
	requests := u.model.By("main")
	after := requests[len(requests)-1]
	assert.Contains(t, after.Everything(), `<current-frame id="`+u.frame("MAINWORK").SessionID+`"`, "and after a compaction")
}

// One server has several sessions: the host tells a parent of its child in the background, and children
// that do not finish.
func TestOpenCodeReportsOnlyChanges(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.env = append(u.env, "OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS=true")
	u.must(u.flame, "setup", openCode)
	serve := u.serve()
	u.tellsOnlyWhatChanged(serve.prompts)

	inBackground := task("a child", "CHILDWORK go")
	inBackground.Input.(map[string]any)["background"] = true
	fault := model.Turn{Error: &model.Error{Status: 400, Type: "invalid_request_error", Message: "no such thing"}}
	u.model.Play(model.Script{
		asked("child", "CHILDWORK",
			calls("flame_pop", map[string]any{"status": "completed", "summary": "SUMMARY-BY-POP"}),
			model.Turn{Text: "CHILD-LAST"}),
		asked("parent", "PARENTWORK", model.Turn{Tools: []model.Tool{inBackground}},
			model.Turn{Text: "waiting"}, model.Turn{Text: "heard"}, model.Turn{Text: "and on"}),
		asked("fails", "FAILWORK", fault, fault, fault, fault),
		asked("slow", "SLOWWORK", model.Turn{Text: "too late", Delay: time.Hour}),
		asked("other", "OTHERWORK",
			model.Turn{Tools: []model.Tool{task("it fails", "FAILWORK go")}},
			model.Turn{Tools: []model.Tool{task("it is slow", "SLOWWORK go")}},
			model.Turn{Text: "MAIN-RESULT"}),
	})
	session := serve.session()
	serve.message(session, "PARENTWORK")
	require.Eventually(t, func() bool { return u.frame("a child").Status == "completed" }, patience, 100*time.Millisecond)
	require.Eventually(t, func() bool { return len(u.model.By("parent")) >= 3 }, patience, 100*time.Millisecond, "the host tells the parent")
	serve.message(session, "PROMPT-LATER")
	assert.Equal(t, 1, strings.Count(u.newestOf("parent").Everything(), "SUMMARY-BY-POP"), "told once")

	session = serve.session()
	serve.start(session, "OTHERWORK")
	require.Eventually(t, func() bool { return len(u.model.By("slow")) > 0 }, patience, 20*time.Millisecond)
	serve.abort(session)
	require.Eventually(t, func() bool { return u.frame("it is slow").Status != "in_progress" }, patience, 100*time.Millisecond)
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	assert.Equal(t, "failed", u.frame("it fails").Status)
	assert.Equal(t, "blocked", u.frame("it is slow").Status)
}
