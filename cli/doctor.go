package cli

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/doctor"
	"flame/cli/flags"
	"flame/cli/hubcmd"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/project"
	"flame/render"
	"flame/tools"
)

func newDoctor(a *app.App) *cobra.Command {
	var repair, yes bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check store, hosts and every link between them", Args: flags.Takes(0, 0),
		Example: "  flame doctor\n  flame doctor --repair",
		Long: "Check the store, the settings, the hosts and each link between them, and say what to\n" +
			"do about each finding. It changes nothing, unless --repair is given: that says what it\n" +
			"can repair in the store, asks, keeps a copy of the database beside it and repairs it.\n" +
			"Status 1 if anything is broken.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case repair:
				return checkup{a}.repair(cmd, yes)
			case yes:
				return flags.Wrong(cmd, "--yes needs --repair")
			}
			return checkup{a}.doctor(cmd.Context())
		},
		// Settings that are not used are among the findings.
		PersistentPreRun: func(*cobra.Command, []string) {},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what can be repaired in the store")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --repair: do not ask")
	return cmd
}

// A checkup runs the doctor and repairs what it found.
type checkup struct{ app *app.App }

func (c checkup) doctor(ctx context.Context) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	warnings := c.app.Warnings
	if _, warning := offered(c.app, tools.All(&project.Project{}, &agents.Agents{})); warning != nil {
		warnings = append(warnings, *warning)
	}
	findings := doctor.Doctor{
		Version: c.app.Version, Warnings: warnings, Unknown: config.UnknownIn(os.Environ(), append(env.Inner, core.AgentVariable)...),
		Hosts: c.app.Hosts, Candidates: c.app.Candidates(ctx, at),
		Notify: c.app.Settings.Notify, Hub: hubcmd.Findings, Check: c.app.Check, Open: c.app.Open, Agents: c.app.Agents, Catalog: c.app.Catalog,
	}.Findings(ctx, at)
	if err := c.app.Out.Print(findings, render.Findings(findings)); err != nil {
		return err
	}
	return brokenOf(findings)
}

// brokenOf returns the error with which a command ends that found these.
func brokenOf(findings []core.Finding) error {
	if slices.ContainsFunc(findings, func(f core.Finding) bool { return f.Broken }) {
		return app.ErrSilent
	}
	return nil
}
