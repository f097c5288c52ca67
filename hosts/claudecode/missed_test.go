package claudecode_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/sweep"
)

type fields = map[string]any

// A happening is one event of a session, and what stands in the client's files by then.
type happening struct {
	event  string
	says   fields
	writes func(s *session)
}

// calledFor are the events for which the client calls the server of the session, so that
// they are lost if it is killed while it has one.
var calledFor = []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"}

// logged adds lines to the log of the session, or with an agent's id to that subagent's.
func (s *session) logged(agent string, lines ...fields) {
	s.T.Helper()
	file := "logs/main.jsonl"
	if agent != "" {
		file = "logs/main/subagents/agent-" + agent + ".jsonl"
	}
	for _, line := range lines {
		s.calls++
		line["sessionId"], line["uuid"] = "main", fmt.Sprint("u", s.calls)
		line["timestamp"] = s.P.Now().Time().UTC().Format("2006-01-02T15:04:05.000Z")
		if agent != "" {
			line["agentId"], line["isSidechain"] = agent, true
		}
		s.Lines(file, line)
	}
}

// notes has the client note of a subagent what it knows.
func (s *session) notes(agent string, meta fields) {
	s.T.Helper()
	file := "logs/main/subagents/agent-" + agent + ".meta.json"
	_ = os.Remove(filepath.Join(s.Dir, file)) // there may be none
	s.Lines(file, meta)
}

func userLine(prompt string, content any) fields {
	return fields{"type": "user", "promptId": prompt, "message": fields{"role": "user", "content": content}}
}

func agentLine(block fields) fields {
	return fields{"type": "assistant", "message": fields{
		"id": fmt.Sprint(block), "role": "assistant", "model": "claude-opus-5-5", "content": []any{block},
	}}
}

func calling(id, tool string, input fields) fields {
	return agentLine(fields{"type": "tool_use", "id": id, "name": tool, "input": input})
}

func saying(text string) fields {
	return agentLine(fields{"type": "text", "text": text})
}

// aDay is a session with a prompt, a subagent, a file, and an end; background has the
// subagent work on while the turn of its parent ends.
func aDay(background bool) []happening {
	asked := fields{"description": "look around", "prompt": "LOOK", "subagent_type": "general-purpose"}
	meta := fields{"toolUseId": "c1", "description": "look around", "agentType": "general-purpose"}
	begins := []happening{
		{"UserPromptSubmit", fields{"prompt": "Build the parser", "prompt_id": "p1"},
			func(s *session) { s.logged("", userLine("p1", "Build the parser")) }},
		{"PreToolUse", fields{"tool_name": "Agent", "tool_use_id": "c1", "tool_input": asked, "prompt_id": "p1"},
			func(s *session) { s.logged("", calling("c1", "Agent", asked)) }},
		{"SubagentStart", fields{"agent_id": "a1", "agent_type": "general-purpose", "prompt_id": "p1"},
			func(s *session) { s.notes("a1", meta) }},
	}
	answered := func(result fields) happening {
		return happening{"PostToolUse", fields{
			"tool_name": "Agent", "tool_use_id": "c1", "tool_input": asked, "tool_response": result, "prompt_id": "p1",
		}, nil}
	}
	childEnds := happening{"SubagentStop", fields{
		"agent_id": "a1", "agent_type": "general-purpose", "last_assistant_message": "LEAF", "prompt_id": "p1",
	}, func(s *session) {
		s.logged("a1", userLine("p1", "LOOK"), saying("LEAF"))
		finished := maps.Clone(meta)
		finished["finished"] = true
		s.notes("a1", finished)
	}}
	turnEnds := func(prompt, said string, running ...any) happening {
		return happening{"Stop", fields{"last_assistant_message": said, "prompt_id": prompt, "background_tasks": append([]any{}, running...)},
			func(s *session) { s.logged("", saying(said)) }}
	}
	over := func(prompt string) happening {
		return happening{"SessionEnd", fields{"reason": "other", "prompt_id": prompt}, nil}
	}
	if !background {
		result := fields{"status": "completed", "agentId": "a1", "content": []any{fields{"type": "text", "text": "LEAF"}}}
		return append(begins, childEnds, answered(result), written(), turnEnds("p1", "DONE"), over("p1"))
	}
	const told = "<task-notification>look around completed</task-notification>"
	return append(begins, answered(fields{"status": "async_launched", "agentId": "a1"}), written(),
		turnEnds("p1", "WAITING", fields{"id": "a1"}), childEnds,
		happening{"UserPromptSubmit", fields{"prompt": told, "prompt_id": "p2"}, func(s *session) { s.logged("", userLine("p2", told)) }},
		turnEnds("p2", "DONE"), over("p2"))
}

// written is that a file was.
func written() happening {
	input := fields{"file_path": "/w/parser.go", "content": "a\n"}
	return happening{"PostToolUse", fields{"tool_name": "Write", "tool_use_id": "c2", "tool_input": input, "prompt_id": "p1"}, func(s *session) {
		answer := userLine("p1", []any{fields{
			"type": "tool_result", "tool_use_id": "c2", "content": "File created successfully at: /w/parser.go",
		}})
		answer["toolUseResult"] = fields{"type": "create", "filePath": "/w/parser.go", "content": "a\n", "structuredPatch": []any{}}
		s.logged("", calling("c2", "Write", input), answer)
	}}
}

// lives plays a day without the events that are lost, and returns what is left of it, and
// how many events were made up.
func lives(t *testing.T, day []happening, lost func(i int) bool) (left string, madeUp int) {
	t.Helper()
	s := newSession(t)
	for i, h := range day {
		if h.writes != nil {
			h.writes(s)
		}
		if !lost(i) {
			s.send(h.event, h.says)
		}
	}
	s.P.Transcripts = claudecode.Host().Logs.Read
	require.NoError(t, sweep.Once(context.Background(), s.P))
	var files []string
	frames, _ := s.Frames()
	for _, f := range frames {
		files = append(files, f.Goal+" "+strings.Join(f.Artifacts, " "))
	}
	late, err := s.P.TakeLate(context.Background())
	require.NoError(t, err)
	return s.Tree() + strings.Join(files, "\n"), lo.SumBy(late, func(l project.LateEvents) int { return l.MadeUp })
}

// Whichever event is lost with a server that was killed while it had it, and if none comes
// at all because the user switched the server off, the work ends in the same tree.
func TestEventsLostWithTheServerAreRecoveredFromTheLog(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]bool{"foreground": false, "background": true} {
		day := aDay(background)
		want, madeUp := lives(t, day, func(int) bool { return false })
		assert.Zero(t, madeUp)
		require.Contains(t, want, "completed Build the parser: DONE\n  completed look around: LEAF\n")
		require.Contains(t, want, "Build the parser /w/parser.go")
		for i, h := range day {
			if slices.Contains(calledFor, h.event) {
				t.Run(fmt.Sprintf("%s, without %s %d", name, h.event, i), func(t *testing.T) {
					t.Parallel()
					left, _ := lives(t, day, func(lost int) bool { return lost == i })
					assert.Equal(t, want, left)
				})
			}
		}
		t.Run(name+", with those of processes alone", func(t *testing.T) {
			t.Parallel()
			left, madeUp := lives(t, day, func(i int) bool { return slices.Contains(calledFor, day[i].event) })
			assert.Equal(t, want, left)
			assert.Positive(t, madeUp, "doctor reports them")
		})
	}
}
