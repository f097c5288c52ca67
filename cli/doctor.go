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
	var repair, yes, report bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check store, hosts and every link between them", Args: app.Takes(0, 0),
		Example: "  flame doctor\n  flame doctor --repair\n  flame doctor --report > report.md",
		Long: "Check the store, the settings, the hosts and each link between them, and suggest a fix\n" +
			"for each finding. It changes nothing without --repair. With --repair it lists the\n" +
			"repairs that the store needs, asks, copies the database and repairs it.\n" +
			"With --report it prints versions, settings, sizes and findings for an issue, without goals,\n" +
			"paths, addresses and keys. The exit status is 1 if anything is broken.",
		// Settings that are not used are among the findings.
		PersistentPreRun: func(*cobra.Command, []string) {},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "repair the store as far as possible")
	cmd.Flags().BoolVar(&report, "report", false, "print what an issue needs to say; read it before you send it")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --repair: do not ask")
	return a.Locates(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		switch {
		case repair && report:
			return app.Wrong(cmd, "--report changes nothing: leave --repair out")
		case repair:
			return repairStore(cmd, a, at, yes)
		case yes:
			return app.Wrong(cmd, "--yes needs --repair")
		}
		warnings := a.Warnings
		if _, warning := offered(a, tools.All(&project.Project{}, &agents.Agents{})); warning != nil {
			warnings = append(warnings, *warning)
		}
		findings := doctor.Findings(ctx, a, at, warnings)
		if report {
			r := doctor.ReportOf(ctx, a, at, findings)
			return a.Out.Print(r, r.String())
		}
		return cmp.Or(a.Out.Print(findings, render.Findings(findings)), brokenOf(findings))
	})
}

// brokenOf returns the error of a command that has printed findings; nil if flame works.
func brokenOf(findings []core.Finding) error {
	if slices.ContainsFunc(findings, func(f core.Finding) bool { return f.Broken }) {
		return app.ErrSilent
	}
	return nil
}

// repairStore prints the possible repairs of the store, makes them if the user agrees, and
// checks it again.
func repairStore(cmd *cobra.Command, a *app.App, at place.Place, agreed bool) (err error) {
	ctx := cmd.Context()
	left, done, text := a.Check(ctx, at), core.Repaired{}, "there is nothing to repair\n"
	if plan := render.Mending(left); plan != "" {
		if !agreed {
			if err := a.Out.Print(map[string]string{"plan": plan}, plan); err != nil {
				return err
			}
		}
		refusal := app.Wrong(cmd, "there is no terminal to ask at; --yes repairs without asking")
		if err := a.Agreed(agreed, refusal, "repair", "do this"); err != nil {
			return err
		}
		if done, err = a.Repair(ctx, at); err != nil {
			return err
		}
		text = "copied " + done.Copy + "\n"
		for _, mended := range done.Mended {
			text += "mended " + mended + "\n"
		}
		left = a.Check(ctx, at)
	}
	answer := map[string]any{"copy": done.Copy, "mended": append([]string{}, done.Mended...), "findings": left}
	return cmp.Or(a.Out.Print(answer, text+render.Findings(left)), brokenOf(left))
}
