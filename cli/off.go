package cli

import (
	"context"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
)

func newOff(a *app.App) *cobra.Command {
	return switches(a, "off", "Turn hooks and injection off for this project", true)
}

func newOn(a *app.App) *cobra.Command {
	return switches(a, "on", "Turn hooks and injection on again for this project", false)
}

func switches(a *app.App, name, short string, off bool) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  flame " + name, Args: flags.Takes(0, 0)}
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		if err := p.SetOff(ctx, off); err != nil {
			return err
		}
		return a.Out.Print(map[string]bool{"off": off}, "hooks and injection are "+name+" for this project; tools and commands still work")
	})
}
