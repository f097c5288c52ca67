package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
)

// TreeLimits limit what may be spawned below one user's session.
type TreeLimits struct {
	Depth      int   // levels of agents below it
	Total      int   // agents in all
	Concurrent int   // at one time
	Tokens     int64 // of all agents together; 0: no limit
	CostUSD    float64
	Each       supervise.Limits // of one agent, unless its call or definition sets others
}

// DefaultBounds returns the bounds of spec agents §4 and §8.
func DefaultBounds() TreeLimits {
	return TreeLimits{Depth: 3, Total: 32, Concurrent: 4, Each: supervise.Limits{
		Start: time.Minute, Idle: 10 * time.Minute, Wall: 5 * time.Minute,
		SameCalls: 20, Stale: 60, Retries: 3, Output: 512 << 20,
	}}
}

func (b TreeLimits) refuse(run, parent record.Agent, t record.Tree) error {
	switch {
	case run.Depth > run.MaxDepth:
		return core.Invalidf("an agent at depth %d may start no others", run.Depth-1).
			WithHint("do the work yourself, or hand it back to your parent; "+env.AgentMaxDepth+" is %d", b.Depth)
	case parent.MaxChildren > 0 && parent.Children >= parent.MaxChildren:
		return core.Invalidf("an agent of type %s may start %d others, and it has started them", parent.Type, parent.MaxChildren).
			WithHint("do the work yourself, or hand it back to your parent")
	case t.Total >= b.Total:
		return core.Invalidf("%d agents were started below this session, and more are not allowed", t.Total).
			WithHint("do the work yourself; " + env.AgentMaxTotal + " sets the number")
	case len(t.Live) >= b.Concurrent:
		return core.Invalidf("%d agents are running below this session, and more may not run at one time: %s", len(t.Live), core.List(t.Live)).
			WithHint("wait for one with %s, or cancel one with %s; "+env.AgentMaxConcurrent+" sets the number", op.AgentWait, op.AgentCancel)
	}
	return b.UsedUp(t)
}

// UsedUp refuses more work to agents that have used the budget of their tree.
func (b TreeLimits) UsedUp(t record.Tree) error {
	switch {
	case b.Tokens > 0 && t.Tokens >= b.Tokens:
		return core.Invalidf("the agents below this session have used their %s", core.Tokens(b.Tokens)).WithHint(env.AgentBudgetTokens + " sets the number")
	case b.CostUSD > 0 && t.CostUSD >= b.CostUSD:
		return core.Invalidf("the agents below this session have used their budget of %s", core.Money(b.CostUSD)).WithHint(env.AgentBudgetUSD + " sets it")
	}
	return nil
}

// within returns the limits of an agent, at most what its parent has left.
func within(l supervise.Limits, parent record.Agent) supervise.Limits {
	var left supervise.Limits
	if most := parent.Limits.Tokens; most > 0 {
		left.Tokens = max(most-parent.Progress.Tokens(), 1)
	}
	if most := parent.Limits.CostUSD; most > 0 {
		left.CostUSD = max(most-parent.Progress.Cost(), 0.000_001)
	}
	return l.Within(left)
}

// Any author of a repository can ship definitions in it. So shipped definitions only narrow
// what the caller and the settings give: limits here, modes in ChooseMode and Grant, rules in
// Trusted, and commands that a host would run in PassedKeys.

// lessened returns the definition with the limits that it may set: a shipped definition can
// lower the settings' limits, but not raise them. told tells the caller about ignored limits,
// and about a replaced definition.
func (pl Planner) lessened(def definition.Definition) (less definition.Definition, told []string) {
	if !def.FromRepo() {
		return def, nil
	}
	if def.Replaces != nil {
		told = append(told, def.Origin(pl.Dir))
	}
	var above []string
	note := func(key string, lowered bool) {
		if lowered {
			above = append(above, key)
		}
	}
	each := pl.Bounds.Each
	note("timeout", lower(&def.Timeout, each.Wall))
	note("budget_tokens", lower(&def.BudgetTokens, each.Tokens))
	note("budget_usd", lower(&def.BudgetUSD, each.CostUSD))
	if def.Retries != nil && *def.Retries > each.Retries {
		def.Retries = &each.Retries
		note("retries", true)
	}
	if len(above) > 0 {
		told = append(told, fmt.Sprintf("%s: this project's %s asks for more than the settings allow, and gets what they allow",
			strings.Join(above, ", "), def.File(pl.Dir)))
	}
	return def, told
}

// lower lowers a limit to a setting, and reports whether it was above; 0 means no limit.
func lower[T cmp.Ordered](limit *T, setting T) bool {
	var none T
	if setting == none || *limit <= setting {
		return false
	}
	*limit = setting
	return true
}
