package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

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
