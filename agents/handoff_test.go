package agents_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/cases"
)

// handoff hands over to a builder that does these steps once the user's session has
// handed over to it.
func (s *service) handoff(steps string, r record.Handoff) record.Agent {
	s.t.Helper()
	run := s.spawn("wait " + s.Dir + "/go; " + steps)
	r.Agent = run.ID
	_, err := s.Handoff(s.ctx, user, r)
	require.NoError(s.t, err)
	return run
}

// resolved waits until a handoff's end has been told, and returns what was.
func (s *service) resolved(id string) map[string]any {
	s.t.Helper()
	s.eventually(func() bool { return len(s.events(id, core.HandoffResolved)) > 0 }, "the handoff to %s is never resolved", id)
	told := s.events(id, core.HandoffResolved)
	require.Len(s.t, told, 1)
	return data(s.t, told[0])
}

func TestTheEndOfAHandoff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		steps     string
		onFailure record.OnFailure
		outcome   string
		parent    core.Status
	}{
		"the work is done":          {"done well", record.Abort, "success", core.InProgress},
		"a failure fails the frame": {"exit 3", record.Abort, "failure", core.Failed},
		"a failure blocks it":       {"exit 3", record.Escalate, "failure", core.Blocked},
		"that is what it does":      {"exit 3", "", "failure", core.Blocked},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			run := s.handoff(tt.steps, record.Handoff{OnFailure: tt.onFailure, Transfer: true})
			shell := project.Caller{Session: user.Session, Host: project.CommandLine}
			for _, by := range []project.Caller{user, shell} {
				_, err := stack.Push(s.ctx, s.Project, by, "meanwhile", "")
				assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), run.ID, "a session that handed over control changes no frames")
				stop := user
				stop.Event = "Stop"
				require.NoError(t, turns.End(s.ctx, s.Project, stop, turns.EndReport{LastMessage: "I wait"}))
			}
			s.touch("go")
			assert.Equal(t, tt.outcome, s.resolved(run.ID)["outcome"])
			assert.Equal(t, tt.parent, s.frame(s.frame(run.Frame).Parent).Status)
			assert.Len(t, s.events(run.ID, core.HandoffInitiated), 1)
			assert.Len(t, s.events(run.ID, core.HandoffComplete), 1)
			assert.NotEqual(t, core.SessionSuspended, s.session(user.Session).State, "it goes on")
		})
	}
}

func TestASecondHandoffReplacesTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.handoff("exit 3", record.Handoff{OnFailure: record.Escalate})
	for _, again := range []record.Handoff{
		{Agent: run.ID}, {Agent: run.ID, OnFailure: record.Abort}, {Agent: run.ID, OnFailure: record.Abort}, {Agent: run.ID, Timeout: 3_600_000}, {Agent: run.ID},
	} {
		_, err := s.Handoff(s.ctx, user, again)
		require.NoError(t, err)
	}
	told := s.events(run.ID, core.HandoffInitiated)
	require.Len(t, told, 3, "an equal request changes nothing")
	first, last := data(t, told[0]), data(t, told[2])
	assert.Equal(t, []any{"escalate", "abort"}, []any{first["on_failure"], last["on_failure"]})
	assert.InDelta(t, 50*time.Minute.Milliseconds(), last["due"].(float64)-first["due"].(float64), 60_000)
	s.touch("go")
	assert.Equal(t, "failure", s.resolved(run.ID)["outcome"])
	assert.Equal(t, core.Failed, s.frame(s.frame(run.Frame).Parent).Status)
}

func TestControlIsHandedToOneAgent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	first, second := s.spawn("hang"), s.spawn("hang")
	_, err := s.Handoff(s.ctx, user, record.Handoff{Agent: first.ID, Transfer: true})
	require.NoError(t, err)
	_, err = s.Handoff(s.ctx, user, record.Handoff{Agent: second.ID, Transfer: true})
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), first.ID)
	_, err = s.Handoff(s.ctx, user, record.Handoff{Agent: second.ID})
	require.NoError(t, err, "it may be watched")
	assert.Equal(t, core.SessionSuspended, s.session(user.Session).State)
}

func TestARetryHasTheWholeTaskAndTime(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const end = "the end of the task"
	run := s.handoff("exit 3\n\n"+strings.Repeat("word ", 6_000)+end, record.Handoff{OnFailure: record.Retry, Timeout: 2 * 3_600_000})
	s.touch("go")
	for _, attempt := range []string{"Attempt 1", "Attempt 2"} {
		next, ok := s.resolved(run.ID)["next"].(string)
		require.True(t, ok && next != "", "another agent tries again")
		result, err := s.Result(s.ctx, run.ID)
		require.NoError(t, err)
		assert.Equal(t, next, result.Next)
		prompt := s.launched(next).Stdin
		assert.Contains(t, prompt, attempt)
		assert.Contains(t, prompt, end)
		assert.Equal(t, 1, strings.Count(prompt, "Attempt"), "attempts do not nest")
		begun := s.events(next, core.HandoffInitiated)
		require.Len(t, begun, 1)
		assert.InDelta(t, float64(begun[0].TS)+2*3_600_000, data(t, begun[0])["due"], 1_000, "each attempt has the whole time")
		run = s.ended(next)
	}
	assert.Empty(t, s.resolved(run.ID)["next"], "there are at most two retries")
	assert.Equal(t, core.Blocked, s.frame(s.frame(run.Frame).Parent).Status)
}

func TestWaitingEndsOnceAHandoffIsResolved(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.ended(s.spawn("exit 3").ID)
	require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
		h := record.Handoff{Agent: run.ID, Session: run.ParentSession, OnFailure: record.Abort}
		if err := errors.Join(h.Begin(tx, s.Project.Now(), run), record.ActiveAgents.Save(tx, run.ID, record.ActiveAgent{})); err != nil {
			return err
		}
		_, _, err := record.ClaimHandoff(tx, s.Project.Now(), run) // another process is at it
		return err
	}))
	soon, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	_, err := s.Wait(soon, run.ID, func(record.Agent) {})
	require.NoError(t, err)
	require.Error(t, soon.Err(), "it waited until the limit")

	require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
		h, err := record.Handoffs.Find(tx, run.ID)
		h.Resolved = true
		return errors.Join(err, record.Handoffs.Save(tx, run.ID, h))
	}))
	_, err = s.Wait(s.ctx, run.ID, func(record.Agent) {})
	require.NoError(t, err)
}
