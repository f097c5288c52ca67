package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/project/transfer"
	"flame/render"
)

func newExport(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export PATH", Short: "Write all frames as a folder of state.json and frames/*.json",
		Example: "  flame export /tmp/frames", Args: flags.Takes(1, 1), ValidArgsFunction: folders,
	}
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := transfer.Export(ctx, p, a.Caller(), args[0])
		if err != nil {
			return err
		}
		answer := map[string]any{"frames": done.Frames, "path": args[0]}
		text := render.Count(done.Frames, "frame") + " written to " + args[0]
		if done.Nameless > 0 {
			answer["nameless"] = done.Nameless
			text += fmt.Sprintf("\n%d left out because they have no id; `flame doctor --repair` gives them one", done.Nameless)
		}
		return a.Out.Print(answer, text)
	})
}
