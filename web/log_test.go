package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

// logged returns a site with a session of Claude Code, its frame, and its log.
func logged(t *testing.T) (s site, frame string, log projecttest.HostLog) {
	s = serve(t)
	s.agents.Hosts = hoststest.Known()
	frame = s.Push(project.Caller{Host: "claude-code", Session: "s"}, "Plant the apples").ID
	log = projecttest.NewLog(s.Fixture, "session.jsonl")
	require.NoError(t, s.Store.Update(s.Ctx, func(tx project.Tx) error {
		return project.RecordTranscript.Save(tx, "s", project.Transcript{Path: log.Path})
	}))
	return s, frame, log
}

// line returns a line of a log of Claude Code at the site's time; content is JSON.
func (s site) line(kind, id, content string) string {
	now := s.Now() // a board may be read beside the test
	stamp := projecttest.Stamp(now)
	return fmt.Sprintf(`{"type":%q,"sessionId":"s","uuid":"u%d","timestamp":%q,"message":{"role":%q,"id":%q,"model":"claude-x","content":%s}}`+"\n",
		kind, now, stamp, kind, id, content)
}

// get returns an answer about a frame.
func (s site) get(query string, into any) int {
	status, answer := s.send(http.MethodGet, "/api/thing-1/"+query, "", nil)
	if into != nil {
		require.Equal(s.T, http.StatusOK, status, answer)
		require.NoError(s.T, json.Unmarshal([]byte(answer), into))
	}
	return status
}

// A heads is what the page gets of a log.
type heads struct {
	Total, From int
	Models      []string
	Rounds      []struct {
		Role, Text            string
		Host                  bool
		N, More, Failed, Size int
		Calls                 []struct{ Tool, Input string }
	}
}

func TestALogIsServedInRounds(t *testing.T) {
	s, frame, log := logged(t)
	long := strings.Repeat("word\n", 2000)
	call := func(id, command string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}`, id, command)
	}
	result := func(id string, failed bool, text string) string {
		return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"is_error":%t,"content":%q}`, id, failed, text)
	}
	log.Write(s.line("user", "", `"Plant the apples\nin rows"`) +
		s.line("assistant", "m1", `[{"type":"text","text":"I dig."}]`) + // the lines of one answer
		s.line("assistant", "m1", "["+call("c1", "dig")+"]") +
		s.line("assistant", "m1", "["+call("c2", "dig again")+"]") +
		s.line("user", "", "["+result("c1", false, long)+"]") +
		s.line("user", "", "["+result("c2", true, "a stone")+"]") +
		s.line("assistant", "m2", "["+strings.Join([]string{call("d1", "1"), call("d2", "2"), call("d3", "3"), call("d4", "4"), call("d5", long)}, ",")+"]") +
		"{not a line}\n" +
		s.line("assistant", "m3", `[{"type":"text","text":"Done."}]`) + `{"type":"assistant","torn`)

	var all heads
	s.get("log?id="+frame, &all)
	require.Equal(t, 4, all.Total)
	assert.Equal(t, []string{"claude-x"}, all.Models)
	texts := []string{}
	for _, r := range all.Rounds {
		texts = append(texts, fmt.Sprint(r.Role, " ", r.Size, " ", r.Failed, " ", r.More, " ", len(r.Calls), " ", r.Text))
	}
	assert.Equal(t, []string{
		"user 1 0 0 0 Plant the apples in rows", "assistant 5 1 0 2 I dig.", "assistant 1 0 1 4 ", "assistant 1 0 0 0 Done.",
	}, texts)
	assert.Equal(t, "dig again", all.Rounds[1].Calls[1].Input)

	var some heads
	s.get("log?id="+frame+"&count=2", &some)
	assert.Equal(t, 2, some.From, "the last ones")
	require.Len(t, some.Rounds, 2)
	assert.Equal(t, "Done.", some.Rounds[1].Text)
	s.get("log?id="+frame+"&from=1&count=1", &some)
	require.Len(t, some.Rounds, 1)
	assert.Equal(t, "I dig.", some.Rounds[0].Text)
	assert.Equal(t, 1, some.Rounds[0].N)

	// With a query only the rounds that have all its words, in texts, calls or outputs.
	for q, want := range map[string][]int{"STONE": {1}, "apples+rows": {0}, "dig+done": {}, "done": {3}, "word": {1, 2}, "": {0, 1, 2, 3}} {
		s.get("log?id="+frame+"&count=500&q="+q, &some)
		numbers := []int{}
		for _, r := range some.Rounds {
			numbers = append(numbers, r.N)
		}
		assert.Equal(t, want, numbers, q)
		assert.Equal(t, 4, some.Total, q)
	}

	var one struct {
		More     int
		Messages []struct {
			Parts []struct {
				Type, Text string
				Length     int
				Input      json.RawMessage
			}
		}
	}
	s.get("round?round=1&id="+frame, &one)
	require.Len(t, one.Messages, 5)
	output := one.Messages[3].Parts[0]
	assert.Equal(t, len(long), output.Length)
	assert.Less(t, len(output.Text), 4010)
	s.get("round?round=2&id="+frame, &one)
	assert.Less(t, len(one.Messages[0].Parts[4].Input), 6100, "inputs are cut, too")
	var whole struct{ Text string }
	s.get("part?round=1&message=3&part=0&id="+frame, &whole)
	assert.Equal(t, long, whole.Text)
	for query, status := range map[string]int{
		"round?round=9&id=": 404, "round?round=-1&id=": 400, "part?round=1&message=7&id=": 404, "part?round=1&message=3&part=2&id=": 404,
		"part?round=1&message=x&id=": 400, "log?from=-1&id=": 400, "log?count=x&id=": 400,
	} {
		assert.Equal(t, status, s.get(query+frame, nil), query)
	}
}

func TestALongLogIsServedInPieces(t *testing.T) {
	s, frame, log := logged(t)
	output := strings.Repeat("drop ", 20_000)
	for range 200 {
		log.Write(s.line("assistant", fmt.Sprint("m", s.Now()), `[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"look"}}]`) +
			s.line("user", "", fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"c","content":%q}]`, output)))
	}
	for query, shows := range map[string]string{"log?id=": `"total":200`, "round?round=199&id=": "drop"} {
		status, answer := s.send(http.MethodGet, "/api/thing-1/"+query+frame, "", nil)
		require.Equal(t, http.StatusOK, status)
		assert.Less(t, len(answer), 10_000)
		assert.Contains(t, answer, shows)
	}
}

func TestAFramesHistory(t *testing.T) {
	s := serve(t)
	frame := s.Push(projecttest.Host("s"), "Plant the apples").ID
	var told struct {
		All    bool
		Events []struct{ Text string }
	}
	s.get("history?id="+frame, &told)
	assert.True(t, told.All)
	require.NotEmpty(t, told.Events)
	assert.Contains(t, told.Events[0].Text, "started")
	require.NoError(t, s.Store.Update(s.Ctx, func(tx project.Tx) error {
		for i := range 300 {
			event := core.Event{TS: s.Now(), Event: core.FrameUpdated, Frame: frame, Data: json.RawMessage(fmt.Sprintf(`{"goal":"change %d"}`, i))}
			if _, err := tx.AppendEvent(event); err != nil {
				return err
			}
		}
		return nil
	}))
	s.get("history?id="+frame, &told)
	assert.False(t, told.All)
	require.Len(t, told.Events, 200)
	assert.Contains(t, told.Events[199].Text, "change 299")
	assert.Equal(t, 400, s.get("history?id=", nil))
}

// A search finds a frame by the work in it, which its own texts need not tell.
func TestASearchFindsTheWorkInAFrame(t *testing.T) {
	s, frame, log := logged(t)
	log.Write(s.line("user", "", `"Plant the apples"`) +
		s.line("assistant", "m1", `[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"dig"}}]`) +
		s.line("user", "", `[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"a stone of granite"}]`))
	for query, want := range map[string][]any{"apples": {1, 0}, "granite": {1, 1}, "marble": {0, 0}} {
		var found struct {
			IDs  []string
			Work int
		}
		s.get("search?q="+query, &found)
		assert.Equal(t, want, []any{len(found.IDs), found.Work}, query)
		if len(found.IDs) > 0 {
			assert.Equal(t, frame, found.IDs[0], query)
		}
	}
}
