package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

func newSessions(a *app.App) *cobra.Command {
	var args view.SessionArgs
	var limit uint
	cmd := &cobra.Command{
		Use: "sessions", Short: "List the hosts' sessions that work in this project", Example: "  flame sessions\n  flame sessions --all --json",
		Args: flags.Takes(0, 0),
		Long: "List the hosts' sessions that work in this project, the one heard of last first: its\n" +
			"id, host and state, what it works on, and what it has used, subagents and agents\nincluded.",
	}
	cmd.Flags().BoolVar(&args.Ended, "all", false, "those that have ended, too")
	cmd.Flags().UintVar(&limit, "limit", 20, "at most this many (0: all)")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		args.Limit = int(limit)
		listed, more, err := view.SessionsOf(ctx, p, args)
		if err != nil {
			return err
		}
		return a.Out.Print(listed, render.Sessions(listed, more, p.Now(), a.Out.Width()))
	})
}
