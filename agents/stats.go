package agents

import (
	"context"

	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/view"
)

// Stats are the numbers of a project and of the agents in it.
type Stats struct {
	view.Stats
	Subagents core.SubagentStats `json:"subagents"` // that hosts started themselves
	Agents    record.Sum         `json:"agents"`    // that flame started; their usage is part of the project's
}

// Stats returns the numbers of the project and of its agents.
func (a *Agents) Stats(ctx context.Context) (stats Stats, err error) {
	if stats.Stats, err = view.StatsOf(ctx, a.Project); err != nil {
		return stats, err
	}
	tracked, err := children.Sessions(ctx, a.Project, project.Caller{})
	if err != nil {
		return stats, err
	}
	stats.Subagents = tracked.Stats
	runs, err := a.Below(ctx, "")
	stats.Agents = record.SumOf(runs)
	return stats, err
}
