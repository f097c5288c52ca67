package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
)

func newConfig(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "List every setting with its value and source", Example: "  flame config", Args: flags.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			var b strings.Builder
			rows := a.Settings.List()
			for _, row := range rows {
				fmt.Fprintf(&b, "%s=%s (%s)\n  %s\n", row.Name, row.Value, row.Source, row.Meaning)
			}
			return a.Out.Print(rows, b.String())
		},
	}
}
