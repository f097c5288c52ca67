package agents_test

import (
	"testing"

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
	_, err := a.Recall(f.Ctx, s, "toolu_1")
	require.ErrorIs(t, err, core.ErrNotFound, "flame knows no log")

	f.Prompt(s, "p", "work")
	f.CountLater(s, log)
	_, err = a.Recall(f.Ctx, s, "toolu_1")
	require.ErrorIs(t, err, core.ErrNotFound, "it is gone")
	require.ErrorContains(t, err, log.Path)

	log.Write(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"<b>\u0000all</b>"}]}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_`)
	output, err := a.Recall(f.Ctx, s, "toolu_1")
	require.NoError(t, err)
	assert.Equal(t, "<b>\x00all</b>", output)
	for _, call := range []string{"toolu_2", "", "../" + log.Path} {
		_, err = a.Recall(f.Ctx, s, call)
		require.ErrorIs(t, err, core.ErrNotFound, call)
	}
}
