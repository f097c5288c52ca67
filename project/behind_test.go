package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

func TestAHookSaysWhichSessionIsBehindAGateway(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	behind := func(gateway string) string {
		session, err := f.GatewaySession(f.Ctx, gateway)
		require.NoError(t, err)
		return session
	}
	require.NoError(t, f.NoteBehind(f.Ctx, project.Caller{Session: "none"}))
	assert.Empty(t, behind(""), "no gateway is around the hook")

	f.Gateway = "one"
	require.NoError(t, f.NoteBehind(f.Ctx, project.Caller{Session: "s"}))
	require.NoError(t, f.NoteBehind(f.Ctx, project.Caller{Session: "child", Parent: "s"}))
	assert.Equal(t, "s", behind("one"))
	assert.Empty(t, behind("two"))
	require.NoError(t, f.NoteBehind(f.Ctx, project.Caller{Session: "next"}))
	assert.Equal(t, "next", behind("one"), "the user began another session in the same process")

	f.Clock += 8 * project.Day
	f.Gateway = "two"
	require.NoError(t, f.NoteBehind(f.Ctx, project.Caller{Session: "later"}))
	assert.Empty(t, behind("one"), "a gateway without a report for a week is forgotten")
}

func TestASessionIsInTheHostThatItsHooksName(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	by := func(host, event string) project.Caller {
		return project.Caller{Session: "s", Host: host, Event: event, Trust: project.TrustHook}
	}
	for _, step := range []struct{ host, event, want string }{
		{"cli", "", "cli"}, {"inspector", "", "inspector"}, {"codex", "SessionStart", "codex"}, {"inspector", "", "codex"}, {"cli", "", "codex"},
		{"claude-code", "SessionStart", "claude-code"},
	} {
		f.Push(by(step.host, step.event), "work")
		session, err := project.Read(f.Ctx, f.Project, func(tx project.Tx) (core.Session, error) { return tx.Session("s") })
		require.NoError(t, err)
		assert.Equal(t, step.want, session.Host, step)
	}
}
