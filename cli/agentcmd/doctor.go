package agentcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"flame/agents/definition"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/render"
)

func newDoctor(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the definitions of agents", Example: "  flame agents doctor", Args: flags.Takes(0, 0),
		Long: "Check every definition of an agent, and report file, line and reason of each problem.\nStatus 1 if a file defines no agent.",
	}
	return asksCatalog(a, cmd, func(c definition.Catalog, _ []string) error {
		text, broken := "", false
		for _, f := range c.Findings {
			sign := "note  "
			if f.Fatal {
				sign, broken = "BROKEN", true
			}
			text += sign + " " + f.String() + "\n"
		}
		if text == "" {
			text = fmt.Sprintf("ok     %s\n", render.Count(len(c.Definitions), "definition"))
		}
		if err := a.Out.Print(append([]definition.Flaw{}, c.Findings...), text); err != nil {
			return err
		}
		if broken {
			return app.ErrSilent
		}
		return nil
	})
}
