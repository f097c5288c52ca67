package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/update"
)

func newUpdate(a *app.App) *cobra.Command {
	var from string
	var check, back bool
	cmd := &cobra.Command{
		Use: "update", Short: "Replace this program by the newest release",
		Example: "  flame update --check\n  flame update --from ~/Downloads/flame\n  flame update --back", Args: app.Takes(0, 0),
		Long: "Replace this program by that of a release, after a check of its SHA-256 sum. The replaced\n" +
			"program stays beside it; --back returns to it. Sessions that run keep the old one until\n" +
			"they end. Flame never looks for updates by itself. A program that npm, Go or a package\n" +
			"manager has installed is updated there; this command then says how.",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if back && (check || from != "") {
				return app.Wrong(cmd, "--back takes no release")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if back {
				return goBack(cmd.Context(), a)
			}
			return replace(cmd.Context(), a, from, check)
		},
	}
	app.Name(cmd, &from, "from", "PLACE", "folder or https URL with the files of a release (default: where flame is published)")
	cmd.Flags().BoolVar(&check, "check", false, "only say which version is there")
	cmd.Flags().BoolVar(&back, "back", false, "return to the program that the last update replaced")
	return cmd
}

// An updated is what `flame update --json` prints.
type updated struct {
	Program string `json:"program,omitempty"` // that was replaced
	Version string `json:"version"`           // of this program
	Offered string `json:"offered"`           // the version that is there, or that was returned to
	Done    bool   `json:"updated"`
}

// replace replaces this program by that of a release, or only tells which there is.
func replace(ctx context.Context, a *app.App, from string, check bool) error {
	path := ""
	if !check {
		own, err := update.Own(a.Program())
		if err != nil {
			return err
		}
		path = own
	}
	release, err := update.Find(ctx, from, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	answer := updated{Version: strings.TrimPrefix(a.Build.Version, "v"), Offered: release.Version}
	switch {
	case answer.Offered == answer.Version:
		return a.Out.Print(answer, fmt.Sprintf("This is flame %s, which is the version there.", answer.Version))
	case check:
		return a.Out.Print(answer, fmt.Sprintf("This is flame %s; version %s is there.", answer.Version, answer.Offered))
	}
	answer.Program = path
	program, err := release.Program(ctx)
	if err != nil {
		return err
	}
	if _, err := update.Install(ctx, answer.Program, program, release.Version); err != nil {
		return err
	}
	return replaced(a, answer)
}

// goBack returns to the program that the last update replaced.
func goBack(ctx context.Context, a *app.App) error {
	program, err := update.Own(a.Program())
	if err != nil {
		return err
	}
	version, err := update.Back(ctx, program)
	if err != nil {
		return err
	}
	return replaced(a, updated{Program: program, Version: strings.TrimPrefix(a.Build.Version, "v"), Offered: version})
}

// replaced says that the program was replaced.
func replaced(a *app.App, answer updated) error {
	answer.Done = true
	return a.Out.Print(answer, fmt.Sprintf("%s is now version %s; it was %s, to which `flame update --back` returns.\n"+
		"Run `flame setup` to update flame in your hosts, and start their sessions anew.", answer.Program, answer.Offered, answer.Version))
}
