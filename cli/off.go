package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/project"
)

func newOff(a *App) *cobra.Command {
	return a.switches("off", "Turn hooks and injection off for this project", true)
}

func newOn(a *App) *cobra.Command {
	return a.switches("on", "Turn hooks and injection on again for this project", false)
}

func (a *App) switches(name, short string, off bool) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  flame " + name, Args: flags.Takes(0, 0)}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		if err := p.SetOff(ctx, off); err != nil {
			return err
		}
		return a.out.Print(map[string]bool{"off": off}, "hooks and injection are "+name+" for this project; tools and commands still work")
	})
}
