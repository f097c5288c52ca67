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
	used := map[string]bool{}
	find := func(call string) (who string, hooked bool) {
		found, hooked, err := f.FindAnnounced(f.Ctx, call, func(id string) bool { return used[id] })
		require.NoError(t, err)
		used[found.ID] = true
		return found.Session, hooked
	}
	who, hooked := find("push")
	assert.Empty(t, who)
	assert.False(t, hooked, "no hook has called")

	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "push", false))
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "child", Parent: "s"}, "push", false))
	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "unsure", true))
	who, _ = find("push")
	assert.Equal(t, "s", who)
	who, _ = find("push")
	assert.Equal(t, "child", who, "each announcement is of one call")
	who, hooked = find("push")
	assert.Empty(t, who)
	assert.True(t, hooked)
	who, _ = find("unsure")
	assert.Empty(t, who)

	require.NoError(t, f.Announce(f.Ctx, project.Caller{Session: "s"}, "pop", false))
	host.PID = 8
	_, hooked = find("pop")
	assert.False(t, hooked, "of another process")
	host.PID = 7
	at += 61_000
	_, hooked = find("pop")
	assert.False(t, hooked, "of a call that never came")
}

func TestACallIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	key := project.CallKey("flame_push", []byte(`{"goal":"x","successCriteria":"y"}`))
	assert.Equal(t, key, project.CallKey("flame_push", []byte(`{ "successCriteria": "y", "goal": "x" }`)))
	assert.NotEqual(t, key, project.CallKey("flame_push", []byte(`{"goal":"x"}`)))
	assert.NotEqual(t, key, project.CallKey("flame_pop", []byte(`{"goal":"x","successCriteria":"y"}`)))
	assert.Equal(t, project.CallKey("flame_status", nil), project.CallKey("flame_status", []byte(`{}`)))
}
