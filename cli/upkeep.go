package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/project"
)

func newImport(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import PATH", Short: "Take in a folder of state.json and frames/*.json", Example: "  flame import .opencode/flame",
		Long: "Take in the frames of the original plugin, or of flame export. Frames keep their\nids; importing the same again changes nothing.",
		Args: cobra.ExactArgs(1),
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := p.Import(ctx, args[0])
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%d frames added, %d were there", done.Added, done.Unchanged)
		if len(done.Kept) > 0 {
			text += fmt.Sprintf("\n%d differ from ours, which stay: %s", len(done.Kept), strings.Join(done.Kept, ", "))
		}
		for _, repair := range done.Repaired {
			text += "\nrepaired " + repair
		}
		return a.print(done, text)
	})
}

func newExport(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export PATH", Short: "Write all frames as a folder of state.json and frames/*.json", Example: "  flame export /tmp/frames", Args: cobra.ExactArgs(1),
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		n, err := p.Export(ctx, a.caller(), args[0])
		if err != nil {
			return err
		}
		return a.print(map[string]any{"frames": n, "path": args[0]}, fmt.Sprintf("%d frames written to %s", n, args[0]))
	})
}

func newOff(a *App) *cobra.Command {
	return a.switches("off", "Turn hooks and injection off for this project", true)
}

func newOn(a *App) *cobra.Command {
	return a.switches("on", "Turn hooks and injection on again for this project", false)
}

func (a *App) switches(name, short string, off bool) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  flame " + name, Args: cobra.NoArgs}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		if err := p.SetOff(ctx, off); err != nil {
			return err
		}
		return a.print(map[string]bool{"off": off}, "hooks and injection are "+name+" for this project; tools and commands work as before")
	})
}

func newPrune(a *App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Archive roots without work that are older than a week", Example: "  flame prune --delete", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "delete them, archived ones too")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		pruned, err := p.Prune(ctx, remove)
		if err != nil {
			return err
		}
		what := "archived"
		if remove {
			what = "deleted"
		}
		text := fmt.Sprintf("%d frames %s", len(pruned), what)
		if len(pruned) > 0 {
			text += "\n" + lines(pruned)
		}
		return a.print(pruned, text)
	})
}

func newConfig(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "List every setting with its value and source", Example: "  flame config", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var b strings.Builder
			rows := a.Settings.List()
			for _, row := range rows {
				fmt.Fprintf(&b, "%s=%s (%s)\n  %s\n", row.Name, row.Value, row.Source, row.Meaning)
			}
			return a.print(rows, b.String())
		},
	}
}
