package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

func TestAnAnnouncementSaysWhoCalls(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	at, host := core.Millis(1_000_000), project.Process{PID: 7, Started: "then"}
	f.Now = func() core.Millis { return at }
	f.HostProcess = func() project.Process { return host }
	take := func(call string) (who string, hooked bool) {
		found, hooked, err := f.TakeAnnounced(f.Ctx, call)
		require.NoError(t, err)
		if found != nil {
			who = found.Session
		}
		return who, hooked
	}
	who, hooked := take("push")
	assert.Empty(t, who)
	assert.False(t, hooked, "no hook has called")

	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "push", false))
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "push", false))
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "unsure", true))
	for range 2 {
		who, _ = take("push")
		assert.Equal(t, "s", who, "each announcement is of one call")
	}
	who, hooked = take("push")
	assert.Empty(t, who)
	assert.True(t, hooked)
	who, _ = take("unsure")
	assert.Empty(t, who)

	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "the same", false))
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "child", Parent: "s"}, "the same", false))
	found, _, err := f.TakeAnnounced(f.Ctx, "the same")
	require.NoError(t, err)
	require.NotNil(t, found)
	assert.Empty(t, found.Session, "the user may have refused one of them")
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "child", Parent: "s"}, "the same", false))
	who, _ = take("the same")
	assert.Equal(t, "child", who, "once it calls again")

	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "pop", false))
	host.PID = 8
	_, hooked = take("pop")
	assert.False(t, hooked, "of another process")
	host.PID = 7
	at += 61_000
	who, hooked = take("pop")
	assert.Empty(t, who, "of a call that never came")
	assert.True(t, hooked, "the hooks work")

	at += project.Day
	host.PID = 9
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "pop", false))
	host.PID = 7
	_, hooked = take("pop")
	assert.False(t, hooked, "a process that announces nothing for a day is forgotten")
}

func TestACallIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	key := project.CallKey("flame_push", []byte(`{"goal":"x","successCriteria":"y"}`))
	assert.Equal(t, key, project.CallKey("flame_push", []byte(`{ "successCriteria": "y", "goal": "x" }`)))
	assert.NotEqual(t, key, project.CallKey("flame_push", []byte(`{"goal":"x"}`)))
	assert.NotEqual(t, key, project.CallKey("flame_pop", []byte(`{"goal":"x","successCriteria":"y"}`)))
	assert.Equal(t, project.CallKey("flame_status", nil), project.CallKey("flame_status", []byte(`{}`)))
}
