package claudecode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/sweep"
	"flame/project/view"
)

// A happening is one event of a session, and what stands in the client's files by then.
type happening struct {
	event  string
	fields map[string]any
	writes func(s *session)
}

// calledFor are the events for which the client calls the server of the session, so that
// they are lost if it is killed while it has one.
var calledFor = []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"}

// logged adds lines to the log of the session, or with an agent's id to that subagent's.
func (s *session) logged(agent string, lines ...map[string]any) {
	s.t.Helper()
	file := filepath.Join(s.dir, "logs", "main.jsonl")
	if agent != "" {
		file = filepath.Join(s.dir, "logs", "main", "subagents", "agent-"+agent+".jsonl")
	}
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(s.t, err)
	defer out.Close()
	for _, line := range lines {
		s.calls++
		line["sessionId"], line["uuid"] = "main", fmt.Sprint("u", s.calls)
		line["timestamp"] = s.p.Now().Time().UTC().Format("2006-01-02T15:04:05.000Z")
		if agent != "" {
			line["agentId"], line["isSidechain"] = agent, true
		}
		raw, err := json.Marshal(line)
		require.NoError(s.t, err)
		_, err = out.Write(append(raw, '\n'))
		require.NoError(s.t, err)
	}
}

func (s *session) notes(agent string, meta map[string]any) {
	s.t.Helper()
	file := filepath.Join(s.dir, "logs", "main", "subagents", "agent-"+agent+".meta.json")
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	raw, err := json.Marshal(meta)
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(file, raw, 0o644))
}

func userLine(prompt string, content any) map[string]any {
	return map[string]any{"type": "user", "promptId": prompt, "message": map[string]any{"role": "user", "content": content}}
}

func agentLine(block map[string]any) map[string]any {
	return map[string]any{"type": "assistant", "message": map[string]any{
		"id": fmt.Sprint(block), "role": "assistant", "model": "claude-opus-5-5", "content": []any{block},
	}}
}

func saying(text string) map[string]any {
	return agentLine(map[string]any{"type": "text", "text": text})
}

// aDay is a session with a prompt, a subagent, a file, and an end; background has the
// subagent work on while the turn of its parent ends.
func aDay(background bool) []happening {
	asked := map[string]any{"description": "look around", "prompt": "LOOK", "subagent_type": "general-purpose"}
	meta := map[string]any{"toolUseId": "c1", "description": "look around", "agentType": "general-purpose"}
	result := map[string]any{"status": "completed", "agentId": "a1", "content": []any{map[string]any{"type": "text", "text": "LEAF"}}}
	day := []happening{
		{"UserPromptSubmit", map[string]any{"prompt": "Build the parser", "prompt_id": "p1"},
			func(s *session) { s.logged("", userLine("p1", "Build the parser")) }},
		{"PreToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": "c1", "tool_input": asked, "prompt_id": "p1"},
			func(s *session) {
				s.logged("", agentLine(map[string]any{"type": "tool_use", "id": "c1", "name": "Agent", "input": asked}))
			}},
		{"SubagentStart", map[string]any{"agent_id": "a1", "agent_type": "general-purpose", "prompt_id": "p1"},
			func(s *session) { s.notes("a1", meta) }},
	}
	answered := happening{"PostToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": "c1", "tool_input": asked, "tool_response": result, "prompt_id": "p1"}, nil}
	childEnds := happening{"SubagentStop", map[string]any{"agent_id": "a1", "agent_type": "general-purpose", "last_assistant_message": "LEAF", "prompt_id": "p1"},
		func(s *session) {
			s.logged("a1", userLine("p1", "LOOK"), saying("LEAF"))
			done := map[string]any{"finished": true}
			for name, value := range meta {
				done[name] = value
			}
			s.notes("a1", done)
		}}
	wrote := happening{"PostToolUse", map[string]any{"tool_name": "Write", "tool_use_id": "c2", "tool_input": map[string]any{"file_path": "/w/parser.go"}, "prompt_id": "p1"},
		func(s *session) {
			s.logged("", agentLine(map[string]any{"type": "tool_use", "id": "c2", "name": "Write", "input": map[string]any{"file_path": "/w/parser.go", "content": "a\n"}}))
			line := userLine("p1", []any{map[string]any{"type": "tool_result", "tool_use_id": "c2", "content": "File created successfully at: /w/parser.go"}})
			line["toolUseResult"] = map[string]any{"type": "create", "filePath": "/w/parser.go", "content": "a\n", "structuredPatch": []any{}}
			s.logged("", line)
		}}
	turnEnds := func(prompt, said string, running ...any) happening {
		return happening{"Stop", map[string]any{"last_assistant_message": said, "prompt_id": prompt, "background_tasks": append([]any{}, running...)},
			func(s *session) { s.logged("", saying(said)) }}
	}
	over := func(prompt string) happening {
		return happening{"SessionEnd", map[string]any{"reason": "other", "prompt_id": prompt}, nil}
	}
	if !background {
		return append(day, childEnds, answered, wrote, turnEnds("p1", "DONE"), over("p1"))
	}
	answered.fields["tool_response"] = map[string]any{"status": "async_launched", "agentId": "a1"}
	const told = "<task-notification>look around completed</task-notification>"
	return append(day, answered, wrote, turnEnds("p1", "WAITING", map[string]any{"id": "a1"}), childEnds,
		happening{"UserPromptSubmit", map[string]any{"prompt": told, "prompt_id": "p2"}, func(s *session) { s.logged("", userLine("p2", told)) }},
		turnEnds("p2", "DONE"), over("p2"))
}

// lives plays a day without the events that are lost, and returns what is left of it.
func lives(t *testing.T, day []happening, lost func(i int) bool) string {
	t.Helper()
	s := newSession(t)
	for i, h := range day {
		if h.writes != nil {
			h.writes(s)
		}
		if !lost(i) {
			s.send(h.event, h.fields)
		}
	}
	s.p.Transcripts = claudecode.Host().Logs.Read
	require.NoError(t, sweep.Once(context.Background(), s.p))
	tree, err := view.TreeOf(context.Background(), s.p, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
	require.NoError(t, err)
	var files []string
	for _, line := range tree.Lines {
		files = append(files, line.Frame.Goal+" "+strings.Join(line.Frame.Artifacts, " "))
	}
	return s.tree() + strings.Join(files, "\n")
}

// Whichever event is lost with a server that was killed while it had it, and if none comes
// at all because the user switched the server off, the work ends in the same tree.
func TestWhatIsLostWithTheServerIsMadeUpFromTheLog(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]bool{"foreground": false, "background": true} {
		day := aDay(background)
		want := lives(t, day, func(int) bool { return false })
		require.Contains(t, want, "completed Build the parser: DONE\n  completed look around: LEAF\n")
		require.Contains(t, want, "Build the parser /w/parser.go")
		for i, h := range day {
			if slices.Contains(calledFor, h.event) {
				t.Run(fmt.Sprintf("%s, without %s %d", name, h.event, i), func(t *testing.T) {
					t.Parallel()
					assert.Equal(t, want, lives(t, day, func(lost int) bool { return lost == i }))
				})
			}
		}
		t.Run(name+", with those of processes alone", func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, lives(t, day, func(i int) bool { return slices.Contains(calledFor, day[i].event) }))
		})
	}
}
