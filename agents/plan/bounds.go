package plan

import (
	"time"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
)

// Bounds limit what may be spawned below one user's session (spec: agents §4).
type Bounds struct {
	Depth      int   // levels of agents below it
	Total      int   // agents in all
	Concurrent int   // at one time
	Tokens     int64 // of all together; 0: no limit
	CostUSD    float64
	Each       supervise.Limits // of one agent, where neither call nor definition says otherwise
}

// DefaultBounds are those of spec agents §4 and §8.
func DefaultBounds() Bounds {
	return Bounds{Depth: 3, Total: 32, Concurrent: 4, Each: supervise.Limits{
		Start: time.Minute, Idle: 10 * time.Minute, Wall: 5 * time.Minute,
		SameCalls: 20, Stale: 60, Retries: 3, Output: 512 << 20,
	}}
}

// refuse refuses an agent beyond the bounds of its tree, or beyond its parent's own.
func (b Bounds) refuse(run, parent record.Run, t record.Tree) error {
	switch {
	case run.Depth > run.MaxDepth:
		return core.Invalidf("an agent at depth %d may start no others", run.Depth-1).
			WithHint("do the work yourself, or hand it back to your parent; "+env.AgentMaxDepth+" is %d", b.Depth)
	case parent.MaxChildren > 0 && parent.Children >= parent.MaxChildren:
		return core.Invalidf("an agent of type %s may start %d others, and has", parent.Type, parent.MaxChildren).
			WithHint("do the work yourself, or hand it back to your parent")
	case t.Total >= b.Total:
		return core.Invalidf("%d agents were started below this session, which is all there may be", t.Total).
			WithHint("do the work yourself; " + env.AgentMaxTotal + " sets the number")
	case len(t.Live) >= b.Concurrent:
		return core.Invalidf("%d agents are running below this session, which is as many as may: %s", len(t.Live), core.List(t.Live)).
			WithHint("wait for one with %s, or cancel one with %s; "+env.AgentMaxConcurrent+" sets the number", op.AgentWait, op.AgentCancel)
	}
	return b.UsedUp(t)
}

// UsedUp refuses more work to agents that have used the budget of their tree.
func (b Bounds) UsedUp(t record.Tree) error {
	switch {
	case b.Tokens > 0 && t.Tokens >= b.Tokens:
		return core.Invalidf("the agents below this session have used their %d tokens", b.Tokens).WithHint(env.AgentBudgetTokens + " sets the number")
	case b.CostUSD > 0 && t.CostUSD >= b.CostUSD:
		return core.Invalidf("the agents below this session have used their budget of %.2f USD", b.CostUSD).WithHint(env.AgentBudgetUSD + " sets it")
	}
	return nil
}

// within bounds what an agent may use by what its parent has left.
func within(l supervise.Limits, parent record.Run) supervise.Limits {
	if most := parent.Limits.Tokens; most > 0 {
		left := max(most-parent.Progress.Tokens(), 1)
		if l.Tokens == 0 || l.Tokens > left {
			l.Tokens = left
		}
	}
	if most := parent.Limits.CostUSD; most > 0 {
		left := max(most-parent.Progress.Cost(), 0.000_001)
		if l.CostUSD == 0 || l.CostUSD > left {
			l.CostUSD = left
		}
	}
	return l
}
