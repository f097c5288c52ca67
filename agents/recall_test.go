package agents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

func TestTheOutputOfACallIsReadFromTheHostsLog(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	a := &agents.Agents{Setup: plan.Setup{Project: f.Project, Hosts: hoststest.Known(), Machine: hoststest.With()}}
	_, err := agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "toolu_1"})
	require.ErrorIs(t, err, core.ErrNotFound, "flame knows no log")

	f.Prompt(s, "p", "work")
	f.CountLater(s, log)
	_, err = agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "toolu_1"})
	require.ErrorIs(t, err, core.ErrNotFound, "it is gone")
	require.ErrorContains(t, err, log.Path)

	log.Write(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"<b>\u0000all</b>"}]}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_`)
	output, err := agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "toolu_1"})
	require.NoError(t, err)
	assert.Equal(t, "<b>\x00all</b>", output.Text)
	for _, call := range []string{"toolu_2", "", "../" + log.Path} {
		_, err = agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: call})
		require.ErrorIs(t, err, core.ErrNotFound, call)
	}
}

func TestTheWorkOfFramesIsFoundInTheHostsLogs(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	a := &agents.Agents{Setup: plan.Setup{Project: f.Project, Hosts: hoststest.Known(), Machine: hoststest.With()}}
	f.Prompt(s, "p", "work")
	search := func(query, frame string) agents.Reach {
		reach, err := agents.Passages(f.Ctx, a, s, query, frame, 5)
		require.NoError(t, err)
		return reach
	}
	require.Len(t, search("flaky", "").Unread, 1)
	assert.Contains(t, search("flaky", "").Unread[0], "does not know where the transcript of session s is")
	f.CountLater(s, log)
	assert.NotEmpty(t, search("flaky", "").Unread, "the log is gone")

	first := f.Push(s, "Find the flaky test")
	says := func(who, part string) {
		at := f.Now().Time().Format(time.RFC3339Nano)
		log.Write(fmt.Sprintf(`{"type":%q,"timestamp":%q,"sessionId":"s","message":{"content":[%s]}}`+"\n", who, at, part))
	}
	says("assistant", `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"go test ./queue"}}`)
	says("user", `{"type":"tool_result","tool_use_id":"toolu_1","content":"--- FAIL: TestDrain: EPIPE after 1734 ms\n\u001b[31mred"}`)
	says("assistant", `{"type":"tool_use","id":"toolu_2","name":"mcp__flame__flame_search","input":{"query":"epipe"}}`)
	says("user", `{"type":"tool_result","tool_use_id":"toolu_2","content":"EPIPE is in frame x"}`)
	f.Pop(s, "It is the queue.")
	second := f.Push(s, "Mend it")
	says("assistant", `{"type":"text","text":"The pipe was closed: epipe again."}`)

	reach := search("EPIPE", "")
	require.Len(t, reach.Passages, 2, "flame's own searches do not count")
	assert.Equal(t, []string{second.ID, first.ID}, []string{reach.Passages[0].Frame, reach.Passages[1].Frame}, "the newest first")
	hit := reach.Passages[1]
	assert.Equal(t, agents.Passage{
		Frame: first.ID, Goal: "Find the flaky test", Entry: 2, At: hit.At, Voice: "output", Call: "toolu_1",
		Excerpt: "--- FAIL: TestDrain: EPIPE after 1734 ms [31mred",
	}, hit)
	assert.Len(t, search("epipe", first.ID).Passages, 1, "in one frame")
	assert.Equal(t, "call", search("./queue", "").Passages[0].Voice)
	assert.Empty(t, search("EPIPE nowhere", "").Passages, "all words must occur")
	assert.Empty(t, search("tool_use_id", "").Passages, "the form of the log is no work")

	for _, r := range []agents.RecallArgs{{Frame: first.ID, Entry: 2}, {Frame: first.ID, Words: "epipe"}, {Frame: first.ID, Call: "toolu_1"}} {
		text, err := agents.Recall(f.Ctx, a, s, r)
		require.NoError(t, err)
		assert.Contains(t, text.Text, "EPIPE after 1734 ms\n", "%+v", r)
	}
	for _, r := range []agents.RecallArgs{{Frame: first.ID, Entry: 99}, {Frame: first.ID, Words: "nowhere"}, {Frame: "frame-none", Entry: 1}} {
		_, err := agents.Recall(f.Ctx, a, s, r)
		require.ErrorIs(t, err, core.ErrNotFound, "%+v", r)
	}
	_, err := agents.Passages(f.Ctx, a, s, "!?", "", 5)
	require.ErrorIs(t, err, core.ErrInvalid)
}
