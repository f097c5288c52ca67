package agents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/plan"
	"flame/project"
	"flame/project/turns"
)

// seen returns the glance of a caller.
func (s *service) seen(by project.Caller) agents.StatusSummary {
	s.t.Helper()
	g, ok, err := agents.StatusSummaryFor(s.ctx, s.Project, by)
	require.NoError(s.t, err)
	require.True(s.t, ok)
	return g
}

func TestAGlanceShowsRunningAgents(t *testing.T) {
	t.Parallel()
	s := newService(t)
	another := project.Caller{Session: "another", Host: "claude-code", Trust: project.TrustHook}
	_, err := turns.Begin(s.ctx, s.Project, another, turns.Prompt{ID: "p", Text: "Build a cellar", FromUser: true})
	require.NoError(t, err)
	assert.Zero(t, s.seen(user).Agents)
	run := s.request(user, hangs)
	s.request(as(run), hangs)
	assert.Equal(t, 2, s.seen(user).Agents, "at any depth")
	assert.Zero(t, s.seen(another).Agents)
	_, err = s.Cancel(s.ctx, user, run.ID)
	require.NoError(t, err)
	s.ended(run.ID)
	g := s.seen(user)
	assert.Equal(t, "Build a login", g.Frame.Goal)
	assert.Equal(t, agents.Attention{}, g.Waits, "the person who stops an agent knows of its end")
}

func TestAGlanceShowsEndedAgentsUntilTheNextPrompt(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Bounds.CostUSD = 0.01 }, "name: hasty\ndescription: d\nflame: {timeout: 1}")
	s.ended(s.spawn("fail").ID)
	s.ended(s.spawn("done").ID)
	s.ended(s.request(user, plan.Request{Type: "hasty", Prompt: "hang"}).ID)
	g := s.seen(user)
	assert.Equal(t, agents.Attention{Limits: 1, Failed: 1}, g.Waits)
	_, err := turns.Begin(s.ctx, s.Project, user, turns.Prompt{ID: "p2", Text: "Go on", FromUser: true})
	require.NoError(t, err)
	assert.Equal(t, agents.Attention{}, s.seen(user).Waits)
}

func TestAGlanceShowsConflictsUntilAPersonHasSettledThem(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c := s.converged(s.done(`done {"verdict": "yes"}`, `done {"verdict": "no"}`), converge.Options{Strategy: converge.StrategyMerge})
	require.NotEmpty(t, c.Result.Conflicts)
	assert.Equal(t, len(c.Result.Conflicts), s.seen(user).Waits.Conflicts)
	assert.Equal(t, len(c.Result.Conflicts), s.seen(project.Caller{Host: project.CommandLine}).Waits.Conflicts, "at a shell")
	choices := map[string]string{}
	for _, conflict := range c.Result.Conflicts {
		choices[conflict.ID] = c.Result.Inputs[0]
	}
	_, err := s.Convergences().Review(s.ctx, c.ID, choices)
	require.NoError(t, err)
	assert.Zero(t, s.seen(user).Waits.Conflicts)
}

func TestAGlanceNeedsASessionWithAFrame(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, ok, err := agents.StatusSummaryFor(s.ctx, s.Project, project.Caller{Session: "unknown", Host: "claude-code"})
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, s.Project.SetOff(s.ctx, true))
	_, ok, err = agents.StatusSummaryFor(s.ctx, s.Project, user)
	require.NoError(t, err)
	assert.False(t, ok, "flame is off")
}
