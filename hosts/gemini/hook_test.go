package gemini_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gemini"
	"flame/project"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, gemini.Host(nil), "testdata") }

func newSession(t *testing.T) *hooktest.Session {
	t.Helper()
	return hooktest.Of(t, gemini.Host(nil), "testdata").New(t)
}

// who returns the agent that a call of flame's is announced for.
func who(s *hooktest.Session, goal string) string {
	s.T.Helper()
	s.Once("flame called", goal)
	raw, err := json.Marshal(map[string]any{"goal": goal})
	require.NoError(s.T, err)
	found, hooked, err := s.P.TakeAnnounced(context.Background(), project.CallKey("flame_push", raw))
	require.NoError(s.T, err)
	assert.True(s.T, hooked)
	require.NotNil(s.T, found)
	return found.Session
}

func TestALogSaysWhichAgentCalls(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	assert.Equal(t, "main", who(s, "before"))
	for _, agent := range []string{"one", "two"} {
		s.Do("child asked", agent, "look at "+agent)
		s.Once("log begins", agent, agent)
	}
	assert.Equal(t, "main", who(s, "before they answered"))
	s.Once("answers", "one", "a")
	assert.Equal(t, "one", who(s, "one's"))
	s.Once("answers", "two", "b")
	assert.Empty(t, who(s, "both are calling"))
	*s.Clock += 2_000
	assert.Empty(t, who(s, "both have answered long ago"))
	s.Once("answers", "two", "b2")
	assert.Equal(t, "two", who(s, "two has only just answered"))
	s.Once("has called", "one", "a", "x.txt")
	assert.Equal(t, "two", who(s, "two's"))
	s.Once("answers", "stranger", "c")
	assert.Equal(t, "two", who(s, "a log of no known subagent"))
	assert.Equal(t, "in_progress Build it\n  in_progress look at one\n  in_progress look at two\n", s.Tree())
}

func TestTheFilesOfASubagentAreInItsLog(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	s.Do("child asked", "t1", "look around")
	s.Do("child begins", "t1", "child", "look around")
	s.Once("has called", "child", "a", "seen.txt")
	s.Do("child ends", "t1", "child", "all seen")
	frames, _ := s.Frames()
	assert.Equal(t, []string{"seen.txt"}, frames[1].Artifacts)
}

// compaction returns the line of a log that shows one.
func compaction(s *hooktest.Session, summary string) string {
	s.T.Helper()
	at := s.P.Now().Time().UTC().Format("2006-01-02T15:04:05.000Z")
	raw, err := json.Marshal(map[string]any{"$set": map[string]any{"messages": []any{map[string]any{
		"id": "m", "type": "user", "timestamp": at, "content": []any{map[string]string{"text": "<state_snapshot>\n" + summary + "\n</state_snapshot>"}},
	}}}})
	require.NoError(s.T, err)
	return string(raw) + "\n"
}

func TestAnEventReadsWhatIsNewInTheLog(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	used := func() string { return s.Once("other tool", "") }
	log := filepath.Join(s.Dir, "chats", "session-main.jsonl")
	s.Write("chats/session-main.jsonl", strings.Repeat("x", 100_000)+"\n")
	assert.Empty(t, used())

	old := compaction(s, "READ-AGAIN")
	kept, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, append([]byte(old), kept[len(old):]...), 0o644))
	assert.Empty(t, used(), "what it has read before, it does not read again")

	s.Write("chats/session-main.jsonl", compaction(s, "AT-THE-END"))
	assert.Contains(t, used(), "AT-THE-END")
	assert.Empty(t, used(), "once")
	require.NoError(t, os.Remove(log))
	s.Write("chats/session-main.jsonl", compaction(s, "WRITTEN-ANEW"))
	assert.Contains(t, used(), "WRITTEN-ANEW")
	assert.Empty(t, used())

	torn := compaction(s, "IN-TWO-PARTS")
	s.Write("chats/session-main.jsonl", torn[:50])
	assert.Empty(t, used())
	s.Write("chats/session-main.jsonl", torn[50:])
	assert.Contains(t, used(), "IN-TWO-PARTS")
}

func TestAPromptHasOneMark(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	assert.Len(t, regexp.MustCompile(`\[flame: call-[0-9a-f]{8}\]`).FindAllString(s.Once("child asked", "t1", "look around"), -1), 1)
}

// The id of a session is a part of the paths of its subagents' logs.
func TestASessionThatIsAPathHasNoSubagents(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, id := range []string{"../../etc", "*"} {
		s.As(id).Do("flame called", "x")
	}
	assert.Empty(t, s.Tree())
}

func TestACallIsAnnouncedWithoutTheCallerThatAModelNames(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	answer := s.Send(map[string]any{
		"hook_event_name": "BeforeTool", "tool_name": "mcp_flame_flame_push", "mcp_context": map[string]any{"server_name": "flame", "tool_name": "flame_push"},
		"tool_input": map[string]any{"goal": "g", "session_id": "x", "agent_id": 7, "flame_proof": nil},
	})
	assert.JSONEq(t, `{"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"goal": "g"}}}`, answer)
	found, _, err := s.P.TakeAnnounced(t.Context(), project.CallKey("flame_push", []byte(`{"goal": "g"}`)))
	require.NoError(t, err)
	require.NotNil(t, found)
	assert.Equal(t, "main", found.Session)
}

func TestAnApprovedPlanIsKeptWhole(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "Build it")
	s.Write("main/plans/plan-mango.md", "# Plan\n1. Add parser\n")
	s.Write("main/secret.md", "secret")
	path, secret := filepath.Join(s.Dir, "main/plans/plan-mango.md"), filepath.Join(s.Dir, "main/secret.md")
	approved := func(name, path string) string {
		return s.Send(map[string]any{"hook_event_name": "AfterTool", "tool_name": "exit_plan_mode", "tool_input": map[string]any{"plan_filename": name},
			"tool_response": map[string]any{"llmContent": "Plan approved. Switching to YOLO mode (all tool calls auto-approved).\n\n" +
				"The approved implementation plan is stored at: " + path + "\nRead and follow the plan strictly during implementation."}})
	}
	assert.Empty(t, approved("secret.md", secret), "not one of its plans")
	assert.Empty(t, approved("other.md", path))
	assert.Contains(t, approved("plan-mango.md", path), "The approved plan is kept with ")
	frames, _ := s.Frames()
	assert.Equal(t, []string{"main/plans/plan-mango.md"}, frames[0].Artifacts)
}
