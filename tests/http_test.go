package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/clients"
	"flame/tests/effort"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// An httpServer is flame serve over HTTP.
type httpServer struct {
	url  string   // of streamable HTTP
	said []string // on stderr, until it listened
}

// serveHTTP runs flame serve on a free port for an empty project, and checks that it ends cleanly
// on SIGTERM.
func serveHTTP(t *testing.T) httpServer {
	return serveProject(t, t.TempDir(), t.TempDir())
}

func serveProject(t *testing.T, home, project string, env ...string) (s httpServer) {
	t.Helper()
	cmd := exec.Command(flameBinary(t), "serve", "--http", "127.0.0.1:0")
	cmd.Dir = project
	cmd.Env = append([]string{"HOME=" + home, "FLAME_PROJECT_DIR=" + project, "PATH=" + os.Getenv("PATH")}, env...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		s.said = append(s.said, lines.Text())
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			s.url = lines.Text()[at:]
		}
	}
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			t.Log(lines.Text())
		}
		assert.NoError(t, cmd.Wait())
	})
	require.NotEmpty(t, s.url, "the server says where it listens: %s", s.said)
	return s
}

var tokenAt = regexp.MustCompile(`(?m)^\[flame\] the token is in (/.*)$`)

// token returns the server's token from that file.
func (s httpServer) token(t *testing.T) string {
	found := tokenAt.FindStringSubmatch(strings.Join(s.said, "\n"))
	require.NotNil(t, found, "the server says where its token is: %s", s.said)
	token, err := os.ReadFile(found[1])
	require.NoError(t, err)
	return string(token)
}

// printsItsEnvironment is a claude that completes its task and writes its environment into HOME.
const printsItsEnvironment = `#!/bin/sh
[ "$1" = --version ] && echo "9.9.9 (Claude Code)" && exit
cat > /dev/null
env > "$HOME/env.new" && mv "$HOME/env.new" "$HOME/env"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done","usage":{}}'
`

// over calls a tool of a server and returns the text of the answer, and whether it is an error.
func over(t *testing.T, c *client.Client, tool string, args map[string]any, callID string) (text string, failed bool) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, args
	request.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"claudecode/toolUseId": callID}}
	result, err := c.CallTool(t.Context(), request)
	require.NoError(t, err)
	return result.Content[0].(mcp.TextContent).Text, result.IsError
}

// A client over HTTP is its own session, whatever it writes, and what its agents are started with
// does not let them call the server.
func TestAClientOverHTTPIsItselfAlone(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-this-test-alone"
	home, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "claude"), []byte(printsItsEnvironment), 0o700))
	path := "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")
	hook := func(event string) string {
		cmd := exec.Command(flameBinary(t), "hook", "claude-code")
		cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"HOME=" + home, "FLAME_PROJECT_DIR=" + dir, path}, strings.NewReader(event)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	hook(`{"hook_event_name": "UserPromptSubmit", "session_id": "theirs", "prompt_id": "p",
		"prompt": "Their work", "permission_mode": "bypassPermissions"}`)
	var vouched struct {
		HookSpecificOutput struct{ UpdatedInput map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(hook(`{"hook_event_name": "PreToolUse", "session_id": "theirs", "tool_use_id": "toolu_1",
		"tool_name": "mcp__flame__flame_push", "tool_input": {"goal": "REPLAYED"}, "mcp_server": {"name": "flame", "source": "user"}}`)), &vouched))
	replayed := vouched.HookSpecificOutput.UpdatedInput
	require.NotEmpty(t, replayed["flame_proof"])

	s := serveProject(t, home, dir, path, "FLAME_HTTP_TOKEN="+token)
	c, err := client.NewStreamableHttpClient(s.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, c.Start(t.Context()))
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = mcp.LATEST_PROTOCOL_VERSION, mcp.Implementation{Name: "cli", Version: "1"}
	_, err = c.Initialize(t.Context(), hello)
	require.NoError(t, err)
	for i, args := range []map[string]any{
		replayed, {"goal": "FORGED", "session_id": "theirs"}, {"goal": "FORGED", "agent_id": "theirs"},
		{"goal": "FORGED", "session_id": "theirs", "flame_proof": "x"},
	} {
		text, failed := over(t, c, "flame_push", args, "toolu_1")
		require.False(t, failed, "%d: %s", i, text)
	}
	text, _ := over(t, c, "flame_tree", nil, "toolu_2")
	assert.Regexp(t, `(?m)^→ Their work \[frame-[a-z0-9]{8}\]$`, text)
	assert.NotRegexp(t, `Their work[^\n]*\n[├└]`, text, "nothing is below it")
	var event mcp.CallToolRequest
	event.Params.Name, event.Params.Arguments = "hook", map[string]any{"hook_event_name": "UserPromptSubmit", "session_id": "theirs", "prompt": "x"}
	_, err = c.CallTool(t.Context(), event)
	require.Error(t, err, "only a host reports events so, over stdio")

	text, failed := over(t, c, "spawn_agent", map[string]any{
		"subagent_type": "analyzer", "prompt": "look", "description": "look", "agent_id": "theirs", "permission_mode": "bypassPermissions",
	}, "toolu_3")
	require.False(t, failed, text)
	assert.Contains(t, text, "Mode: default", "not theirs")
	var inherited []byte
	require.Eventually(t, func() bool {
		inherited, err = os.ReadFile(filepath.Join(home, "env"))
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	assert.Contains(t, string(inherited), "FLAME_AGENT=")
	for _, secret := range []string{"FLAME_HTTP_TOKEN", "FLAME_GATEWAY_SECRET", token} {
		assert.NotContains(t, string(inherited), secret)
	}
	_, _ = over(t, c, "flame_agent_wait", map[string]any{"subagent_id": strings.Fields(text)[0]}, "toolu_4")
}

// scenarios are those of the protocol's conformance suite that need no tools, prompts or resources
// of the suite's own.
var scenarios = []string{
	"server-initialize",
	"logging-set-level",
	"ping",
	"completion-complete",
	"tools-list",
	"resources-list",
	"prompts-list",
	"server-sse-polling",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
}

func TestConformance(t *testing.T) {
	t.Parallel()
	node := clientFile(t, clients.Node)
	suite := clientFile(t, "@modelcontextprotocol/conformance/dist/index.js")
	url := withToken(t, serveHTTP(t))
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), clientTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, suite, "server", "--url", url, "--scenario", scenario)
			cmd.Dir = t.TempDir() // where it may leave its results
			report, err := cmd.CombinedOutput()
			require.NoError(t, err, string(report))
			passed := regexp.MustCompile(`Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings`).FindStringSubmatch(string(report))
			require.NotNil(t, passed, string(report))
			assert.Equal(t, passed[2], passed[1], string(report))
			assert.Equal(t, []string{"0", "0"}, passed[3:], string(report))
		})
	}
}

// withToken returns the URL of a proxy that adds the token to each request and changes nothing
// else: the suite cannot send one.
func withToken(t *testing.T, s httpServer) string {
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: &http.Transport{}, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("Authorization", "Bearer "+s.token(t))
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

// soon is the bound, on a machine that stands still for seconds, for an end that should take about 3 s.
const soon = 25 * time.Second

// endsSoon waits for the end of a program.
func endsSoon(t testing.TB, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(soon):
		assert.NoError(t, cmd.Process.Kill())
		<-ended
		require.Failf(t, "it did not end", "%v after %v", cmd.Args, soon)
		return nil
	}
}

func TestAServerWithUnreadAnswersEndsSoon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(server *exec.Cmd, in io.Closer) error{
		"after the end of its input": func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"after SIGTERM":              func(server *exec.Cmd, _ io.Closer) error { return server.Process.Signal(syscall.SIGTERM) },
		"after SIGINT":               func(server *exec.Cmd, _ io.Closer) error { return server.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newSealed(t).command("serve")
			in, err := server.StdinPipe()
			require.NoError(t, err)
			out, err := server.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, server.Start())
			send := func(message string) {
				_, err := io.WriteString(in, message+"\n")
				require.NoError(t, err)
			}
			send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}`)
			send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"flame_push","arguments":{"goal":"left behind"}}}`)
			answers := bufio.NewScanner(out)
			for range 2 {
				require.True(t, answers.Scan())
			}
			frame := regexp.MustCompile(`Started (frame-\w{8})`).FindStringSubmatch(answers.Text())
			require.NotNil(t, frame, answers.Text())
			for id := range 500 {
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id+10)) // some 20 KB each
			}
			require.NoError(t, end(server, in))
			assert.NoError(t, endsSoon(t, server), "that is a good end")

			taken := exec.Command(server.Path, "activate", frame[1], "--session", "another")
			taken.Dir, taken.Env = server.Dir, server.Env
			said, err := taken.CombinedOutput()
			assert.NoError(t, err, "its session has ended, so that others may take its frame: %s", said)
		})
	}
}

// full returns the write end of a full pipe without a reader.
func full(t *testing.T) *os.File {
	reader, end, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = reader.Close(); _ = end.Close() })
	for refused := 0; refused < 3; refused++ { // on a busy machine a deadline may pass before the first try
		require.NoError(t, end.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		if _, err = end.Write([]byte{'x'}); err == nil {
			refused = -1
			continue
		}
		require.True(t, errors.Is(err, os.ErrDeadlineExceeded), err)
	}
	return end
}

func TestASignalEndsAStuckCommand(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		for _, command := range []string{"config", "tree", "events --json", "call flame_get_state"} {
			t.Run(fmt.Sprintf("%s, %v", command, signal), func(t *testing.T) {
				t.Parallel()
				cmd := newSealed(t).command(strings.Fields(command)...)
				push := exec.Command(cmd.Path, "push", "Something to show")
				push.Dir, push.Env = cmd.Dir, cmd.Env
				require.NoError(t, push.Run())
				// Warnings come before the output.
				cmd.Env = append(cmd.Env, "FLAME_TOKEN_BUDGET_TOTAL=many")
				stderr, err := cmd.StderrPipe()
				require.NoError(t, err)
				cmd.Stdout = full(t)
				require.NoError(t, cmd.Start())
				require.True(t, bufio.NewScanner(stderr).Scan())
				require.NoError(t, cmd.Process.Signal(signal))
				var exit *exec.ExitError
				require.ErrorAs(t, endsSoon(t, cmd), &exit)
				assert.Equal(t, 1, exit.ExitCode())
			})
		}
	}
}
