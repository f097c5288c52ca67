package agents_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/children"
	"flame/tests/cases"
)

// refused checks that a spawn is refused with these words, and leaves nothing.
func (s *service) refused(by project.Caller, r plan.Request, says string) {
	s.t.Helper()
	before, err := s.AgentsBelow(s.ctx, "")
	require.NoError(s.t, err)
	_, err = s.Spawn(s.ctx, by, r)
	assert.Contains(s.t, cases.Advice(s.t, err, core.ErrInvalid), says)
	after, err := s.AgentsBelow(s.ctx, "")
	require.NoError(s.t, err)
	assert.Len(s.t, after, len(before))
}

var hangs = plan.Request{Type: "builder", Prompt: "hang"}

func TestAgentsBelowAgentsAreBoundInDepth(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: free\ndescription: d")
	by := user
	for depth := 1; depth <= 3; depth++ {
		run := s.request(by, plan.Request{Type: "free", Prompt: "hang"})
		assert.Equal(t, depth, run.Depth)
		assert.Equal(t, user.Session, run.Tree)
		for _, tool := range []string{
			"Agent", "Task", "task", "mcp__flame__spawn_agent", "mcp__plugin_flame_flame__spawn_agent", "flame_spawn_agent", "Workflow", "call_omo_agent",
		} {
			assert.Equal(t, depth < 3, run.Tools.Permits(tool), "%s at depth %d", tool, depth)
		}
		by = as(run)
	}
	s.refused(by, hangs, "FLAME_AGENT_MAX_DEPTH is 3")
}

func TestNativeSubagentsCountAsLevels(t *testing.T) {
	t.Parallel()
	s := newService(t)
	by := user
	for _, child := range []string{"one", "two"} {
		by = project.Caller{Session: child, Parent: by.Session, Host: "claude-code", Trust: project.TrustHook}
		_, err := children.StartSession(s.ctx, s.Project, by, "Look (@explorer subagent)")
		require.NoError(t, err)
	}
	run := s.request(by, hangs)
	assert.Equal(t, 3, run.Depth)
	assert.Equal(t, user.Session, run.Tree)
	s.refused(as(run), hangs, "FLAME_AGENT_MAX_DEPTH")
}

func TestAnAgentThatContinuesANativeSubagentHasItsTools(t *testing.T) {
	t.Parallel()
	s := newService(t)
	start := func(id, kind string) record.Agent {
		by := project.Caller{Session: id, Parent: user.Session, Host: "claude-code", Trust: project.TrustHook}
		_, err := children.StartSession(s.ctx, s.Project, by, "Look ("+kind+"subagent)")
		require.NoError(t, err)
		run, err := s.Continue(s.ctx, user, id, "hang")
		require.NoError(t, err)
		return run
	}
	explorer := start("one", "@Explore ")
	assert.False(t, explorer.Tools.Permits("Edit"))
	assert.NotEqual(t, "all of the host's", explorer.Tools.String())
	assert.True(t, start("two", "@general-purpose ").Tools.Permits("Edit"))
	assert.Equal(t, hosts.ModePlan, start("three", "@unknown ").Mode.Effective, "its permissions are unknown")
}

func TestADefinitionMayAllowLess(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: leaf\ndescription: d\nflame: {max_depth: 0}", "name: parent\ndescription: d\nflame: {max_children: 2}",
		"name: childless\ndescription: d\nflame: {max_children: 0}")
	leaf := s.request(user, plan.Request{Type: "leaf", Prompt: "hang"})
	assert.False(t, leaf.Tools.Permits("Agent"))
	s.refused(as(leaf), hangs, "depth 1 may start no others")
	childless := s.request(user, plan.Request{Type: "childless", Prompt: "hang"})
	assert.False(t, childless.Tools.Permits("Agent"))
	s.refused(as(childless), hangs, "depth 1 may start no others")
	_, err := s.Cancel(s.ctx, user, leaf.ID)
	require.NoError(t, err)
	s.ended(leaf.ID)

	parent := s.request(user, plan.Request{Type: "parent", Prompt: "hang"})
	for range 2 {
		s.ended(s.request(as(parent), plan.Request{Type: "builder", Prompt: "done"}).ID)
	}
	s.refused(as(parent), hangs, "an agent of type parent may start 2 others")
}

func TestAContinuedAgentKeepsToItsDefinition(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: leaf\ndescription: d\nflame: {max_depth: 0}")
	leaf := s.request(user, plan.Request{Type: "leaf", Prompt: "done"})
	s.ended(leaf.ID)
	again, err := s.Continue(s.ctx, user, leaf.ID, "hang")
	require.NoError(t, err)
	assert.Equal(t, leaf.MaxDepth, again.MaxDepth)
	s.refused(as(again), hangs, "may start no others")
}

func TestTheNumberOfAgentsBelowASessionIsLimited(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Bounds.Total, k.Bounds.Concurrent = 3, 2 })
	first, second := s.request(user, hangs), s.request(user, hangs)
	s.refused(user, hangs, "2 agents are running below this session")
	s.refused(as(second), hangs, first.ID)
	s.request(project.Caller{Session: "another", Host: "claude-code"}, hangs) // counts for itself
	_, err := s.Cancel(s.ctx, user, first.ID)
	require.NoError(t, err)
	s.ended(first.ID)
	third := s.request(user, plan.Request{Type: "builder", Prompt: "done"})
	s.ended(third.ID)
	s.refused(user, hangs, "3 agents were started below this session")
}

func TestTheBudgetOfATree(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bounds func(*plan.TreeLimits)
		steps  string
		says   string
	}{
		"in tokens":     {func(b *plan.TreeLimits) { b.Tokens = 500 }, "use 300; use 300; done", "have used their 500 tokens"},
		"in US dollars": {func(b *plan.TreeLimits) { b.CostUSD = 0.5 }, "cost 0.75", "their budget of $0.50"},
	}
	for name, tt := range tests {
		t.Run(name+" forbids more agents once it is used", func(t *testing.T) {
			t.Parallel()
			s := newServiceWith(t, func(k *kept) { tt.bounds(&k.Bounds) })
			s.over(s.spawn(tt.steps).ID, core.AgentCompleted, core.Completed)
			s.refused(user, hangs, tt.says)
		})
	}
	t.Run("ends those that run", func(t *testing.T) {
		t.Parallel()
		s := newServiceWith(t, func(k *kept) { k.Bounds.Tokens = 1000 })
		first, second := s.spawn("use 600; hang"), s.spawn("use 600; hang")
		for _, run := range []record.Agent{first, second} {
			run = s.over(run.ID, core.AgentError, core.Failed)
			assert.Contains(t, run.Outcome.Reason, "the budget of all agents below this session")
			assert.Equal(t, "handed back", run.Outcome.Text)
			require.Len(t, s.events(run.ID, core.BudgetExceeded), 1)
		}
	})
}

func TestTheBudgetOfOneAgent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request plan.Request
		reason  string
	}{
		"from the call":       {plan.Request{Type: "builder", Prompt: "use 1000; wait go; use 1000; hang", BudgetTokens: 1200}, "token budget"},
		"from the definition": {plan.Request{Type: "thrifty", Prompt: "use 1000; wait go; use 1000; hang"}, "token budget"},
		"in US dollars":       {plan.Request{Type: "builder", Prompt: "cost 0.45; wait go; cost 0.60; hang", BudgetUSD: 0.5}, "cost budget"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "name: thrifty\ndescription: d\nflame: {budget_tokens: 1200}")
			run := s.request(user, tt.request)
			s.eventually(func() bool { return len(s.events(run.ID, core.BudgetWarning)) == 1 }, "no warning comes")
			s.touch("go")
			run = s.over(run.ID, core.AgentError, core.Failed)
			assert.Equal(t, tt.reason, run.Outcome.Reason)
			assert.Len(t, s.events(run.ID, core.BudgetWarning), 1)
			exceeded := s.events(run.ID, core.BudgetExceeded)
			require.Len(t, exceeded, 1)
			assert.Equal(t, tt.reason, data(t, exceeded[0])["reason"])
		})
	}
}

func TestAnInlineDefinitionHasItsLimits(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.request(user, plan.Request{Prompt: "done", Inline: json.RawMessage(
		`{"name":"mine","description":"d","prompt":"Be brief.","tools":["Read"],"flame":{"timeout":7,"retries":0,"budget_usd":0.25,"budget_tokens":9000}}`)})
	assert.Equal(t, "mine", run.Type)
	assert.Equal(t, 7*time.Second, run.Limits.Wall)
	assert.Equal(t, 0, run.Limits.Retries)
	assert.InDelta(t, 0.25, run.Limits.CostUSD, 1e-9)
	assert.Equal(t, int64(9000), run.Limits.Tokens)
	assert.True(t, run.Tools.Permits("Read"))
	assert.False(t, run.Tools.Permits("Bash"))
	assert.Contains(t, s.launched(run.ID).Command, "Be brief.")
}

func TestACancelledAgentStartsNoOthers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.spawn("stubborn; hang")
	s.until(run.ID, core.AgentActive)
	_, err := s.Cancel(s.ctx, user, run.ID)
	require.NoError(t, err)
	s.refused(as(run), hangs, fmt.Sprintf("%s has been told to stop", run.ID))
}

func TestAnAgentIsLimitedToTheRestOfItsParentsBudget(t *testing.T) {
	t.Parallel()
	s := newService(t)
	parent := s.request(user, plan.Request{Type: "builder", Prompt: hangs.Prompt, BudgetTokens: 5_000, BudgetUSD: 2})
	child := s.request(as(parent), hangs)
	assert.Equal(t, int64(5_000), child.Limits.Tokens)
	assert.InDelta(t, 2, child.Limits.CostUSD, 1e-9)
	modest := s.request(as(parent), plan.Request{Type: "builder", Prompt: hangs.Prompt, BudgetTokens: 100})
	assert.Equal(t, int64(100), modest.Limits.Tokens)
}
