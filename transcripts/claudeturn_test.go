package transcripts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/transcripts"
)

// Lines of a session's file with the fields that ClaudeTurn reads.
func asks(text string) string { return logLine("user", text) }
func says(text string) string {
	return logLine("assistant", []map[string]any{{"type": "text", "text": text}})
}

func runs(id, tool string, input map[string]any) string {
	return logLine("assistant", []map[string]any{{"type": "tool_use", "id": id, "name": tool, "input": input}})
}

func gives(id, text string, failed bool) string {
	return logLine("user", []map[string]any{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}})
}

func logLine(role string, content any) string {
	line, err := json.Marshal(map[string]any{"type": role, "sessionId": "s", "message": map[string]any{
		"role": role, "model": "claude-opus-5-5", "content": content, "usage": map[string]any{"input_tokens": 10, "cache_read_input_tokens": 90},
	}})
	if err != nil {
		panic(err)
	}
	return string(line)
}

var (
	testFails    = []string{runs("1", "Bash", map[string]any{"command": "go test ./...", "description": "test"}), gives("1", "Exit code 1\nFAIL", true)}
	testWorks    = []string{runs("2", "Bash", map[string]any{"command": "go test ./..."}), gives("2", "ok", false)}
	inBackground = []string{runs("4", "Bash", map[string]any{"command": "make", "run_in_background": true}), gives("4", "begun", false)}

	reads = []string{runs("3", "Read", map[string]any{"file_path": "/p/a.go"}), gives("3", "package a", false)}
)

func TestClaudeTurnReadsTheLastTurn(t *testing.T) {
	fails := evidence.Call{Tool: "Bash", Input: "go test ./...", Exit: new(1), Output: "Exit code 1\nFAIL"}
	works := evidence.Call{Tool: "Bash", Input: "go test ./...", OK: true, Exit: new(0), Output: "ok"}
	read := evidence.Call{Tool: "Read", Input: "/p/a.go", OK: true, Output: "package a"}
	const cut = "[Request interrupted by user for tool use]"
	for name, tt := range map[string]struct {
		log   [][]string
		asked bool
		want  transcripts.TurnSummary
	}{
		"stopped before any answer": {
			[][]string{{asks("one")}, testFails, {says("first"), asks("two"), asks(cut), asks("three")}}, false, transcripts.TurnSummary{Stopped: cut},
		},
		"with its calls alone": {[][]string{{asks("one")}, testFails, {says("first"), asks("two")}, reads, testWorks, {says("second")}}, true,
			transcripts.TurnSummary{Calls: []evidence.Call{read, works}, Said: "second", Over: true}},
		"without unanswered calls": {[][]string{{asks("one")}, testFails, testWorks[:1], {says("first")}}, true,
			transcripts.TurnSummary{Calls: []evidence.Call{fails}, Said: "first", Over: true}},
		"with a call after its text": {[][]string{{asks("one"), logLine("assistant", []map[string]any{
			{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "3", "name": "Read", "input": map[string]any{}},
		})}}, true, transcripts.TurnSummary{Said: "I look"}},
		"without a text":       {[][]string{{asks("one")}, reads}, true, transcripts.TurnSummary{Calls: []evidence.Call{read}}},
		"if the log is behind": {[][]string{{asks("one")}, reads, {says("first"), asks("two")}}, true, transcripts.TurnSummary{}},
		"before a prompt": {[][]string{{asks("one")}, reads, {says("first"), asks("two")}}, false,
			transcripts.TurnSummary{Calls: []evidence.Call{read}, Said: "first", Over: true}},
		"before a prompt that it lacks": {[][]string{{asks("one")}, testFails, {says("first"), asks("two")}, reads, {says("second")}}, false,
			transcripts.TurnSummary{Calls: []evidence.Call{read}, Said: "second", Over: true}},
		"stopped by the user": {[][]string{{asks("one")}, reads, {logLine("user", []map[string]any{{"type": "text", "text": cut}})}, {asks("two")}}, false,
			transcripts.TurnSummary{Calls: []evidence.Call{read}, Stopped: cut}},
		"between other lines": {[][]string{{asks("one"), "{torn", `{"type":"message","message":`, strings.ReplaceAll(says("not mine"), `"s"`, `"other"`)}, reads,
			{`{"type":"attachment","message":1}`, "", says("first")}}, true, transcripts.TurnSummary{Calls: []evidence.Call{read}, Said: "first", Over: true}},
		"in the background, without a status": {[][]string{{asks("one")}, inBackground}, true,
			transcripts.TurnSummary{Calls: []evidence.Call{{Tool: "Bash", Input: "make", OK: true, Output: "begun"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, part := range tt.log {
				lines = append(lines, part...)
			}
			got := transcripts.ClaudeTurn([]byte("cut\"}}\n"+strings.Join(lines, "\n")+"\n"), transcripts.LineFilter{Session: "s"}, tt.asked)
			if len(got.Calls) > 0 {
				assert.Equal(t, "claude-opus-5-5", got.Model)
				assert.Equal(t, 100, got.Tokens)
			}
			got.Model, got.Tokens = "", 0
			assert.Equal(t, tt.want, got)
		})
	}
	assert.Zero(t, transcripts.ClaudeTurn(nil, transcripts.LineFilter{Session: "s"}, true))
	assert.Zero(t, transcripts.ClaudeTurn([]byte("\x00\xff\n\n"), transcripts.LineFilter{Session: "s"}, true))
}

func TestClaudeTurnReadsASubagentsFile(t *testing.T) {
	line := strings.Replace(says("LEAF"), "{", `{"isSidechain":true,"agentId":"a1",`, 1)
	assert.Equal(t, "LEAF", transcripts.ClaudeTurn([]byte(line), transcripts.LineFilter{Agent: "a1"}, true).Said)
	assert.True(t, transcripts.ClaudeTurn([]byte(line), transcripts.LineFilter{Agent: "a1"}, true).Over)
	assert.Zero(t, transcripts.ClaudeTurn([]byte(line), transcripts.LineFilter{Agent: "a2"}, true))
	assert.Zero(t, transcripts.ClaudeTurn([]byte(line), transcripts.LineFilter{Session: "s"}, true))
}

func TestPromptsHaveTheirIDs(t *testing.T) {
	named := func(id, line string) string {
		return strings.Replace(line, "{", `{"promptId":"`+id+`","timestamp":"2026-11-20T10:00:11.856Z",`, 1)
	}
	long := strings.Repeat("x", 100_000)
	log := strings.Join([]string{
		"torn}", named("p1", asks("first")), named("p1", gives("1", "result", false)), named("p2", says("no prompt")), asks("without an id"),
		strings.ReplaceAll(named("p3", asks("another's")), `"s"`, `"other"`), named("p4", asks("second "+long)),
	}, "\n")
	prompts := transcripts.ClaudePrompts([]byte(log), "s")
	require.Len(t, prompts, 2)
	assert.Equal(t, transcripts.Prompt{ID: "p1", Text: "first", At: 1_795_168_811_856}, prompts[0])
	assert.Equal(t, "p4", prompts[1].ID)
	assert.True(t, strings.HasPrefix(prompts[1].Text, "second xxx"))
	assert.Less(t, len(prompts[1].Text), 8_000)
}

func TestALongTurnHasItsLastCalls(t *testing.T) {
	lines := []string{asks("one")}
	for i := range 50 {
		id := fmt.Sprint(i)
		lines = append(lines, runs(id, "Read", map[string]any{"file_path": id}), gives(id, id, false))
	}
	got := transcripts.ClaudeTurn([]byte(strings.Join(lines, "\n")), transcripts.LineFilter{Session: "s"}, true)
	require.Len(t, got.Calls, 20)
	assert.Equal(t, []string{"30", "49"}, []string{got.Calls[0].Input, got.Calls[19].Input})
}

func TestALongTextHasItsBeginningAndEnd(t *testing.T) {
	for name, part := range map[string]string{
		"plain": "some text", "lines": "one\ntwo\n", "quotes": `say "no"`, "backslashes": `a\\\`, "signs": "\U0001f600é\x01", "blanks": "\n",
	} {
		t.Run(name, func(t *testing.T) {
			for more := range 30 {
				long := "Exit code 7\n" + strings.Repeat("x", more) + strings.Repeat(part, 20_000/len(part)) + "\nFAIL pkg a b c d e f"
				log := runs("1", "Bash", map[string]any{"command": "go test"}) + "\n" + gives("1", long, true)
				got := transcripts.ClaudeTurn([]byte(log), transcripts.LineFilter{Session: "s"}, true)
				require.Len(t, got.Calls, 1)
				require.Equal(t, new(7), got.Calls[0].Exit)
				require.Less(t, len(got.Calls[0].Output), 8_000)
				require.Equal(t, core.Tail(long, 20), core.Tail(got.Calls[0].Output, 20))
			}
		})
	}
}

func FuzzClaudeTurn(f *testing.F) {
	f.Add([]byte(strings.Join(append(testFails, says("done")), "\n")))
	f.Add([]byte(`{"message":{"role":"user","content":"` + strings.Repeat(`\"`, 5_000)))
	f.Fuzz(func(t *testing.T, log []byte) {
		transcripts.ClaudeTurn(log, transcripts.LineFilter{Session: "s"}, true)
		transcripts.ClaudeTurn(log, transcripts.LineFilter{Session: "s"}, false)
		transcripts.ClaudePrompts(log, "s")
	})
}

// sends is a line of an answer with an id.
func sends(id, line string) string {
	return strings.Replace(line, `"message":{`, `"message":{"id":"`+id+`",`, 1)
}

func TestClaudeWordsAreThoseBeforeACall(t *testing.T) {
	done := func(id, call string) string { return sends(id, runs(call, "TaskUpdate", nil)) }
	for name, tt := range map[string]struct {
		log  []string
		want string
	}{
		"the log is behind":               {[]string{asks("one"), sends("m1", says("first"))}, "first"},
		"the log has the call":            {[]string{asks("one"), sends("m1", says("first")), done("m1", "a")}, "first"},
		"other work stands between":       {[]string{asks("one"), sends("m1", says("first")), reads[0], reads[1], done("m2", "a")}, "first"},
		"another call of the message":     {[]string{asks("one"), sends("m1", says("first")), done("m1", "a"), done("m1", "b")}, "first"},
		"an earlier call":                 {[]string{asks("one"), sends("m1", says("first")), done("m1", "b"), done("m2", "a")}, ""},
		"an earlier call, a log behind":   {[]string{asks("one"), sends("m1", says("first")), done("m1", "b")}, ""},
		"a prompt":                        {[]string{sends("m1", says("first")), asks("one"), done("m2", "a")}, ""},
		"nothing":                         {nil, ""},
		"the call came late, others came": {[]string{sends("m1", says("first")), done("m1", "a"), sends("m2", says("second")), done("m2", "b")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			end := []byte(strings.Join(tt.log, "\n"))
			assert.Equal(t, tt.want, transcripts.ClaudeWords(end, transcripts.LineFilter{Session: "s"}, "a", []string{"TaskUpdate"}))
		})
	}
}
