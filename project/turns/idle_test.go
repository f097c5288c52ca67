package turns_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

const minute = core.Millis(60_000)

// idleOf returns in which minutes since begin a session was idle.
func idleOf(f *projecttest.Fixture, session string, begin core.Millis) (spans []string) {
	f.T.Helper()
	var all []core.Interval
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) (err error) {
		all, err = project.RecordIdle.Find(tx, session)
		return err
	}))
	for _, idle := range all {
		spans = append(spans, fmt.Sprintf("%d-%d", (idle.From-begin)/minute, (idle.Until-begin)/minute))
	}
	return spans
}

func TestLongPausesOfASessionAreKept(t *testing.T) {
	t.Parallel()
	by := projecttest.Host("s")
	type step func(f *projecttest.Fixture)
	wait := func(minutes core.Millis) step {
		return func(f *projecttest.Fixture) { f.Clock += minutes * minute }
	}
	prompt := step(func(f *projecttest.Fixture) { f.Prompt(by, fmt.Sprint("at ", f.Clock), "go on") })
	rest := step(func(f *projecttest.Fixture) { f.Rest(by, "done") })
	end := step(func(f *projecttest.Fixture) { f.End(by) })
	suspend := step(func(f *projecttest.Fixture) {
		require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error { return project.Suspend(tx, "s", "agent") }))
	})
	push := step(func(f *projecttest.Fixture) {
		f.Push(project.Caller{Session: "s", Host: project.CommandLine, Trust: project.TrustHook}, "PUSHED")
	})
	resume := step(func(f *projecttest.Fixture) { require.NoError(f.T, f.Resume(f.Ctx, "s", "agent")) })
	for name, tt := range map[string]struct {
		steps []step
		want  []string
	}{
		"a short pause":                      {[]step{rest, wait(9), prompt}, nil},
		"a long pause":                       {[]step{rest, wait(11), prompt}, []string{"0-11"}},
		"a long turn":                        {[]step{wait(90), rest, wait(5), prompt}, nil},
		"a pause that nobody ended":          {[]step{rest, wait(90)}, nil},
		"two pauses, with a turn between":    {[]step{rest, wait(20), prompt, wait(3), rest, wait(40), prompt}, []string{"0-20", "23-63"}},
		"a session that is resumed":          {[]step{rest, end, wait(600), prompt}, []string{"0-600"}},
		"a session that ended in its pause":  {[]step{rest, wait(20), end, wait(30), prompt}, []string{"0-50"}},
		"a session that an agent suspended":  {[]step{suspend, wait(30), resume, wait(30), rest}, []string{"0-30"}},
		"a short handoff":                    {[]step{suspend, wait(3), resume, prompt}, nil},
		"a clock that is put back":           {[]step{rest, wait(-60), prompt, rest, wait(2), prompt}, nil},
		"a pause within one before":          {[]step{rest, wait(60), prompt, rest, wait(-40), prompt, rest, wait(15), prompt}, []string{"0-60"}},
		"a pause that goes beyond one":       {[]step{rest, wait(60), prompt, rest, wait(-40), prompt, rest, wait(70), prompt}, []string{"0-90"}},
		"a call from a shell in its silence": {[]step{rest, end, wait(30), push, wait(30), prompt}, []string{"0-60"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			prompt(f)
			begin := f.Clock
			for _, step := range tt.steps {
				step(f)
			}
			assert.Equal(t, tt.want, idleOf(f, "s", begin))
			assert.Empty(t, idleOf(f, "another", begin))
		})
	}
}

func TestTheNewestPausesAreKeptAndGoWithTheirSession(t *testing.T) {
	t.Parallel()
	f, by := projecttest.New(t), projecttest.Host("s")
	f.Prompt(by, "first", "begin")
	begin := f.Clock
	const most = 500
	var old []core.Interval
	for i := range core.Millis(most) {
		old = append(old, core.Interval{From: begin - (most-i)*100*minute, Until: begin - (most-i)*100*minute + 20*minute})
	}
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return project.RecordIdle.Save(tx, "s", old) }))
	f.Rest(by, "done")
	f.Clock += 30 * minute
	f.Prompt(by, "second", "go on")
	idle := idleOf(f, "s", begin)
	require.Len(t, idle, most)
	assert.Equal(t, fmt.Sprintf("%d-%d", -(most-1)*100, -(most-1)*100+20), idle[0], "the oldest is dropped")
	assert.Equal(t, "0-30", idle[most-1])
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return project.ForgetSession(tx, "s") }))
	assert.Empty(t, idleOf(f, "s", begin))
}
