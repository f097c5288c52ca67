package codex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/codex"
	"flame/project"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tools"
)

// A session plays events of Codex on a project with a real store.
type session struct {
	t     *testing.T
	p     *project.Project
	dir   string
	clock core.Millis
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), clock: 1_766_600_000_000}
	kept := projecttest.Open(t, filepath.Join(s.dir, ".flame"), store.Options{})
	s.p = &project.Project{
		Store: kept, Dir: s.dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90,
		Subagents: core.DefaultSubagentConfig(), Autonomy: projecttest.ByScores(),
		Now: func() core.Millis { s.clock++; return s.clock }, NewID: project.NewID,
	}
	return s
}

func (s *session) raw(event []byte) (string, error) {
	flame := hosts.Flame{Project: s.p, OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) }}
	answer, err := codex.Hook(context.Background(), flame, event)
	return string(answer), err
}

// send plays an event of session "main" unless fields say otherwise.
func (s *session) send(name string, fields map[string]any) string {
	s.t.Helper()
	event := map[string]any{"hook_event_name": name, "session_id": "main", "cwd": s.dir, "permission_mode": "bypassPermissions"}
	for field, value := range fields {
		event[field] = value
	}
	raw, err := json.Marshal(event)
	require.NoError(s.t, err)
	answer, err := s.raw(raw)
	require.NoError(s.t, err)
	return answer
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
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	require.Len(t, lines, 16)
	return lines
}

func TestARealSessionBecomesATree(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, event := range samples(t) {
		answer, err := s.raw(event)
		require.NoError(t, err)
		before := s.tree()
		_, err = s.raw(event)
		require.NoError(t, err)
		assert.Equal(t, before, s.tree(), "the same event twice changes nothing: %.300s", event)
		if strings.Contains(string(event), `"PreToolUse"`) && strings.Contains(string(event), "flame_push") {
			assert.Contains(t, answer, `"session_id":"01a20a84-29b7-7861-b773-b59c5b355916"`)
			assert.Contains(t, answer, `"permissionDecision":"allow"`)
		}
	}
	assert.Equal(t, "completed Build MANGO: over\n  completed SUBX look around: SUBDONE\n", s.tree())
	tree, err := view.TreeOf(t.Context(), s.p, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
	require.NoError(t, err)
	assert.Equal(t, []string{"/home/u/shop/a.txt", "/home/u/shop/b.txt"}, tree.Lines[0].Frame.Artifacts)
}

// The ids of subagents come from events alone: no log is read for them.
func TestSubagentsEndAsTheyDid(t *testing.T) {
	t.Parallel()
	spawn := func(s *session, call, task, response string) {
		fields := map[string]any{"tool_name": "spawn_agent", "tool_use_id": call, "tool_input": map[string]any{"message": task}}
		assert.Contains(t, s.send("PreToolUse", fields), "flame-context")
		fields["tool_response"] = response
		s.send("PostToolUse", fields)
	}
	tests := map[string]struct {
		response string
		then     func(s *session)
		want     string
	}{
		"it works": {`{"agent_id":"child"}`, func(*session) {}, "in_progress look around\n"},
		"it ends": {`{"agent_id":"child"}`, func(s *session) {
			s.send("SubagentStop", map[string]any{"agent_id": "child", "last_assistant_message": "all seen"})
		}, "completed look around: all seen\n"},
		"it is closed": {`{"agent_id":"child"}`, func(s *session) {
			s.send("PostToolUse", map[string]any{"tool_name": "multi_agent_v1close_agent", "tool_input": map[string]any{"target": "child"}})
		}, "blocked look around"},
		"it could not be started": {"agent thread limit reached", func(*session) {}, "failed look around"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.send("UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "Build it"})
			spawn(s, "c1", "look around", tt.response)
			tt.then(s)
			_, child, _ := strings.Cut(s.tree(), "\n")
			assert.True(t, strings.HasPrefix(strings.TrimSpace(child)+"\n", tt.want), child)
		})
	}
}

func TestASubagentsPromptIsNoPrompt(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.send("UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "look", "agent_id": "child", "agent_type": "default"})
	assert.Empty(t, s.tree())
}

// Codex reports every session that asks for nothing as unlimited; its sandbox says what it may do.
func TestAgentsMayDoNoMoreThanTheSandboxOfTheirCaller(t *testing.T) {
	t.Parallel()
	in := func(sandbox string) string {
		return `{"timestamp":"2026-11-24T19:01:49.022Z","type":"turn_context","payload":{"sandbox_policy":{"type":"` + sandbox + `"}}}`
	}
	tests := map[string]struct{ log, reported, want string }{
		"unlimited":               {in("danger-full-access"), "bypassPermissions", "bypassPermissions"},
		"it asks":                 {in("danger-full-access"), "default", "default"},
		"it writes the workspace": {in("workspace-write"), "bypassPermissions", "acceptEdits"},
		"it reads":                {in("read-only"), "bypassPermissions", "plan"},
		"it plans":                {in("danger-full-access"), "plan", "plan"},
		"an unknown sandbox":      {in("external-sandbox"), "bypassPermissions", "plan"},
		"no log":                  {"", "bypassPermissions", "plan"},
		"a torn log":              {`{"type":"turn_context","payload":{"sandbox_po`, "bypassPermissions", "plan"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			log := filepath.Join(s.dir, "rollout.jsonl")
			require.NoError(t, os.WriteFile(log, []byte(tt.log+"\n"), 0o644))
			s.send("UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "Build it", "transcript_path": log, "permission_mode": tt.reported})
			answer := s.send("PreToolUse", map[string]any{
				"transcript_path": log, "permission_mode": tt.reported, "tool_use_id": "c1",
				"tool_name": "mcp__flame__spawn_agent", "tool_input": map[string]any{"prompt": "x"},
			})
			assert.Contains(t, answer, `"session_id":"main"`)
			assert.Contains(t, answer, `"permissionDecision":"allow"`, "without it Codex ignores the arguments")
			var standing project.Standing
			require.NoError(t, s.p.Store.View(t.Context(), func(tx project.Tx) (err error) {
				standing, err = project.StandingOf(tx, "main")
				return err
			}))
			assert.Equal(t, tt.want, standing.Mode)
		})
	}
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
		"an event without a session": `{"hook_event_name": "Stop"}`,
		"inputs of another type":     `{"hook_event_name": "PostToolUse", "session_id": "main", "tool_name": "apply_patch", "tool_input": 7}`,
		"a subagent with a path": `{"hook_event_name": "PostToolUse", "session_id": "main", "tool_name": "multi_agent_v1close_agent",` +
			` "tool_input": {"target": "../../etc/passwd"}, "transcript_path": "/nowhere/x.jsonl"}`,
	} {
		_, err := s.raw([]byte(event))
		assert.NoError(t, err, name)
	}
}
