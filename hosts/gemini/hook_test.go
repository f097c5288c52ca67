package gemini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/gemini"
	"flame/project"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tools"
)

// A session plays events of Gemini CLI on a project with a real store.
type session struct {
	t     *testing.T
	p     *project.Project
	dir   string
	clock core.Millis
	n     int
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), clock: 1_766_600_000_000}
	kept := projecttest.Open(t, filepath.Join(s.dir, ".flame"), store.Options{})
	s.p = &project.Project{
		Store: kept, Dir: s.dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90,
		Subagents: core.DefaultSubagentConfig(), Autonomy: projecttest.ByScores(),
		Now: func() core.Millis { s.clock++; return s.clock }, NewID: project.NewID,
		HostProcess: func() project.Process { return project.Process{PID: 7, Started: "then"} },
	}
	return s
}

func (s *session) raw(event []byte) (string, error) {
	flame := hosts.Flame{Project: s.p, OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) }}
	answer, err := gemini.Hook(context.Background(), flame, event)
	return string(answer), err
}

func (s *session) log() string { return filepath.Join(s.dir, "chats", "session-main.jsonl") }

// send plays an event of session "main" unless fields say otherwise.
func (s *session) send(name string, fields map[string]any) string {
	s.t.Helper()
	s.n++
	event := map[string]any{
		"hook_event_name": name, "session_id": "main", "cwd": s.dir, "transcript_path": s.log(),
		"timestamp": fmt.Sprintf("2026-11-23T22:29:%02d.%03dZ", 10+s.n/10, s.n%10),
	}
	for field, value := range fields {
		event[field] = value
	}
	raw, err := json.Marshal(event)
	require.NoError(s.t, err)
	answer, err := s.raw(raw)
	require.NoError(s.t, err)
	return answer
}

// write adds lines to a log.
func (s *session) write(path string, lines ...any) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(s.t, err)
	defer file.Close()
	for _, line := range lines {
		raw, err := json.Marshal(line)
		require.NoError(s.t, err)
		_, err = file.Write(append(raw, '\n'))
		require.NoError(s.t, err)
	}
}

// tree draws the frames.
func (s *session) tree() string {
	s.t.Helper()
	tree, err := view.TreeOf(context.Background(), s.p, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
	require.NoError(s.t, err)
	var b strings.Builder
	for _, line := range tree.Lines {
		b.WriteString(strings.Repeat("  ", int(line.Depth)) + string(line.Frame.Status) + " " + line.Frame.Goal)
		if line.Frame.Summary != "" {
			b.WriteString(": " + line.Frame.Summary)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func samples(t *testing.T) [][]byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/events.ndjson")
	require.NoError(t, err)
	return bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
}

func TestARealSessionBecomesATree(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, event := range samples(t) {
		_, err := s.raw(event)
		require.NoError(t, err)
		before := s.tree()
		_, err = s.raw(event)
		require.NoError(t, err)
		assert.Equal(t, before, s.tree(), "the same event twice changes nothing: %.300s", event)
	}
	assert.Equal(t, "completed Build MANGO: a\nover\n", s.tree())
}

// invoke has the session start a subagent, and returns its prompt.
func (s *session) invoke(task string) (prompt string) {
	s.t.Helper()
	answer := s.send("BeforeTool", map[string]any{"tool_name": "invoke_agent", "tool_input": map[string]any{"agent_name": "generalist", "prompt": task}})
	var changed struct {
		Output struct {
			Input struct{ Prompt string } `json:"tool_input"`
		} `json:"hookSpecificOutput"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(answer), &changed), answer)
	assert.Contains(s.t, changed.Output.Input.Prompt, "<flame-context")
	return changed.Output.Input.Prompt
}

// begins writes the beginning of a subagent's log.
func (s *session) begins(agent, prompt string) (log string) {
	s.t.Helper()
	log = filepath.Join(s.dir, "chats", "main", agent+".jsonl")
	s.write(log,
		map[string]any{"sessionId": agent, "projectHash": "p", "kind": "subagent"},
		map[string]any{"id": "u" + agent, "type": "user", "content": []any{map[string]string{"text": prompt}}})
	return log
}

func answered(id string, calls ...any) map[string]any {
	m := map[string]any{"id": id, "type": "gemini", "content": "", "timestamp": "2026-11-23T22:29:10.000Z", "tokens": map[string]int{"input": 10, "output": 1}}
	if calls != nil {
		m["toolCalls"] = calls
	}
	return m
}

func wrote(file string) map[string]any {
	return map[string]any{"id": "w" + file, "name": "write_file", "args": map[string]string{"file_path": file}, "status": "success"}
}

// who returns the agent that a call of flame's is announced for.
func (s *session) who(goal string) string {
	s.t.Helper()
	input := map[string]any{"goal": goal}
	s.send("BeforeTool", map[string]any{
		"tool_name": "mcp_flame_flame_push", "tool_input": input, "mcp_context": map[string]any{"server_name": "flame", "tool_name": "flame_push"},
	})
	raw, err := json.Marshal(input)
	require.NoError(s.t, err)
	found, hooked, err := s.p.TakeAnnounced(context.Background(), project.CallKey("flame_push", raw))
	require.NoError(s.t, err)
	assert.True(s.t, hooked)
	require.NotNil(s.t, found)
	return found.Session
}

func TestALogSaysWhichAgentCalls(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
	assert.Equal(t, "main", s.who("before"))
	one, two := s.begins("one", s.invoke("look at one")), s.begins("two", s.invoke("look at two"))
	assert.Equal(t, "main", s.who("before they answered"))
	s.write(one, answered("a"))
	assert.Equal(t, "one", s.who("one's"))
	s.write(two, answered("b"))
	assert.Empty(t, s.who("both are calling"))
	s.n += 10
	assert.Empty(t, s.who("both have answered long ago"))
	late := answered("b2")
	late["timestamp"] = "2026-11-23T22:29:11.000Z"
	s.write(two, late)
	assert.Equal(t, "two", s.who("two has only just answered"))
	s.write(one, answered("a", wrote("x.txt")))
	assert.Equal(t, "two", s.who("two's"))
	s.write(filepath.Join(filepath.Dir(one), "stranger.jsonl"), answered("c"))
	assert.Equal(t, "two", s.who("a log of no known subagent"))
	assert.Equal(t, "in_progress Build it\n  in_progress look at one\n  in_progress look at two\n", s.tree())
}

func TestSubagentsEndAsTheyDid(t *testing.T) {
	t.Parallel()
	finished := func(reason, result string) any {
		return []any{map[string]string{"text": "Subagent 'generalist' finished.\nTermination Reason: " + reason + "\nResult:\n" + result +
			"\n\n[System] Tool input parameters (prompt) were modified by a hook before execution."}}
	}
	tests := map[string]struct {
		answer any
		want   string
	}{
		"it ends":           {finished("GOAL", "all seen"), "completed look around: all seen\n"},
		"it takes too long": {finished("TIMEOUT", "Agent timed out after 5 minutes."), "failed look around: Agent timed out after 5 minutes.\n"},
		"it is stopped":     {finished("ABORTED", "stopped"), "blocked look around: stopped\n"},
		"it fails":          {"Subagent 'generalist' failed. Error: no quota", "failed look around: Subagent 'generalist' failed. Error: no quota\n"},
		"another form":      {7, "failed look around"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
			prompt := s.invoke("look around")
			log := s.begins("child", prompt)
			s.write(log, answered("a", wrote("seen.txt")))
			s.send("AfterTool", map[string]any{
				"tool_name": "invoke_agent", "tool_input": map[string]any{"agent_name": "generalist", "prompt": prompt},
				"tool_response": map[string]any{"llmContent": tt.answer},
			})
			_, child, _ := strings.Cut(s.tree(), "\n")
			assert.True(t, strings.HasPrefix(strings.TrimSpace(child)+"\n", tt.want), child)
			tree, err := view.TreeOf(t.Context(), s.p, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
			require.NoError(t, err)
			assert.Equal(t, []string{"seen.txt"}, tree.Lines[1].Frame.Artifacts)
		})
	}
}

func TestACancelledSubagentIsInTheLogAlone(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
	prompt := s.invoke("look around")
	s.write(s.log(), answered("a", map[string]any{"id": "c", "name": "invoke_agent", "args": map[string]string{"prompt": prompt}, "status": "cancelled"}))
	s.send("BeforeAgent", map[string]any{"prompt": "Something else"})
	assert.Contains(t, s.tree(), "blocked look around")
}

func TestACompactionIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
	read := map[string]any{"tool_name": "read_file", "tool_input": map[string]any{}}
	assert.Empty(t, s.send("AfterTool", read))
	s.write(s.log(), s.compacts("WE-STOPPED-HERE"))
	assert.Contains(t, s.send("AfterTool", read), "WE-STOPPED-HERE")
	assert.Equal(t, "in_progress Build it: WE-STOPPED-HERE\n", s.tree())
	assert.Empty(t, s.send("AfterTool", read), "once")
}

// compacts returns the line of a log that shows a compaction.
func (s *session) compacts(summary string) map[string]any {
	at := s.clock + 1
	s.clock += 10
	return map[string]any{"$set": map[string]any{"messages": []any{map[string]any{
		"id": "m", "type": "user", "timestamp": at.Time().UTC().Format("2006-01-02T15:04:05.000Z"),
		"content": []any{map[string]string{"text": "<state_snapshot>\n" + summary + "\n</state_snapshot>"}},
	}}}}
}

func TestAnEventReadsWhatIsNewInTheLog(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
	used := func() string {
		return s.send("AfterTool", map[string]any{"tool_name": "read_file", "tool_input": map[string]any{}})
	}
	s.write(s.log(), strings.Repeat("x", 100_000))
	assert.Empty(t, used())

	old := filepath.Join(s.dir, "old.jsonl")
	s.write(old, s.compacts("READ-AGAIN"))
	line, err := os.ReadFile(old)
	require.NoError(t, err)
	log, err := os.ReadFile(s.log())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.log(), append(line, log[len(line):]...), 0o644))
	assert.Empty(t, used(), "what it has read before, it does not read again")

	s.write(s.log(), s.compacts("AT-THE-END"))
	assert.Contains(t, used(), "AT-THE-END")
	require.NoError(t, os.Remove(s.log()))
	s.write(s.log(), s.compacts("WRITTEN-ANEW"))
	assert.Contains(t, used(), "WRITTEN-ANEW")
	assert.Empty(t, used())

	torn, err := json.Marshal(s.compacts("IN-TWO-PARTS"))
	require.NoError(t, err)
	s.tear(torn[:50])
	assert.Empty(t, used())
	s.tear(append(torn[50:], '\n'))
	assert.Contains(t, used(), "IN-TWO-PARTS")
}

// tear adds part of a line to the session's log.
func (s *session) tear(part []byte) {
	s.t.Helper()
	file, err := os.OpenFile(s.log(), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(s.t, err)
	defer file.Close()
	_, err = file.Write(part)
	require.NoError(s.t, err)
}

// markers finds flame's marks in a prompt.
var markers = regexp.MustCompile(`\[flame: call-[0-9a-f]{8}\]`)

func TestAPromptHasOneMark(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("BeforeAgent", map[string]any{"prompt": "Build it"})
	assert.Len(t, markers.FindAllString(s.invoke("look around"), -1), 1)
}

func TestDamagedEventsHarmNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	source := rand.New(rand.NewPCG(1, 2))
	events := samples(t)
	for range 1_000 {
		damaged := slices.Clone(events[source.IntN(len(events))])
		for range 1 + source.IntN(8) {
			damaged[source.IntN(len(damaged))] = byte(source.IntN(256))
		}
		_, _ = s.raw(damaged) // an error is for the log
	}
	for name, event := range map[string]string{
		"an event nobody knows":      `{"hook_event_name": "MoonPhase", "session_id": "main"}`,
		"an event without a session": `{"hook_event_name": "AfterAgent"}`,
		"inputs of another type":     `{"hook_event_name": "AfterTool", "session_id": "main", "tool_name": "write_file", "tool_input": 7}`,
		"a session with a path": `{"hook_event_name": "BeforeTool", "session_id": "../../etc", "tool_name": "mcp_flame_flame_push",` +
			` "mcp_context": {"tool_name": "flame_push"}, "transcript_path": "/nowhere/x.jsonl"}`,
		"a session with a pattern": `{"hook_event_name": "BeforeTool", "session_id": "*", "tool_name": "mcp_flame_flame_push",` +
			` "mcp_context": {"tool_name": "flame_push"}, "transcript_path": "/nowhere/x.jsonl"}`,
	} {
		_, err := s.raw([]byte(event))
		assert.NoError(t, err, name)
	}
}
