package cli

import (
	"context"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/briefing"
)

func newContext(a *app.App) *cobra.Command {
	var chars uint
	cmd := &cobra.Command{
		Use: "context [FRAME]", Short: "Show the context of an agent in a frame", Example: "  flame context frame-k3x9",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().UintVar(&chars, "chars", 0, "limit in characters (0: none)")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		contexts, by := briefing.Contexts{Project: p}, a.Caller()
		made, err := contexts.Of(ctx, by, lo.FirstOrEmpty(args), int(chars))
		if err != nil {
			return err
		}
		if made.Text == "" {
			return core.Invalidf("no context fits in %d characters", chars).WithHint("allow about 500 or more")
		}
		contexts.Shown(ctx, by, made.Text) // a model's shell runs this too
		return a.Out.Print(map[string]any{"frame": made.Frame.ID, "text": made.Text, "meta": made.Meta}, made.Text)
	})
}
