package claudecode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
	"flame/tools"
)

// A session plays events of Claude Code on a project with a real store.
type session struct {
	t     *testing.T
	p     *project.Project
	dir   string
	kept  *storetest.Counted
	clock core.Millis
	calls int
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), clock: 1_766_600_000_000}
	kept := projecttest.Open(t, filepath.Join(s.dir, ".flame"), store.Options{})
	s.kept = &storetest.Counted{Store: kept}
	s.p = &project.Project{
		Store: s.kept, Dir: s.dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90,
		Subagents: core.DefaultSubagentConfig(), Autonomy: projecttest.ByScores(),
		Now: func() core.Millis { s.clock++; return s.clock }, NewID: project.NewID,
	}
	return s
}

// flame is what the hook works with: the real tools.
func (s *session) flame() hosts.Flame {
	return hosts.Flame{Project: s.p, OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) }}
}

// raw takes in one event, in one transaction at most, and returns the answer.
func (s *session) raw(event []byte) string {
	s.t.Helper()
	before := s.kept.Transactions.Load()
	answer, err := claudecode.Hook(context.Background(), s.flame(), event)
	require.NoError(s.t, err, string(event[:min(len(event), 300)]))
	assert.LessOrEqual(s.t, s.kept.Transactions.Load()-before, int64(1), "%.300s", event)
	return string(answer)
}

// send is raw for an event of session "main" unless fields say otherwise.
func (s *session) send(name string, fields map[string]any) string {
	s.t.Helper()
	event := map[string]any{
		"hook_event_name": name, "session_id": "main",
		"transcript_path": filepath.Join(s.dir, "logs", "main.jsonl"),
	}
	for field, value := range fields {
		event[field] = value
	}
	raw, err := json.Marshal(event)
	require.NoError(s.t, err)
	return s.raw(raw)
}

func (s *session) prompt(text string) string {
	s.calls++
	return s.send("UserPromptSubmit", map[string]any{"prompt": text, "prompt_id": fmt.Sprint("p", s.calls)})
}

// spawn asks for a subagent by a call; agent is who asks, empty for the session.
func (s *session) spawn(call, agent, description string) string {
	return s.send("PreToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": call, "agent_id": agent, "tool_input": map[string]any{
		"description": description, "prompt": "TASK " + description, "subagent_type": "general-purpose",
	}})
}

// launched binds the subagent of a call that runs in the background.
func (s *session) launched(call, agent, child string) {
	s.send("PostToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": call, "agent_id": agent,
		"tool_response": map[string]any{"status": "async_launched", "agentId": child}})
}

func (s *session) stopped(child, last string) {
	s.send("SubagentStop", map[string]any{"agent_id": child, "agent_type": "general-purpose", "last_assistant_message": last})
}

// tree draws the frames without ids: status, goal and summary, by depth.
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

func (s *session) current(id string) string {
	s.t.Helper()
	by := project.Caller{Session: id, Parent: "main", Host: "claude-code", Trust: project.Stamped}
	if id == "main" {
		by.Parent = ""
	}
	frame, ok, err := projecttest.Current(context.Background(), s.p, by)
	require.NoError(s.t, err)
	if !ok {
		return ""
	}
	return frame.Goal
}
