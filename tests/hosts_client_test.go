package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/tests/clients"
	"flame/tests/effort"
	"flame/tests/model"
	"flame/tools"
)

// A user is one person's machine, isolated from this one: a home and a project, flame, and on PATH
// the requested real clients. Their model is a scripted one.
type user struct {
	t             *testing.T
	home, project string
	flame         string
	bin           string // folder of the clients, the first on the user's PATH
	path          string
	env           []string            // beyond those of every user
	as            *syscall.Credential // who runs the commands; nil: the user who runs the tests
	model         *model.Server
}

// The clients, by flame's names for them.
const (
	claudeCode = clients.ClaudeCode
	openCode   = clients.OpenCode
	codex      = clients.Codex
	gemini     = clients.Gemini
)

// newUser installs the named clients. Names of folders need quoting.
func newUser(t *testing.T, installed ...string) *user {
	top := t.TempDir()
	u := &user{t: t, home: filepath.Join(top, "it's home"), project: filepath.Join(top, "my project"), bin: filepath.Join(top, "bin")}
	require.NoError(t, clients.Furnish(u.home))
	for _, dir := range []string{u.project, u.bin} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	u.installs(installed...)
	u.flame = flameBinary(t)
	u.path = u.bin + ":/usr/local/bin:/usr/bin:/bin"
	u.model = model.Start(t, nil)
	u.model.Reach = reach
	u.settle(installed...)
	u.write("opencode.json", openCodeConfig(t, u.model.URL, nil))
	git := exec.Command("git", "init", "--quiet")
	git.Dir = u.project
	require.NoError(t, git.Run())
	return u
}

// installs puts clients on the user's PATH.
func (u *user) installs(programs ...string) {
	for _, client := range programs {
		require.NoError(u.t, os.Symlink(clientBinary(u.t, client), filepath.Join(u.bin, clients.Programs[client].Name)))
	}
}

// deferred matches the names of tools that Claude Code's model finds by search.
var deferred = regexp.MustCompile(`(?m)^mcp__\w+$`)

// reach finds flame's tools as real models do: by Claude Code's search, or by flame_more, which that
// search may have to find.
func reach(r model.Request, missing model.Tool) (model.Detour, bool) {
	_, searches := r.Offered("ToolSearch")
	_, more := r.Offered(string(op.More))
	for _, tool := range []string{missing.Name, string(op.More)} {
		for _, name := range deferred.FindAllString(r.Everything(), -1) {
			searched := slices.ContainsFunc(r.Messages[len(r.Messages)-2:], func(m model.Message) bool { return len(m.Calls) > 0 && m.Calls[0].Name == "ToolSearch" })
			if searches && strings.HasSuffix(name, "_"+tool) && !searched && (tool == missing.Name || !more) {
				return model.Detour{Tool: model.Tool{Name: "ToolSearch", Input: map[string]any{"query": "select:" + name}}, Again: true}, true
			}
		}
	}
	input := missing.Input
	if given, ok := input.(map[string]any); ok && given == nil || input == nil {
		input = map[string]any{}
	}
	more = more && slices.Contains(tools.Names(), missing.Name)
	return model.Detour{Tool: model.Tool{Name: string(op.More), Input: map[string]any{"tool": missing.Name, "arguments": input}}}, more
}

func (u *user) place() clients.Place {
	return clients.Place{Home: u.home, Project: u.project, Bin: u.bin, URL: u.model.URL}
}

// ready returns a user of these clients who has set flame up and trusts it.
func ready(t *testing.T, installed ...string) *user {
	u := newUser(t, installed...)
	u.must(u.flame, append([]string{"setup"}, installed...)...)
	u.trust()
	return u
}

// settle makes the scripted model that of the clients that are installed, where that takes more
// than a variable.
func (u *user) settle(installed ...string) {
	for _, client := range installed {
		if client == gemini {
			clientFile(u.t, clients.Node)
			require.NoError(u.t, u.place().LinkNode())
		}
		if client == gemini || client == codex {
			env, err := u.place().Settle(client)
			require.NoError(u.t, err)
			u.env = append(u.env, env...)
		}
	}
}

// has reports whether a client is installed.
func (u *user) has(client string) bool {
	_, err := os.Lstat(filepath.Join(u.bin, clients.Programs[client].Name))
	return err == nil
}

// trust does what the user's "Trust all and continue" of Codex does, and "Trust folder" of Gemini
// CLI.
func (u *user) trust() {
	if u.has(codex) {
		ctx, cancel := context.WithTimeout(u.t.Context(), clientTime)
		defer cancel()
		require.NoError(u.t, clients.TrustHooks(u.command(ctx, "codex", "app-server"), u.project))
	}
	if u.has(gemini) {
		require.NoError(u.t, u.place().TrustFolder())
	}
}

// clientFile finds a file of the real clients, and ends a test that lacks it.
func clientFile(t *testing.T, name string) string {
	file, err := clients.File(name)
	if err != nil {
		effort.Lacks(t, err)
	}
	return file
}

// clientBinary finds a client, and ends a test that lacks it.
func clientBinary(t *testing.T, client string) string {
	return clientFile(t, clients.Programs[client].File)
}

// openCodeConfig names the scripted model as the provider, and servers as mcp. Without its snapshots
// of the files before and after each answer, OpenCode needs a third less of the processor (measured).
func openCodeConfig(t *testing.T, url string, servers any) string {
	config := map[string]any{"snapshot": false}
	for name, value := range anthropic(url, map[string]any{
		"name": "Scripted", "tool_call": true, "limit": map[string]any{"context": 100_000, "output": 4_000},
	}) {
		config[name] = value
	}
	if servers != nil {
		config["mcp"] = servers
	}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	return string(text)
}

// anthropic has OpenCode speak Anthropic's API.
func anthropic(url string, about map[string]any) map[string]any {
	const name = "claude-opus-5-5"
	return map[string]any{
		"model": "anthropic/" + name, "small_model": "anthropic/" + name,
		"provider": map[string]any{"anthropic": map[string]any{
			"npm": "@ai-sdk/anthropic", "options": map[string]any{"baseURL": url + "/v1", "apiKey": "dummy"}, "models": map[string]any{name: about},
		}},
	}
}

// write puts a file into the project.
func (u *user) write(name, text string) {
	path := filepath.Join(u.project, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(u.t, os.WriteFile(path, []byte(text), 0o644))
}

// data returns the folder of the project's data.
func (u *user) data() string {
	return strings.TrimSpace(u.must(u.flame, "where"))
}

// clientTime is how long a client may take: machines may be busy.
const clientTime = 6 * time.Minute

// run runs one command of the user's in the project. A program without a folder is one of the
// clients.
func (u *user) run(program string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(u.t.Context(), clientTime)
	defer cancel()
	var out, errs strings.Builder
	cmd := u.command(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// command returns a command that run would run.
func (u *user) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	if filepath.Base(program) == program {
		program = filepath.Join(u.bin, program)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = u.project
	cmd.Env = append(clients.Environment(u.home, u.path, u.model.URL), u.env...)
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Credential: u.as}, 20*time.Second
	return cmd
}

// unprivileged makes the user an ordinary one, who is subject to permissions, if the tests run as
// root.
func (u *user) unprivileged() {
	if os.Getuid() != 0 {
		return
	}
	const nobody = 65534
	u.as = &syscall.Credential{Uid: nobody, Gid: nobody}
	for _, path := range []string{u.home, u.flame} {
		for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
			require.NoError(u.t, os.Chmod(dir, 0o755))
		}
	}
}

// must runs a command that has to succeed and returns its stdout.
func (u *user) must(program string, args ...string) string {
	stdout, stderr, err := u.run(program, args...)
	require.NoError(u.t, err, "%s %s\n%s%s", filepath.Base(program), args, stdout, stderr)
	return stdout
}

// ask has the client work on a prompt until its model is done. It allows flame's tools beforehand,
// because headless runs cannot ask.
func (u *user) ask(client, prompt string) string {
	if client == openCode {
		args := []string{"run", "--format", "json"}
		if command, line, ok := slashCommand(prompt); ok {
			return u.must("opencode", append(args, "--command", command, line)...)
		}
		return u.must("opencode", append(args, prompt)...)
	}
	return u.must("claude", "-p", "--output-format", "json",
		"--allowedTools", "mcp__plugin_flame_flame,mcp__flame", "--", prompt)
}

func slashCommand(prompt string) (command, line string, ok bool) {
	if !strings.HasPrefix(prompt, "/") {
		return "", "", false
	}
	command, line, _ = strings.Cut(prompt[1:], " ")
	return command, line, true
}

// state is the result of `flame call flame_get_state`, with the first description's names.
type state struct {
	Frames map[string]stateFrame
}

type stateFrame struct {
	SessionID, ParentSessionID, Status, Goal, CompactionSummary, Session string

	Decisions, Artifacts []string
}

func (u *user) state() state {
	var s state
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "call", "flame_get_state")), &s))
	return s
}

// frame returns the only frame with this goal.
func (u *user) frame(goal string) stateFrame {
	u.t.Helper()
	s := u.state()
	for _, f := range s.Frames {
		if f.Goal == goal {
			return f
		}
	}
	assert.Failf(u.t, "no such frame", "%q is not among %v", goal, s.Frames)
	u.t.FailNow()
	return stateFrame{}
}

// completes waits until the frames with these goals are completed.
func (u *user) completes(goals ...string) {
	assert.Eventually(u.t, func() bool {
		completed := 0
		for _, f := range u.state().Frames {
			if f.Status == "completed" && slices.Contains(goals, f.Goal) {
				completed++
			}
		}
		return completed == len(goals)
	}, patience, 100*time.Millisecond, "%v", goals)
}

const parserGoal = "Write the parser"

// calls has the model call a tool.
func calls(tool string, input map[string]any) model.Turn {
	return model.Turn{Tools: []model.Tool{{Name: tool, Input: input}}}
}

// A served OpenCode is one process for many prompts, driven by its HTTP API like its own windows.
type served struct {
	t   *testing.T
	url string
}

var listensAt = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts OpenCode in the project until the test ends.
func (u *user) serve() served {
	u.t.Helper()
	cmd := u.command(u.t.Context(), "opencode", "serve", "--port", "0", "--hostname", "127.0.0.1")
	out, err := cmd.StdoutPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Start())
	u.t.Cleanup(func() { _ = cmd.Wait() }) // the end of the test's context killed it
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := listensAt.FindString(lines.Text()); url != "" {
			go func() { // later output must not fill the pipe
				for lines.Scan() {
				}
			}()
			return served{u.t, url}
		}
	}
	u.t.Fatal("opencode serve did not say where it listens")
	return served{}
}

func (s served) post(path string, body any) map[string]any {
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	response, err := httpClient.Post(s.url+path, "application/json", bytes.NewReader(raw))
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Less(s.t, response.StatusCode, 300, path)
	var answer map[string]any
	_ = json.NewDecoder(response.Body).Decode(&answer) // some answers are a bare true
	return answer
}

// session starts a conversation and returns its id.
func (s served) session() string {
	return s.post("/session", map[string]any{})["id"].(string)
}

func prompt(text string) map[string]any {
	return map[string]any{"parts": []map[string]any{{"type": "text", "text": text}}}
}

// message asks and waits for the answer.
func (s served) message(session, text string) {
	s.post("/session/"+session+"/message", prompt(text))
}

// start asks without waiting.
func (s served) start(session, text string) {
	s.post("/session/"+session+"/prompt_async", prompt(text))
}

func (s served) abort(session string) {
	s.post("/session/"+session+"/abort", map[string]any{})
}
