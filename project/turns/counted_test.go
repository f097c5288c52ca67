package turns_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/children"
	"flame/project/turns"
	"flame/project/usage"
	"flame/project/view"
	"flame/tests/projecttest"
)

// requestsOf returns the requests counted of a host.
func requestsOf(f *projecttest.Fixture, host string) fold.Meter {
	f.T.Helper()
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(f.T, err)
	for _, r := range stats.Requests {
		if r.Host == host {
			return r.Meter
		}
	}
	return fold.Meter{}
}

// folded returns a history in which a frame is entered and left; each message has ten
// tokens.
func folded(frame string) []fold.Message {
	return []fold.Message{
		{Name: "u1", Role: core.RoleUser, Tokens: 10, Time: 1},
		{Name: "a2", Role: core.RoleAssistant, Tokens: 10, Time: 2, Moves: []fold.Move{{Kind: fold.Enter, Frame: frame, First: true}}},
		{Name: "a3", Role: core.RoleAssistant, Tokens: 10, Time: 3},
		{Name: "a4", Role: core.RoleAssistant, Tokens: 10, Time: 4, Moves: []fold.Move{{Kind: fold.Leave, Frame: frame, First: true}}},
	}
}

func amend(f *projecttest.Fixture, by project.Caller, r turns.Request) {
	f.T.Helper()
	_, err := turns.EditRequest(f.Ctx, f.Project, by, r)
	require.NoError(f.T, err)
}

func sparedOf(f *projecttest.Fixture, frame string) *fold.Savings {
	f.T.Helper()
	details, err := view.DetailsOf(f.Ctx, f.Project, projecttest.Shell, frame)
	require.NoError(f.T, err)
	return details.Folded
}

func TestEachRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Push(projecttest.Host("s"), "root")
	frame := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "done")
	history := folded(frame.ID)
	amend(f, projecttest.Host("s"), turns.Request{History: history})
	once := requestsOf(f, "claude-code")
	assert.Equal(t, 1, once.Requests)
	assert.Equal(t, int64(20), once.LeftOut)
	assert.Contains(t, f.Kinds(frame.ID), core.FrameFolded)
	kinds := len(f.Kinds(frame.ID))
	amend(f, projecttest.Host("s"), turns.Request{History: history})
	assert.Equal(t, once, requestsOf(f, "claude-code"), "the same one, tried again")

	f.Clock += 10
	history = append(history, fold.Message{Name: "a5", Role: core.RoleAssistant, Tokens: 10, Time: 5})
	amend(f, projecttest.Host("s"), turns.Request{History: history, Editions: map[core.Millis]int{5: 2}})
	assert.Equal(t, 2, requestsOf(f, "claude-code").Requests)
	assert.Equal(t, &fold.Savings{Messages: 2, Tokens: 20, Requests: 2, LeftOut: 40}, sparedOf(f, frame.ID))
	assert.Len(t, f.Kinds(frame.ID), kinds, "folding is told once")

	amend(f, projecttest.Child("nobody"), turns.Request{History: history})
	assert.Equal(t, 2, requestsOf(f, "claude-code").Requests, "nothing of a session that nobody knows")
}

func TestARequestThatWentRawIsTakenBackWithItsAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ told, end bool }{
		"as the next request shows":    {told: true},
		"as the end of a turn tells":   {told: true, end: true},
		"where its outcome is unknown": {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Fold = true
			f.Push(projecttest.Host("s"), "root")
			frame := f.Push(projecttest.Host("s"), "work")
			f.Pop(projecttest.Host("s"), "done")
			history := folded(frame.ID)
			amend(f, projecttest.Host("s"), turns.Request{History: history})
			editions := map[core.Millis]int{}
			if tt.told {
				editions[5] = 0
			}
			if tt.end {
				require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Editions: editions}))
				assert.Zero(t, requestsOf(f, "claude-code").LeftOut)
				assert.Equal(t, &fold.Savings{Messages: 2, Tokens: 20}, sparedOf(f, frame.ID))
			}
			history = append(history, fold.Message{Name: "a5", Role: core.RoleAssistant, Tokens: 10, Time: 5})
			amend(f, projecttest.Host("s"), turns.Request{History: history, Editions: editions})
			assert.Equal(t, int64(20), requestsOf(f, "claude-code").LeftOut)
			assert.Equal(t, &fold.Savings{Messages: 2, Tokens: 20, Requests: 1, LeftOut: 20}, sparedOf(f, frame.ID))
		})
	}
}

func TestSavedTokensOutlastACompaction(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Push(projecttest.Host("s"), "root")
	frame := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "done")
	amend(f, projecttest.Host("s"), turns.Request{History: folded(frame.ID)})
	want := &fold.Savings{Messages: 2, Tokens: 20, Requests: 1, LeftOut: 20}
	assert.Equal(t, want, sparedOf(f, frame.ID))
	compacted := []fold.Message{
		{Name: "s9", Role: core.RoleAssistant, Summary: true, Tokens: 10, Time: 9}, {Name: "u10", Role: core.RoleUser, Tokens: 10, Time: 10},
	}
	amend(f, projecttest.Host("s"), turns.Request{History: compacted, Editions: map[core.Millis]int{9: 2}})
	assert.Equal(t, 2, requestsOf(f, "claude-code").Requests)
	assert.Equal(t, want, sparedOf(f, frame.ID))
}

func TestABranchCountsItsOwnRequests(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Push(projecttest.Host("s"), "root")
	frame := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "done")
	amend(f, projecttest.Host("s"), turns.Request{History: folded(frame.ID)})
	f.Prompt(projecttest.Host("branch"), "u5", "go on")
	branch := append(folded(frame.ID), fold.Message{Name: "u5", Role: core.RoleUser, Tokens: 10, Time: 5})
	amend(f, projecttest.Host("branch"), turns.Request{History: branch, Editions: map[core.Millis]int{4: 0}})
	assert.Equal(t, 2, requestsOf(f, "claude-code").Requests)
	assert.Equal(t, int64(40), requestsOf(f, "claude-code").LeftOut)
	assert.Equal(t, 1, sparedOf(f, frame.ID).Requests, "those of the session that worked in it")
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		m, err := usage.RequestsOf(tx, "branch")
		assert.Equal(t, 1, m.Requests)
		assert.Equal(t, int64(20), m.LeftOut)
		return err
	}))
}

func TestRequestsOfForgottenSessionsStayCounted(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Push(projecttest.Host("s"), "root")
	require.NoError(t, turns.NotePrompt(f.Ctx, f.Project, projecttest.Child("c"), turns.Prompt{ID: "m1", Text: "look"}))
	_, err := children.StartSession(f.Ctx, f.Project, projecttest.Child("c"), "brief talk")
	require.NoError(t, err)
	amend(f, projecttest.Child("c"), turns.Request{History: projecttest.Asked("m1")})
	before := requestsOf(f, projecttest.Child("c").Host)
	require.Equal(t, 1, before.Requests)
	f.EndChild(projecttest.Host("s"), projecttest.Completed("c", "seen"))
	f.Clock += 2 * 60 * 60 * 1000
	f.Rest(projecttest.Host("s"), "done")
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		_, err := tx.Session("c")
		require.ErrorIs(t, err, core.ErrNotFound, "the session is forgotten")
		return nil
	}))
	assert.Equal(t, before, requestsOf(f, projecttest.Child("c").Host))
}
