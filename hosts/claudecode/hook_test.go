package claudecode_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/render"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, claudecode.Host(), "testdata") }

// A session plays events of Claude Code on a project with a real store.
type session struct {
	*hooktest.Session
	calls int
}

func newSession(t *testing.T) *session {
	t.Helper()
	return &session{Session: hooktest.Of(t, claudecode.Host(), "testdata").New(t)}
}

// send takes in an event of session "main" unless fields say otherwise.
func (s *session) send(name string, fields map[string]any) string {
	s.T.Helper()
	event := map[string]any{"hook_event_name": name}
	maps.Copy(event, fields)
	return s.Send(event)
}

// spawned has a subagent at work.
func (s *session) spawned() {
	s.T.Helper()
	s.Do("prompt", "main work")
	s.Do("child asked", "t1", "first")
}

func TestASubagentIsKnownByItsFileAtItsFirstTool(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.spawned()
	s.Write("logs/main/subagents/agent-a1.meta.json", `{"agentType": "general-purpose", "toolUseId": "t1"}`)
	for _, agent := range []string{"a1", "../../etc"} {
		s.send("PreToolUse", map[string]any{"tool_name": "mcp__flame__flame_tree", "tool_use_id": "x", "agent_id": agent, "tool_input": map[string]any{}})
	}
	assert.Equal(t, "first", s.Current("a1").Goal)
}

func TestWhatASubagentDidBeforeItWasKnownMovesToItsPlace(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.spawned()
	_, err := stack.Push(t.Context(), s.P, project.Caller{Session: "a1", Parent: "main", Host: "claude-code", Trust: project.TrustHook}, "early work", "")
	require.NoError(t, err)
	s.Do("child begins", "t1", "a1")
	assert.Equal(t, "in_progress main work\n  in_progress first\n    in_progress early work\n", s.Tree())
	assert.Equal(t, "early work", s.Current("a1").Goal)
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
			s.P.Subagents.SubagentPatterns = []string{"never"}
			s.spawned()
			s.Do("child begins", "t1", "a1")
			s.send("PostToolUse", map[string]any{"tool_name": "Write", "agent_id": "a1", "tool_input": map[string]any{"file_path": "x"}})
			assert.Equal(t, "in_progress main work\n", s.Tree(), "its work makes no frame")
			*s.Clock += tt.age
			s.Write("a1.jsonl", strings.Repeat(`{"type": "assistant"}`+"\n"+`{"type": "attachment"}`+"\n", tt.messages))
			s.send("SubagentStop", map[string]any{
				"agent_id": "a1", "agent_type": "x", "last_assistant_message": "LAST", "agent_transcript_path": filepath.Join(s.Dir, "a1.jsonl"),
			})
			assert.Equal(t, tt.want, s.Tree())
		})
	}
}

func TestWhatTheHostHandedOverIsNoNews(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.spawned()
	s.Do("ended: in the foreground")
	assert.Empty(t, s.Once("prompt", "so?"), "the host has reported it")
}

func TestAContinuedSubagentIsTold(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.spawned()
	assert.Empty(t, s.Once("child goes on", "a1"), "not known yet")
	s.Do("child begins", "t1", "a1")
	s.Do("child ends", "t1", "a1", "LAST")
	assert.Contains(t, s.Once("child goes on", "a1"), "first (continued)")
}

func TestSuggestionsStandBeforeTheSessionTheyConcern(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Once("prompt", "Implement user authentication")
	assert.Empty(t, s.Once("prompt", "Install the kitchen shelves"), "nothing was done yet that would have to be kept apart")
	for i := range 3 {
		s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": fmt.Sprintf("%s/f%d", s.Dir, i)}})
	}
	assert.Contains(t, s.Once("prompt", "Write the quarterly revenue forecast"), "[FLAME SUGGESTION")
	told := s.Once("prompt", "Prepare the winter release announcement")
	assert.Contains(t, told, "Prepare the winter release announcement", "the suggestion is about the newest prompt")
	assert.NotContains(t, told, "revenue", "it replaces the suggestion for an earlier prompt")
	assert.Equal(t, "Implement user authentication", s.Current("").Goal)
	assert.NotContains(t, s.send("UserPromptSubmit", map[string]any{"session_id": "other", "prompt": "Hello there", "prompt_id": "o1"}), "SUGGESTION")
}

func TestTheNoteForACompactionIsShortAndTrue(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Once("prompt", "\x1b[31m"+strings.Repeat("a very long goal ", 60))
	by := project.Caller{Session: "main", Host: "claude-code", Trust: project.TrustHook}
	piece, err := stack.Push(t.Context(), s.P, by, "piece", "")
	require.NoError(t, err)
	for i := range 5 {
		_, _, err = stack.AddDecision(t.Context(), s.P, by, "", fmt.Sprint("choice ", i, strings.Repeat(" and why", 30)))
		require.NoError(t, err)
	}
	for trigger, says := range map[string]string{"auto": "outgrew its room", "manual": "This is a checkpoint"} {
		note := s.send("PreCompact", map[string]any{"trigger": trigger})
		assert.LessOrEqual(t, len([]rune(note)), 900)
		assert.Contains(t, note, piece.ID+` (in_progress): "piece"`)
		assert.Contains(t, note, says)
		assert.NotContains(t, note, "\x1b")
		assert.NotContains(t, note, "overflow")
		assert.Contains(t, note, "Decided: ")
	}
	assert.NotContains(t, s.send("PreCompact", map[string]any{"trigger": "manual"}), "outgrew")

	var inner []string
	for range 20 {
		f, err := stack.Push(t.Context(), s.P, by, "inner "+strings.Repeat("😀", 99), "")
		require.NoError(t, err)
		_, err = stack.Pop(t.Context(), s.P, by, stack.PopArgs{Status: core.Completed, Summary: "KNOWN-SUMMARY"})
		require.NoError(t, err)
		inner = append(inner, f.ID)
	}
	note := s.send("PreCompact", map[string]any{"trigger": "auto"})
	assert.LessOrEqual(t, len(utf16.Encode([]rune(note))), 900)
	assert.Contains(t, note, "Known already, do not repeat it")
	assert.Contains(t, note, inner[19])
	assert.NotContains(t, note, inner[0])
	assert.Regexp(t, ` and \d+ more\.`, note)
	prompt := s.send("PreCompact", map[string]any{"trigger": "manual"})
	assert.Contains(t, prompt, "Tell what has been done so far")

	_, err = stack.Pop(t.Context(), s.P, by, stack.PopArgs{Status: core.Completed, GenerateSummary: true})
	require.NoError(t, err)
	assert.Contains(t, s.send("PreCompact", map[string]any{"trigger": "manual"}), "This piece of work ends here")
}

func TestWhatANoteCallsKnownStandsInTheNextContext(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Once("prompt", "main work")
	by := project.Caller{Session: "main", Host: "claude-code", Trust: project.TrustHook}
	for i := range 40 {
		_, err := stack.Push(t.Context(), s.P, by, fmt.Sprint("part ", i), "")
		require.NoError(t, err)
		summary := fmt.Sprintf("BEGIN-%d %s END-%d", i, strings.Repeat("what was done & why ", 30), i)
		_, err = stack.Pop(t.Context(), s.P, by, stack.PopArgs{Status: core.Completed, Summary: summary})
		require.NoError(t, err)
	}
	note, next := s.send("PreCompact", map[string]any{"trigger": "auto"}), s.send("SessionStart", map[string]any{"source": "compact"})
	ids := regexp.MustCompile(`frame-[a-z0-9]{8}`).FindAllString(strings.SplitN(note, "\n", 3)[2], -1)
	require.NotEmpty(t, ids)
	for _, id := range ids {
		_, about, found := strings.Cut(next, id)
		require.True(t, found, id)
		about, _, _ = strings.Cut(about, "frame id=")
		assert.Regexp(t, `BEGIN-\d+ .* END-\d+`, about)
	}
	shown := strings.Count(next, "END-")
	assert.Contains(t, note, fmt.Sprintf("Of %d others only the tree knows (flame_search).", 40-shown))
	assert.Contains(t, next, fmt.Sprintf(`completed-children count=\"%d\" filtered=\"%d\"`, shown, 40-shown), "all are counted")
}

func TestAfterACompactionTheUsersWordsComeBack(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Once("prompt", "Build the shop; never open port 8080")
	for i := range 60 {
		s.Once("prompt", fmt.Sprintf("step %d </said> %s", i, strings.Repeat("and so on ", 100)))
	}
	s.Once("prompt", "/compact")
	s.Once("prompt", "last: keep the API")
	next := s.send("SessionStart", map[string]any{"source": "compact"})
	for _, text := range []string{"never open port 8080", "step 59", "last: keep the API", "current-frame"} {
		assert.Contains(t, next, text)
	}
	for _, text := range []string{"/compact", "step 30 ", "59 </said>"} {
		assert.NotContains(t, next, text)
	}
	assert.Less(t, strings.Index(next, "step 59"), strings.Index(next, "last: keep"))
	assert.LessOrEqual(t, len(next), 10_000)
}

func TestAtLevelAutoDueActionsHappen(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.P.Autonomy.Level = core.AutonomyAuto
	s.Once("prompt", "Implement user authentication")
	for i := range 3 {
		s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": fmt.Sprintf("%s/f%d", s.Dir, i)}})
	}
	told := s.Once("prompt", "Write the quarterly revenue forecast")
	assert.Equal(t, "Write the quarterly revenue forecast", s.Current("").Goal)
	assert.Contains(t, told, `by=\"autonomy\"`, "it is announced")
}

// What Claude Code adds to its own instructions is plain text.
func TestACompactionIsAskedForTheFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	assert.Empty(t, s.send("PreCompact", nil), "a session that flame does not know")
	s.Do("prompt", "main work")
	asked := s.send("PreCompact", map[string]any{"trigger": "auto"})
	assert.True(t, strings.HasPrefix(asked, "Flame frame frame-"), asked)
	s.send("SessionEnd", map[string]any{"reason": "other"})
	s.send("SessionStart", map[string]any{"source": "resume"})
	assert.Equal(t, asked, s.send("PreCompact", map[string]any{"trigger": "auto"}), "before a prompt the frame that ended with the session counts")
}

func TestEveryEndOfASessionEndsItsRoot(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"clear", "logout", "prompt_input_exit", "resume", "bypass_permissions_disabled", ""} {
		s := newSession(t)
		s.Do("prompt", "main work")
		s.Do("turn ends", "all green")
		s.Do("session ends", reason)
		fork := s.As("fork")
		assert.Empty(t, fork.Once("session starts", "clear"), "nothing is unfinished")
		fork.Do("prompt", "try it another way")
		assert.Equal(t, "in_progress try it another way\ncompleted main work: all green\n", s.Tree(), reason)
	}
}

func TestAnApprovedPlanIsKeptWhole(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "main work")
	approved := func(plan any) string {
		return s.send("PostToolUse", map[string]any{"tool_name": "ExitPlanMode", "tool_use_id": "p", "tool_input": map[string]any{},
			"tool_response": map[string]any{"plan": plan, "isAgent": false, "filePath": "/home/a/.claude/plans/lexical-sun.md"}})
	}
	for _, plan := range []any{nil, "", 7, " \n"} {
		assert.Empty(t, approved(plan))
	}
	text := "# Plan\n1. Add parser\n2. Add tests </flame-notices>"
	answer := approved(text + "\n")
	frame := s.Current("main")
	assert.Contains(t, answer, "The approved plan is kept with "+frame.ID+"; flame_plan_children can make frames of its steps.")
	assert.Empty(t, approved(text), "the same again")
	assert.Equal(t, []string{"/home/a/.claude/plans/lexical-sun.md"}, frame.Artifacts)
	details, err := view.DetailsOf(t.Context(), s.P, project.Caller{Host: project.CommandLine}, frame.ID)
	require.NoError(t, err)
	assert.Equal(t, text, details.Plan)
	assert.Contains(t, render.Details(details, 0), text)
	context := s.send("SessionStart", map[string]any{"source": "compact"})
	assert.Contains(t, context, "The user approved the plan /home/a/.claude/plans/lexical-sun.md. flame_frame_details of "+frame.ID+" shows it whole.")
}
