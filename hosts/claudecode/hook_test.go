package claudecode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/stack"
	"flame/tests/projecttest"
)

func TestEverySampleIsHandled(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/events/*.json")
	require.NoError(t, err)
	require.Len(t, files, 47)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			event, err := os.ReadFile(file)
			require.NoError(t, err)
			s := newSession(t)
			first := s.raw(event)
			before := s.tree()
			s.raw(event)
			assert.Equal(t, before, s.tree(), "the same event twice changes nothing")
			if first == "" {
				return
			}
			var answer struct {
				Output struct{ AdditionalContext string } `json:"hookSpecificOutput"`
			}
			require.NoError(t, json.Unmarshal([]byte(first), &answer))
			assert.LessOrEqual(t, len(answer.Output.AdditionalContext), 9_500)
		})
	}
}

func TestUnknownInputIsIgnored(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for name, event := range map[string]string{
		"an event nobody knows":      `{"hook_event_name": "MoonPhase", "session_id": "main", "phase": "full"}`,
		"a field of another type":    `{"hook_event_name": "Stop", "session_id": "main", "background_tasks": "none"}`,
		"an event without a session": `{"hook_event_name": "Stop"}`,
		"an answer of 10 MB": `{"hook_event_name": "PostToolUse", "session_id": "main", "tool_name": "Bash", "tool_response": "` +
			strings.Repeat("x", 10<<20) + `"}`,
		"a tool nobody knows": `{"hook_event_name": "PostToolUse", "session_id": "main", "tool_name": "Juggle", "tool_input": 7}`,
	} {
		assert.Empty(t, s.raw([]byte(event)), name)
	}
	for name, event := range map[string]string{"nothing": "", "no JSON": "\x00\xff{", "a list": "[]"} {
		_, err := claudecode.Hook(context.Background(), s.flame(), []byte(event))
		assert.Error(t, err, name)
	}
	assert.NoDirExists(t, filepath.Join(s.dir, ".flame"), "no event creates data")
}

func TestTheFirstPromptNamesTheRoot(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("/status")
	assert.Equal(t, "in_progress Session main\n", s.tree(), "a command is not a goal")
	s.prompt("Fix the login\nand be quick")
	assert.Equal(t, "in_progress Fix the login\n", s.tree())
	s.prompt("Now the logout")
	s.prompt("<task-notification>\n<task-id>x</task-id>\n</task-notification>")
	assert.Equal(t, "in_progress Fix the login\n", s.tree(), "only a default goal is replaced")
}

func TestSubagentsGetFrames(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	assert.Contains(t, s.spawn("t2", "", "second"), "flame-context", "its context is in its prompt")
	s.spawn("t1", "", "first")
	s.spawn("t1", "", "first")
	s.launched("t1", "", "a1")
	s.launched("t2", "", "a2")
	s.spawn("t3", "a1", "nested")
	s.launched("t3", "a1", "a3")
	assert.Equal(t, "in_progress main work\n  in_progress second\n  in_progress first\n    in_progress nested\n", s.tree())
	assert.Equal(t, "nested", s.current("a3"))
	assert.Equal(t, "main work", s.current("main"))
	s.stopped("a1", "FIRST-LAST")
	assert.Contains(t, s.tree(), "in_progress first", "it waits for the one below it")
	s.stopped("a3", "NESTED-LAST")
	s.stopped("a3", "NESTED-LAST")
	assert.Contains(t, s.tree(), "completed first: FIRST-LAST\n    completed nested: NESTED-LAST\n")
}

func TestASubagentIsKnownByItsFileAtItsFirstTool(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.spawn("t1", "", "first")
	meta := filepath.Join(s.dir, "logs", "main", "subagents", "agent-a1.meta.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(meta), 0o755))
	require.NoError(t, os.WriteFile(meta, []byte(`{"agentType": "general-purpose", "toolUseId": "t1"}`), 0o644))
	s.send("PreToolUse", map[string]any{"tool_name": "mcp__flame__flame_tree", "tool_use_id": "x", "agent_id": "a1", "tool_input": map[string]any{}})
	assert.Equal(t, "first", s.current("a1"))
	s.send("PreToolUse", map[string]any{"tool_name": "mcp__flame__flame_tree", "agent_id": "../../etc", "tool_input": map[string]any{}})
}

func TestWhatASubagentDidBeforeItWasKnownMovesToItsPlace(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.spawn("t1", "", "first")
	_, err := stack.Push(context.Background(), s.p, project.Caller{Session: "a1", Parent: "main", Host: "claude-code", Trust: project.Stamped}, "early work", "")
	require.NoError(t, err)
	s.launched("t1", "", "a1")
	assert.Equal(t, "in_progress main work\n  in_progress first\n    in_progress early work\n", s.tree())
	assert.Equal(t, "early work", s.current("a1"))
}

// none is a turn's end with nothing left in the background.
var none = map[string]any{"background_tasks": []any{}}

func TestTheEndsOfSubagents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(s *session)
		want string
	}{
		"completed": {func(s *session) { s.stopped("a1", "LAST") }, "completed first: LAST"},
		"completed in the foreground": {func(s *session) {
			s.send("PostToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": "t1", "tool_response": map[string]any{
				"status": "completed", "agentId": "a1", "content": []map[string]any{{"text": "<tools-used-before-summary>x</tools-used-before-summary>"}, {"text": "LAST"}},
			}})
		}, "completed first: LAST"},
		"failed": {func(s *session) {
			s.send("PostToolUseFailure", map[string]any{"tool_name": "Agent", "tool_use_id": "t1", "error": "API Error: 500"})
		}, "failed first: API Error: 500"},
		"interrupted": {func(s *session) {
			s.send("PostToolUseFailure", map[string]any{"tool_name": "Agent", "tool_use_id": "t1", "error": "interrupted", "is_interrupt": true})
		}, "blocked first: interrupted"},
		"failed by the model's API": {func(s *session) {
			s.send("StopFailure", map[string]any{"agent_id": "a1", "error": "overloaded"})
		}, "failed first: overloaded"},
		"stopped": {func(s *session) {
			s.send("PostToolUse", map[string]any{"tool_name": "TaskStop", "tool_input": map[string]any{"task_id": "a1"}})
		}, "blocked first: (stopped before it was finished)"},
		"unknown to a client that does not tell": {func(s *session) { s.send("Stop", nil) }, "in_progress first"},
		"gone when its parent's turn ends":       {func(s *session) { s.send("Stop", none) }, "blocked first: (its host no longer runs it)"},
		"gone with the session":                  {func(s *session) { s.send("SessionEnd", nil) }, "blocked first: (its host no longer runs it)"},
		"still at work when the turn ends": {func(s *session) {
			s.send("Stop", map[string]any{"background_tasks": []map[string]any{{"id": "a1"}}})
		}, "in_progress first"},
		"taken for lost, and done after all": {func(s *session) {
			s.send("Stop", none)
			s.stopped("a1", "LAST")
		}, "completed first: LAST"},
		"a compaction's end is none": {func(s *session) {
			s.send("SubagentStop", map[string]any{"agent_id": "a1", "agent_type": "", "last_assistant_message": "LAST"})
		}, "in_progress first"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.prompt("main work")
			s.spawn("t1", "", "first")
			s.launched("t1", "", "a1")
			tt.end(s)
			_, below, _ := strings.Cut(s.tree(), "\n")
			assert.Equal(t, "  "+tt.want+"\n", below)
		})
	}
}

func TestAFinishedSubagentThatGoesOnGetsAnotherFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.spawn("t1", "", "first")
	assert.Empty(t, s.send("SubagentStart", map[string]any{"agent_id": "a1", "agent_type": "general-purpose"}), "not known yet")
	s.launched("t1", "", "a1")
	s.stopped("a1", "LAST")
	again := s.send("SubagentStart", map[string]any{"agent_id": "a1", "agent_type": "general-purpose"})
	assert.Contains(t, again, "first (continued)")
	s.stopped("a1", "LAST-2")
	assert.Equal(t, "in_progress main work\n  completed first: LAST\n  completed first (continued): LAST-2\n", s.tree())
}

func TestASubagentThatWasNeverStartedIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.spawn("t1", "", "denied")
	s.send("Stop", none)
	assert.Contains(t, s.tree(), "blocked denied")
}

func TestAnUnmatchedSubagentMustBeWorthAFrame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		messages int
		age      core.Millis
		want     string
	}{
		"long enough":  {3, 60_000, "in_progress main work\n  completed first: LAST\n"},
		"too few":      {2, 60_000, "in_progress main work\n"},
		"over at once": {3, 1_000, "in_progress main work\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.p.Subagents.SubagentPatterns = []string{"never"}
			s.prompt("main work")
			assert.Empty(t, s.spawn("t1", "", "first"))
			s.launched("t1", "", "a1")
			s.send("PostToolUse", map[string]any{"tool_name": "Write", "agent_id": "a1", "tool_input": map[string]any{"file_path": "x"}})
			assert.Equal(t, "in_progress main work\n", s.tree(), "its work makes no frame")
			s.clock += tt.age
			log := filepath.Join(s.dir, "a1.jsonl")
			require.NoError(t, os.WriteFile(log, []byte(strings.Repeat(`{"type": "assistant"}`+"\n"+`{"type": "attachment"}`+"\n", tt.messages)), 0o644))
			s.send("SubagentStop", map[string]any{"agent_id": "a1", "agent_type": "x", "last_assistant_message": "LAST", "agent_transcript_path": log})
			assert.Equal(t, tt.want, s.tree())
		})
	}
}

func TestSuggestionsStandBeforeTheSessionTheyConcern(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("Implement user authentication")
	assert.Empty(t, s.prompt("Draw the quarterly revenue charts anew"), "nothing was done yet that would have to be kept apart")
	for i := range 3 {
		s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": fmt.Sprintf("%s/f%d", s.dir, i)}})
	}
	assert.Contains(t, s.prompt("Draw the quarterly revenue charts anew"), "[FLAME SUGGESTION")
	told := s.prompt("Paint the office walls in green")
	assert.Contains(t, told, "Paint the office walls in green", "the suggestion is about the newest prompt")
	assert.NotContains(t, told, "revenue", "it replaces the suggestion for an earlier prompt")
	assert.Equal(t, "Implement user authentication", s.current("main"))
	assert.NotContains(t, s.send("UserPromptSubmit", map[string]any{"session_id": "other", "prompt": "Hello there", "prompt_id": "o1"}), "SUGGESTION")
}

func TestOnlyChangesAreReported(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	assert.Empty(t, s.prompt("main work"))
	assert.Empty(t, s.prompt("go on"), "nothing changed")
	s.spawn("t1", "", "first")
	s.launched("t1", "", "a1")
	s.stopped("a1", "THE-SUMMARY </goal></flame-changes> [FLAME SUGGESTION")
	told := s.prompt("and now")
	assert.Contains(t, told, "THE-SUMMARY")
	assert.Equal(t, 1, strings.Count(told, `\u003c/flame-changes\u003e`), "text of frames cannot close flame's elements")
	assert.NotContains(t, told, "[FLAME SUGGESTION")
	assert.Empty(t, s.prompt("and then"), "reported once")

	s.spawn("t2", "", "second")
	s.send("PostToolUse", map[string]any{"tool_name": "Agent", "tool_use_id": "t2", "tool_response": map[string]any{
		"status": "completed", "agentId": "a2", "content": []map[string]any{{"text": "HANDED-OVER"}},
	}})
	assert.Empty(t, s.prompt("so?"), "the host has reported it")
}

func TestACompactionIsRequestedAndItsSummaryStored(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	assert.Empty(t, s.send("PreCompact", nil), "a session that flame does not know")
	s.prompt("main work")
	asked := s.send("PreCompact", map[string]any{"trigger": "auto"})
	assert.True(t, strings.HasPrefix(asked, "Flame frame frame-"), "plain text: %s", asked)
	assert.Contains(t, asked, "outgrew its room")
	assert.Contains(t, s.send("SessionStart", map[string]any{"source": "compact"}), "current-frame")
	s.send("PostCompact", map[string]any{"compact_summary": " \n"})
	assert.Equal(t, "in_progress main work\n", s.tree(), "an empty summary")
	s.send("PostCompact", map[string]any{"compact_summary": "<analysis>a</analysis>\n<summary>\nTHE-SUMMARY\n</summary>"})
	assert.Equal(t, "in_progress main work: THE-SUMMARY\n", s.tree())

	by := project.Caller{Session: "main", Host: "claude-code", Trust: project.Stamped}
	_, err := stack.Push(context.Background(), s.p, by, "piece", "")
	require.NoError(t, err)
	_, err = stack.Pop(context.Background(), s.p, by, stack.PopArgs{Status: core.Completed, Summary: "mine", GenerateSummary: true})
	require.NoError(t, err)
	s.send("PostCompact", map[string]any{"compact_summary": "made"})
	assert.Equal(t, "in_progress main work: THE-SUMMARY\n  completed piece: mine\n\n---\n\nmade\n", s.tree(), "a pop waited for it")
}

func TestTheNoteForACompactionIsShortAndTrue(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("\x1b[31m" + strings.Repeat("a very long goal ", 60))
	by := project.Caller{Session: "main", Host: "claude-code", Trust: project.Stamped}
	piece, err := stack.Push(context.Background(), s.p, by, "piece", "")
	require.NoError(t, err)
	for i := range 5 {
		_, _, err = stack.AddDecision(context.Background(), s.p, by, "", fmt.Sprint("choice ", i, strings.Repeat(" and why", 30)))
		require.NoError(t, err)
	}
	for trigger, says := range map[string]string{"auto": "outgrew its room", "manual": "This is a checkpoint"} {
		note := s.send("PreCompact", map[string]any{"trigger": trigger})
		assert.LessOrEqual(t, len([]rune(note)), 600)
		assert.Contains(t, note, piece.ID+" (in_progress): piece")
		assert.Contains(t, note, says)
		assert.NotContains(t, note, "\x1b")
		assert.NotContains(t, note, "overflow")
		assert.Contains(t, note, "Decided: ")
	}
	assert.NotContains(t, s.send("PreCompact", map[string]any{"trigger": "manual"}), "outgrew")

	var inner []string
	for range 20 {
		f, err := stack.Push(context.Background(), s.p, by, "inner "+strings.Repeat("😀", 99), "")
		require.NoError(t, err)
		_, err = stack.Pop(context.Background(), s.p, by, stack.PopArgs{Status: core.Completed, Summary: "KNOWN-SUMMARY"})
		require.NoError(t, err)
		inner = append(inner, f.ID)
	}
	note := s.send("PreCompact", map[string]any{"trigger": "auto"})
	assert.LessOrEqual(t, len(utf16.Encode([]rune(note))), 600)
	assert.Contains(t, note, "Known already, do not repeat it")
	assert.Contains(t, note, inner[19])
	assert.NotContains(t, note, inner[0])
	assert.Regexp(t, ` and 1\d more\.`, note)
	prompt := s.send("PreCompact", map[string]any{"trigger": "manual"})
	assert.Contains(t, prompt, "Tell what has been done so far")

	_, err = stack.Pop(context.Background(), s.p, by, stack.PopArgs{Status: core.Completed, GenerateSummary: true})
	require.NoError(t, err)
	assert.Contains(t, s.send("PreCompact", map[string]any{"trigger": "manual"}), "This piece of work ends here")
}

func TestFilesBecomeArtifacts(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	for range 2 {
		s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": filepath.Join(s.dir, "a", "b.go")}})
	}
	frame, _, err := projecttest.Current(context.Background(), s.p, project.Caller{Session: "main", Host: "claude-code"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a/b.go"}, frame.Artifacts)
}

// written reports that the session wrote a file: work that others may take up.
func (s *session) written() {
	s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": filepath.Join(s.dir, "a.go")}})
}

func TestAnEndedSessionsWorkIsOffered(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	assert.Empty(t, s.send("SessionStart", map[string]any{"source": "startup"}))
	assert.NoDirExists(t, filepath.Join(s.dir, ".flame"), "a start leaves nothing behind")
	s.prompt("main work")
	s.written()
	s.send("SessionEnd", nil)
	assert.Equal(t, "blocked main work: (its session ended before the work was done)\n", s.tree())
	offered := s.send("SessionStart", map[string]any{"session_id": "other", "source": "startup"})
	assert.Contains(t, offered, "main work")
	assert.Contains(t, s.send("SessionStart", map[string]any{"source": "compact"}), "current-frame")
}

func TestWorkOfAKilledSessionIsOfferedAfterAWhile(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.written()
	begin := map[string]any{"session_id": "other", "source": "startup"}
	assert.Empty(t, s.send("SessionStart", begin), "it may be at work")
	s.clock += 13 * 60 * 60 * 1000
	assert.Contains(t, s.send("SessionStart", begin), "main work")
}

// rest ends a turn by itself.
func (s *session) rest(last string) {
	s.send("Stop", map[string]any{"background_tasks": []any{}, "last_assistant_message": last})
}

func TestEveryEndOfASessionEndsItsRoot(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"clear", "logout", "prompt_input_exit", "resume", "bypass_permissions_disabled", "other", ""} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.prompt("main work")
			s.rest("all green")
			s.send("SessionEnd", map[string]any{"reason": reason})
			assert.Equal(t, "completed main work: all green\n", s.tree())
			next := map[string]any{"session_id": "next", "source": "clear", "prompt": "other work", "prompt_id": "n1"}
			assert.Empty(t, s.send("SessionStart", next), "nothing is unfinished")
			s.send("UserPromptSubmit", next)
			assert.Equal(t, "in_progress other work\ncompleted main work: all green\n", s.tree(), "another session, another root")
			assert.Empty(t, s.send("SessionStart", map[string]any{"source": "resume"}), "its history is complete")
			s.prompt("and the rest")
			assert.Equal(t, "in_progress other work\nin_progress main work: all green\n", s.tree())
			s.send("StopFailure", map[string]any{"error": "overloaded"})
			s.send("SessionEnd", map[string]any{"reason": reason})
			assert.Equal(t, "in_progress other work\nblocked main work: all green\n", s.tree())
		})
	}
}

func TestAForkIsASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.prompt("main work")
	s.rest("all green")
	s.send("SessionEnd", nil)
	fork := map[string]any{"session_id": "fork", "source": "resume", "prompt": "try it another way", "prompt_id": "f1"}
	s.send("SessionStart", fork)
	s.send("UserPromptSubmit", fork)
	s.send("SessionEnd", fork)
	assert.Equal(t, "blocked try it another way: (its session ended before the work was done)\ncompleted main work: all green\n", s.tree())
}

func TestAtLevelAutoDueActionsHappen(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.p.Autonomy.Level, s.p.Autonomy.PopThreshold = core.AutonomyAuto, 70
	s.prompt("Implement user authentication")
	for i := range 3 {
		s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": fmt.Sprintf("%s/f%d", s.dir, i)}})
	}
	told := s.prompt("Draw the quarterly revenue charts anew")
	assert.Equal(t, "Draw the quarterly revenue charts anew", s.current("main"))
	assert.Contains(t, told, `by=\"autonomy\"`, "it is announced")
	for range 7 {
		s.send("Stop", map[string]any{"last_assistant_message": "I am stuck"})
	}
	assert.Equal(t, "Implement user authentication", s.current("main"), s.tree())
	assert.Contains(t, s.tree(), "blocked Draw the quarterly revenue charts anew: I am stuck")
}

func TestHooksThatAreOffDoNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	require.NoError(t, s.p.SetOff(context.Background(), true))
	s.prompt("main work")
	s.spawn("t1", "", "first")
	assert.Empty(t, s.tree())
}
