package usage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/turns"
	"flame/project/usage"
	"flame/tests/projecttest"
)

func TestUsageThatAHostReportsIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := project.Caller{Session: "s", Host: "opencode", Trust: project.TrustHook}
	early := usage.AnswerUsage{ID: "msg_0", At: f.Tick(), Usage: core.Usage{CostUSD: 4}}
	require.NoError(t, tellUsage(f, by, []usage.AnswerUsage{early}), "without a frame it must be reported again")
	outer := f.Push(by, "outer")
	require.NoError(t, tellUsage(f, by, []usage.AnswerUsage{early}))
	assert.Equal(t, early.Usage, f.Get(outer.Parent).Usage)
	first := usage.AnswerUsage{ID: "msg_1", At: f.Tick(), Usage: core.Usage{TokensOut: 5, CostUSD: 1}, Context: 700}
	inner := f.Push(by, "inner")
	second := usage.AnswerUsage{ID: "msg_2", At: f.Tick(), Usage: core.Usage{TokensOut: 7, CostUSD: 2}, Context: 900}
	require.NoError(t, tellUsage(f, by, []usage.AnswerUsage{second, first, second}))
	require.NoError(t, tellUsage(f, by, []usage.AnswerUsage{first, second}))
	require.NoError(t, turns.End(f.Ctx, f.Project, by, turns.EndReport{Usage: []usage.AnswerUsage{first, second}}))
	assert.Equal(t, first.Usage, f.Get(outer.ID).Usage)
	assert.Equal(t, second.Usage, f.Get(inner.ID).Usage)
	f.ReadActivity(inner.ID, func(a autonomy.FrameActivity) {
		assert.Equal(t, autonomy.FrameActivity{Messages: 1, Tokens: 900}, a)
	})
}

// tellUsage tells what answers took, as a host does with its next request.
func tellUsage(f *projecttest.Fixture, by project.Caller, told []usage.AnswerUsage) error {
	_, err := turns.EditRequest(f.Ctx, f.Project, by, turns.Request{Usage: told})
	return err
}
