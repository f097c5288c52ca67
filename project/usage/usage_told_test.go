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
	by := project.Caller{Session: "s", Host: "opencode", Trust: project.Stamped}
	early := usage.Message{ID: "msg_0", At: f.Tick(), Usage: core.Usage{CostUSD: 4}}
	require.NoError(t, tellUsage(f, by, []usage.Message{early}), "without a frame it must be reported again")
	outer := f.Push(by, "outer")
	require.NoError(t, tellUsage(f, by, []usage.Message{early}))
	assert.Equal(t, early.Usage, f.Get(outer.Parent).Usage)
	first := usage.Message{ID: "msg_1", At: f.Tick(), Usage: core.Usage{TokensOut: 5, CostUSD: 1}, Context: 700}
	inner := f.Push(by, "inner")
	second := usage.Message{ID: "msg_2", At: f.Tick(), Usage: core.Usage{TokensOut: 7, CostUSD: 2}, Context: 900}
	require.NoError(t, tellUsage(f, by, []usage.Message{second, first, second}))
	require.NoError(t, tellUsage(f, by, []usage.Message{first, second}))
	require.NoError(t, turns.End(f.Ctx, f.Project, by, turns.Turn{Usage: []usage.Message{first, second}}))
	assert.Equal(t, first.Usage, f.Get(outer.ID).Usage)
	assert.Equal(t, second.Usage, f.Get(inner.ID).Usage)
	f.ReadActivity(inner.ID, func(a autonomy.Activity) {
		assert.Equal(t, autonomy.Activity{Messages: 1, Tokens: 900}, a)
	})
}

// tellUsage tells what answers took, as a host does with its next request.
func tellUsage(f *projecttest.Fixture, by project.Caller, told []usage.Message) error {
	_, err := turns.Amend(f.Ctx, f.Project, by, turns.Request{Usage: told})
	return err
}
