package agentcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents/definition"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

func newList(a *app.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List the available agents", Example: "  flame agents list --all", Args: flags.Takes(0, 0)}
	cmd.Flags().BoolVar(&all, "all", false, "including those that are replaced, hidden or disabled")
	return asksCatalog(a, cmd, func(c definition.Catalog, _ []string) error {
		shown := []definition.Definition{}
		var b strings.Builder
		for _, def := range c.Definitions {
			// A definition of the repository's must not hide that it replaces
			// another.
			if !all && (def.ShadowedBy != "" || (def.Disabled || def.Hidden) && def.Replaces == nil) {
				continue
			}
			shown = append(shown, def)
			fmt.Fprintf(&b, "%s (%s)%s\n  %s\n", def.Name, render.DefinitionSource(def), render.DefinitionRemarks(def), core.OneLine(def.Description, 200))
		}
		if broken := len(c.Findings); broken > 0 {
			fmt.Fprintf(&b, "%s; `flame agents doctor` shows what is wrong\n", render.Count(broken, "finding"))
		}
		return a.Out.Print(shown, b.String())
	})
}
