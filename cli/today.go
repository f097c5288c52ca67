package cli

import (
	"context"

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
	return a.OpensAgents(&cobra.Command{}, func(ctx context.Context, s *agents.Agents, _ []string) error {
		today, err := view.TodayOf(ctx, s.Project)
		if err != nil {
			return err
		}
		if project.Total(today.Counts) == 0 {
			return a.Out.Print(today, render.Off(today.Off)+a.NoFrames(ctx)+
				"\n`flame setup` connects flame to the hosts on this machine; then start one of them here.\n`flame help` lists all commands.")
		}
		all, err := project.Read(ctx, s.Project, func(tx project.Tx) ([]converge.Convergence, error) { return converge.Records.All(tx) })
		if err != nil {
			return err
		}
		conflicts := 0
		for _, c := range all {
			conflicts += len(c.Waiting())
		}
		return a.Out.Draw(today, render.Today(today, conflicts, a.Hosts, s.Project.Now(), a.Out.Width()))
	})
}
