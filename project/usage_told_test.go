package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/turns"
	"flame/project/usage"
)

func TestUsageThatAHostTellsIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	by := project.Caller{Session: "s", Host: "opencode", Trust: project.Stamped}
	outer := f.push(by, "outer")
	first := usage.Message{MessageID: "msg_1", At: f.tick(), Usage: core.Usage{TokensOut: 5, CostUSD: 1}, Context: 700}
	inner := f.push(by, "inner")
	second := usage.Message{MessageID: "msg_2", At: f.tick(), Usage: core.Usage{TokensOut: 7, CostUSD: 2}, Context: 900}
	require.NoError(t, f.tellUsage(by, []usage.Message{second, first, second}))
	require.NoError(t, f.tellUsage(by, []usage.Message{first, second}))
	assert.Equal(t, first.Usage, f.get(outer.ID).Usage)
	assert.Equal(t, second.Usage, f.get(inner.ID).Usage)
	f.readActivity(inner.ID, func(a autonomy.Activity) {
		assert.Equal(t, autonomy.Activity{Messages: 1, Tokens: 900}, a)
	})
}

func TestUsageWithoutAFrameIsLeftToBeToldAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	by := project.Caller{Session: "s", Host: "opencode", Trust: project.Stamped}
	told := []usage.Message{{MessageID: "msg_1", At: f.tick(), Usage: core.Usage{CostUSD: 1}}}
	require.NoError(t, f.tellUsage(by, told))
	frame := f.push(by, "work")
	require.NoError(t, f.tellUsage(by, told))
	assert.InDelta(t, 1, f.spent(frame.Parent), 1e-9)
}

// tellUsage tells what answers took, as a host does with its next request.
func (f *fixture) tellUsage(by project.Caller, told []usage.Message) error {
	_, err := turns.Attend(f.ctx, f.Project, by, turns.Request{Usage: told})
	return err
}
