package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gateway"
	"flame/project"
	"flame/tests/projecttest"
)

func TestAHookSaysWhichSessionIsBehindAGateway(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	behind := func(name string) string {
		session, err := gateway.GatewaySession(f.Ctx, f.Project, name)
		require.NoError(t, err)
		return session
	}
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "none"}))
	assert.Empty(t, behind(""), "no gateway is around the hook")

	f.Gateway = "one"
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "s"}))
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "child", Parent: "s"}))
	assert.Equal(t, "s", behind("one"))
	assert.Empty(t, behind("two"))
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "next"}))
	assert.Equal(t, "next", behind("one"), "the user began another session in the same process")

	f.Clock += 8 * project.Day
	f.Gateway = "two"
	require.NoError(t, gateway.NoteBehind(f.Ctx, f.Project, project.Caller{Session: "later"}))
	assert.Empty(t, behind("one"), "a gateway without a report for a week is forgotten")
}
