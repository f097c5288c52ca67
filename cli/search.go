package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

func newSearch(a *app.App) *cobra.Command {
	var search view.SearchArgs
	var limit uint
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find frames by words in goals, summaries, results and decisions", Example: "  flame search login --status completed",
		Args: flags.Takes(1, -1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.Choose(cmd, &search.Status, "status", "only frames of this status", core.Words(core.Statuses...)...)
	cmd.Flags().UintVar(&limit, "limit", 20, "at most this many, up to 100")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		search.Text, search.Limit = strings.Join(args, " "), int(limit)
		found, err := view.Search(ctx, p, a.Caller(), search)
		if err != nil {
			return err
		}
		return a.Out.Found(found, render.FoundShort(search.Text, found))
	})
}
