package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/render"
)

func newStats(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count frames, sessions and what they consumed", Example: "  flame stats --json", Args: flags.Takes(0, 0)}
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		service, err := a.AgentsOf(p)
		if err != nil {
			return err
		}
		stats, err := service.Stats(ctx)
		if err != nil {
			return err
		}
		return a.Out.Print(stats, render.Stats(stats))
	})
}
