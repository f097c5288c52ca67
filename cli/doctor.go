package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/doctor"
	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/render"
	"flame/tools"
)

func newDoctor(a *app.App) *cobra.Command {
	var repair, report, details bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check store, hosts and every link between them", Args: app.CheckArgs(0, 0),
		Example: "  flame doctor\n  flame doctor --report > report.md",
		Long: "Check the store, the settings, the hosts and each link between them, and suggest a fix\n" +
			"for each finding. It changes nothing. With --report it prints versions, settings, sizes\n" +
			"and findings for an issue, without goals, paths, addresses and keys.\n" +
			"The exit status is 1 if anything is broken.",
		// Settings that are not used are among the findings.
		PersistentPreRun: func(*cobra.Command, []string) {},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "gone")
	_ = cmd.Flags().MarkHidden("repair")
	cmd.Flags().BoolVarP(&details, "verbose", "v", false, "say more of hosts that are well")
	cmd.Flags().BoolVar(&report, "report", false, "print what an issue needs to say; read it before you send it")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		if repair {
			return app.NewUsageError(cmd, "--repair is gone: `flame export` writes what is sound, and `flame import` takes it into a new data folder")
		}
		warnings := a.Warnings
		if _, warning := offered(a.Settings.Tools, tools.All(&project.Project{}, &agents.Agents{})); warning != nil {
			warnings = append(warnings, *warning)
		}
		findings := doctor.Findings(ctx, a, at, warnings)
		if report {
			r := doctor.ReportOf(ctx, a, at, findings)
			return a.Out.Print(r, r.String())
		}
		return cmp.Or(a.Out.Print(findings, render.Verdict(findings)+render.Findings(findings, details)), brokenOf(findings))
	})
}

// brokenOf returns the error of a command that has printed findings; nil if flame works.
func brokenOf(findings []core.Finding) error {
	if slices.ContainsFunc(findings, func(f core.Finding) bool { return f.Broken }) {
		return app.ErrSilent
	}
	return nil
}
