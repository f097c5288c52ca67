package cli

import (
	"context"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/converge"
	"flame/cli/app"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

// newToday makes what flame does without a command: it says how the project stands.
func newToday(a *app.App) *cobra.Command {
	return a.NeedsAgents(&cobra.Command{}, func(ctx context.Context, s *agents.Agents, _ []string) error {
		today, text, err := todayOf(ctx, a, s, "")
		if err != nil {
			return err
		}
		return a.Out.Draw(today, text)
	})
}

// todayOf returns how the project stands, and the same in words; around is the part of the tree to show with them.
func todayOf(ctx context.Context, a *app.App, s *agents.Agents, around string) (view.Today, string, error) {
	today, err := view.TodayOf(ctx, s.Project)
	if err != nil {
		return today, "", err
	}
	if project.Total(today.Counts) == 0 {
		return today, render.Off(today.Off) + a.NoFrames(ctx) +
			"\n`flame setup` connects flame to the hosts on this machine; then start one of them here.\n`flame help` lists all commands.", nil
	}
	all, err := project.Read(ctx, s.Project, func(tx project.Tx) ([]converge.Convergence, error) { return converge.Records.All(tx) })
	conflicts := lo.SumBy(all, func(c converge.Convergence) int { return len(c.Waiting()) })
	return today, render.Today(today, conflicts, around, a.Hosts, s.Project.Now(), a.Out.Width()), err
}
