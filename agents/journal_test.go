package agents_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/cases"
)

func TestTheEndOfAnAgentDecidesItsFrameAndEvents(t *testing.T) {
	t.Parallel()
	type want struct {
		state   core.AgentState
		frame   core.Status
		event   string
		outcome string
		summary string // in the frame's
	}
	tests := map[string]struct {
		request plan.Request
		then    func(s *service, id string)
		want    want
	}{
		"it does its work": {
			request: plan.Request{Prompt: "say half; done all of it"},
			want:    want{core.AgentCompleted, core.Completed, core.SubagentCompleted, "success", "all of it"},
		},
		"it fails": {
			request: plan.Request{Prompt: "say half; fail API Error: 401"},
			want:    want{core.AgentError, core.Failed, core.SubagentError, "failure", "API Error: 401"},
		},
		"its host dies": {
			request: plan.Request{Prompt: "say half; exit 3"},
			want:    want{core.AgentError, core.Failed, core.SubagentError, "failure", "So far: half"},
		},
		"it takes too long": {
			request: plan.Request{Prompt: "say half; hang", Timeout: 5 * time.Second},
			want:    want{core.AgentTimeout, core.Failed, core.SubagentTimeout, "timeout", "So far: handed back"},
		},
		"it ended its frame itself": {
			request: plan.Request{Prompt: "say half; wait GO; done all of it"},
			then: func(s *service, id string) {
				run, err := s.Find(s.ctx, id)
				require.NoError(s.t, err)
				_, err = stack.Pop(s.ctx, s.Project, as(run), stack.PopArgs{Frame: run.Frame, Status: core.Completed, Summary: "my own words"})
				require.NoError(s.t, err)
				s.touch("go")
			},
			want: want{core.AgentCompleted, core.Completed, core.SubagentCompleted, "success", "my own words"},
		},
		"it is cancelled": {
			request: plan.Request{Prompt: "say half; hang"},
			then: func(s *service, id string) {
				_, err := s.Cancel(s.ctx, user, id)
				require.NoError(s.t, err)
			},
			want: want{core.AgentCancelled, core.Blocked, core.SubagentCancelled, "failure", "So far: half"},
		},
		"its supervisor is killed": {
			request: plan.Request{Prompt: "leave; stubborn; say half; hang"},
			then: func(s *service, id string) {
				s.killSupervisor(id)
				assert.NotEmpty(s.t, worksFor(s.t, id), "the process that the host started is left")
				for range 2 { // another recovery changes nothing
					require.NoError(s.t, s.Recover(s.ctx))
				}
			},
			want: want{core.AgentOrphaned, core.Blocked, core.SubagentOrphaned, "failure", "So far: half"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			tt.request.Type, tt.request.Description = "builder", "Do it"
			tt.request.Prompt = strings.ReplaceAll(tt.request.Prompt, "GO", filepath.Join(s.Dir, "go"))
			run := s.request(user, tt.request)
			if tt.then != nil {
				s.until(run.ID, core.AgentActive)
				tt.then(s, run.ID)
			}
			run = s.over(run.ID, tt.want.state, tt.want.frame)
			assert.Contains(t, s.frame(run.Frame).Summary, tt.want.summary)
			assert.Equal(t, tt.want.state != core.AgentCompleted, run.Outcome.Partial)
			assert.True(t, s.session(run.Session).IsCompleted)

			kinds := lo.Map(s.events(run.ID), func(e core.Event, _ int) string { return e.Event })
			assert.Less(t, lo.IndexOf(kinds, core.SubagentSpawned), lo.IndexOf(kinds, core.SubagentActive))
			assert.Less(t, lo.IndexOf(kinds, core.SubagentActive), lo.IndexOf(kinds, core.SubagentStop))
			assert.Len(t, s.events(run.ID, core.SubagentActive), 1)
			assert.Len(t, s.events(run.ID, tt.want.event), 1)

			stop := s.events(run.ID, core.SubagentStop)[0]
			assert.Equal(t, user.Session, stop.ParentSession)
			assert.Equal(t, run.Frame, stop.Frame)
			told := data(t, stop)
			for field, value := range map[string]any{
				"session_id": user.Session, "agent_type": "builder", "permission_mode": "acceptEdits", "task_description": "Do it",
				"outcome": tt.want.outcome, "spawn_timestamp": float64(run.CreatedAt), "completion_timestamp": float64(run.EndedAt), "artifact_paths": []any{},
			} {
				assert.Equal(t, value, told[field], field)
			}
			assert.Contains(t, told, "tool_invocation_count")
		})
	}
}

func TestAnAgentIsSpawnedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Start = func(_ context.Context, seat supervise.StartSpec) (supervise.Process, error) {
		spawned := s.events(seat.Agent, core.SubagentSpawned)
		require.Len(t, spawned, 1)
		told := data(t, spawned[0])
		assert.Equal(t, "hang", told["prompt"])
		assert.Equal(t, "builder", told["agent_type"])
		assert.Equal(t, user.Session, spawned[0].ParentSession)
		assert.NotEmpty(t, spawned[0].Frame)
		return supervise.Process{}, nil
	}
	s.request(user, hangs)
}

func TestARetryIsReportedAndCounted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.over(s.spawn("say half; fail API Error: 529 overloaded").ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, "went on", run.Outcome.Text)
	assert.Equal(t, 1, run.Progress.Attempt)
	assert.Len(t, s.events(run.ID, core.SubagentActive), 2, "it was suspended meanwhile")
	retries := s.events(run.ID, core.SubagentRetry)
	require.Len(t, retries, 1)
	assert.InDelta(t, 1, data(t, retries[0])["attempt"], 0)
	assert.Contains(t, data(t, retries[0])["reason"], "529")
}

func TestAgentsEndWithTheSessionThatStartedThem(t *testing.T) {
	t.Parallel()
	ends := map[string]func(s *service, id string){
		"when it is cancelled": func(s *service, id string) {
			stopped, err := s.Cancel(s.ctx, user, id)
			require.NoError(s.t, err)
			assert.Len(s.t, stopped, 3)
		},
		"when it is done":               func(s *service, _ string) { s.touch("go") },
		"when its supervisor is killed": func(s *service, id string) { s.killSupervisor(id); require.NoError(s.t, s.Recover(s.ctx)) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "name: free\ndescription: d")
			parent := s.request(user, plan.Request{Type: "free", Prompt: "wait go; done"})
			child := s.request(as(parent), plan.Request{Type: "free", Prompt: "hang"})
			grandchild := s.request(as(child), hangs)
			for _, run := range []record.Agent{parent, child, grandchild} {
				s.until(run.ID, core.AgentActive)
			}
			end(s, parent.ID)
			s.over(grandchild.ID, core.AgentCancelled, core.Blocked)
			s.over(child.ID, core.AgentCancelled, core.Blocked)
			s.eventually(func() bool { return s.frame(parent.Frame).Status != core.InProgress }, "its frame does not end")
		})
	}
}

func TestAgentsMayOutliveTheSessionThatStartedThem(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Keep = true }, "name: free\ndescription: d")
	parent := s.request(user, plan.Request{Type: "free", Prompt: "wait go; done it"})
	child := s.request(as(parent), plan.Request{Type: "free", Prompt: "wait go on; done"})
	s.until(parent.ID, core.AgentActive)
	s.until(child.ID, core.AgentActive)
	s.touch("go")
	s.ended(parent.ID)
	assert.Equal(t, core.InProgress, s.frame(parent.Frame).Status, "no frame ends before those below it")
	s.touch("go on")
	s.over(child.ID, core.AgentCompleted, core.Completed)
	s.over(parent.ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, "it", s.frame(parent.Frame).Summary)
}

func TestTheEndOfASessionEndsItsAgents(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: free\ndescription: d")
	first, second := s.request(user, plan.Request{Type: "free", Prompt: "hang"}), s.spawn("hang")
	below := s.request(as(first), hangs)
	all := []record.Agent{below, first, second} // no frame ends before those below it
	for _, run := range all {
		s.until(run.ID, core.AgentActive)
	}
	require.NoError(t, children.EndSession(s.ctx, s.Project, user))
	for _, run := range all {
		s.over(run.ID, core.AgentCancelled, core.Blocked)
	}
	assert.Equal(t, core.SessionEnded, s.session(user.Session).State, "the ends of its agents do not start it again")
	assert.Contains(t, s.ended(second.ID).Outcome.Reason, "FLAME_AGENT_ON_SESSION_END=keep")
}

func TestTheEndOfASessionMayKeepItsAgents(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Keep = true })
	run := s.spawn("say half; wait go; done all of it")
	s.until(run.ID, core.AgentActive)
	require.NoError(t, children.EndSession(s.ctx, s.Project, user))
	assert.Equal(t, core.InProgress, s.frame(run.Frame).Status)
	s.touch("go")
	s.over(run.ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, core.SessionEnded, s.session(user.Session).State)
}

func TestAnAgentsEndVouchesForNoSession(t *testing.T) {
	t.Parallel()
	s := newService(t)
	unhooked := project.Caller{Session: "unhooked", Host: "some-client"}
	s.over(s.request(unhooked, plan.Request{Type: "builder", Prompt: "done"}).ID, core.AgentCompleted, core.Completed)
	_, err := stack.Push(s.ctx, s.Project, unhooked, "go on", "")
	require.NoError(t, err, "otherwise flame would refuse a client without hooks from then on")
}

func TestAContinuedAgentGetsNoWiderModeThanItsCaller(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.over(s.spawn("done").ID, core.AgentCompleted, core.Completed)
	require.Equal(t, hosts.ModeAcceptEdits, run.Mode.Effective)
	_, err := turns.Begin(s.ctx, s.Project, user, turns.Prompt{ID: "p2", Text: "Plan it", FromUser: true, Standing: project.SessionPermissions{Mode: "plan"}})
	require.NoError(t, err)
	_, err = s.Continue(s.ctx, user, run.ID, "more")
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "acceptEdits")
	person := project.Caller{Host: project.CommandLine}
	shell := person
	shell.Trust = project.TrustInHost
	_, err = s.Continue(s.ctx, shell, run.ID, "more")
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "acceptEdits", "a model may be behind it")
	next, err := s.Continue(s.ctx, person, run.ID, "done")
	require.NoError(t, err, "a person may")
	s.over(next.ID, core.AgentCompleted, core.Completed)
}

func TestAnAgentContinuesOnlyAgentsThatItStarted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	other := s.over(s.spawn("done").ID, core.AgentCompleted, core.Completed)
	reader := s.request(user, plan.Request{Type: "analyzer", Prompt: "hang"})
	_, err := s.Continue(s.ctx, as(reader), other.ID, "write for me")
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "was not started by "+reader.ID)
	busy := s.spawn("hang")
	_, err = s.Converge(s.ctx, as(reader), []string{other.ID, busy.ID}, converge.Options{Strategy: converge.StrategyFirstSuccess})
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "was not started by "+reader.ID, "the convergence would stop that agent")
}

func TestASessionThatNeverBeganIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.startNone()
	run := s.spawn("done")
	s.shift.Store(60_000)
	require.NoError(t, s.Recover(s.ctx))
	run = s.over(run.ID, core.AgentError, core.Failed)
	next, err := s.Continue(s.ctx, user, run.ID, "done")
	require.NoError(t, err)
	assert.NotEqual(t, run.Session, next.Session, "flame does not begin a session again that may have begun")
	assert.Contains(t, s.launched(next.ID).Command, next.Session)
	assert.Contains(t, s.launched(next.ID).Stdin, "<flame-context", "the new session does not know its context")
}
