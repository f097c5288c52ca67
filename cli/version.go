package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
)

// A Build is what a program was built from, as `flame version --json` prints it.
type Build struct {
	Version string `json:"version"`          // of the module; (devel) from a checkout
	Commit  string `json:"commit,omitempty"` // that was checked out; empty if the build did not note it
	Go      string `json:"go"`
	Schema  int    `json:"schema"` // version of the data that it writes
}

func newVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, commit, Go and data schema of this program", Example: "  flame version --json", Args: flags.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := buildOf(a)
			return a.Out.Print(b, b.String())
		},
	}
}

// buildOf returns what this program was built from.
func buildOf(a *app.App) Build {
	return Build{Version: a.Version, Commit: a.Commit, Go: runtime.Version(), Schema: a.Schema}
}

// String returns b on lines of a terminal.
func (b Build) String() string {
	return fmt.Sprintf("flame %s\ncommit %s\n%s\nschema %d", b.Version, cmp.Or(b.Commit, "unknown"), b.Go, b.Schema)
}
