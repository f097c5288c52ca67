package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/doctor"
	"flame/core"
	"flame/hosts"
)

func newSetup(a *app.App) *cobra.Command {
	c := installation{app: a, scope: hosts.User}
	names := a.Hosts.Names()
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{"setup"}, lo.Map(names, func(name string, _ int) string { return "[" + name + "]" })...), " "),
		Short:   "Connect flame to " + a.Hosts.Titles("and"),
		Example: "  flame setup\n  flame setup " + lo.LastOrEmpty(names) + " --scope project\n  flame setup --statusline\n  flame setup --remove",
		Long: "Install flame in all hosts on PATH, or in the named ones: the program as\n~/.local/bin/flame, " + a.Hosts.Additions() + ".\n" +
			"Only --statusline edits a config file. Run it again to update everything.",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if unknown := lo.Without(args, names...); len(unknown) > 0 {
				return app.Wrong(cmd, "there is no host %q", unknown[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.setup(cmd.Context(), args) },
	}
	app.Choose(cmd, &c.scope, "scope", "set flame up for all projects of the user or for this project", string(hosts.User), string(hosts.Project))
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print the steps, and take none")
	cmd.Flags().BoolVar(&c.remove, "remove", false, "undo the setup; with --statusline, only the status line")
	cmd.Flags().BoolVar(&c.statusLine, "statusline", false, "also show the goal in the host's status line, unless it has one; edits the host's settings")
	return cmd
}

// An installation sets hosts up for flame, or undoes that.
type installation struct {
	app                        *app.App
	scope                      hosts.Scope
	dryRun, remove, statusLine bool

	machine hosts.Machine
	chosen  hosts.Registry
	named   bool // the hosts were chosen by name
	notes   []setupNote
}

// A setupNote is a step or a remark.
type setupNote struct {
	Host string `json:"host,omitempty"` // empty: the note is about the program
	Says string `json:"says"`
}

// note adds to the notes, and prints it on a line behind before.
func (c *installation) note(host, before, says string) {
	c.notes = append(c.notes, setupNote{host, says})
	c.line(before + says)
}

// line prints a line, unless the answer is JSON.
func (c *installation) line(text string) {
	if !c.app.Out.JSON {
		fmt.Fprintln(c.app.Stdout, text)
	}
}

// setup does what the flags say, and with --json prints the notes.
func (c *installation) setup(ctx context.Context, names []string) (err error) {
	if c.machine, err = c.app.Machine(); err != nil {
		return err
	}
	c.notes, c.named = []setupNote{}, len(names) > 0
	c.chosen = lo.Filter(c.app.Hosts, func(h hosts.Host, _ int) bool { return !c.named || slices.Contains(names, h.Name) })
	switch {
	case c.remove && c.statusLine:
		err = c.untie(ctx)
	case c.remove:
		err = c.uninstall(ctx)
	default:
		err = c.install(ctx)
	}
	if c.app.Out.JSON && (err == nil || errors.Is(err, app.ErrSilent)) {
		answer := map[string]any{"dryRun": c.dryRun, "remove": c.remove, "scope": c.scope, "notes": c.notes}
		err = errors.Join(err, c.app.Out.Print(answer, ""))
	}
	return err
}

// install sets up the chosen hosts and reports missing ones. It fails if a host that the user
// named is missing, and does nothing if all are missing.
func (c *installation) install(ctx context.Context) error {
	missing := false
	plans, err := c.plan(func(h hosts.Host) ([]hosts.Step, string, error) { return c.installSteps(ctx, h) },
		func(_ hosts.Host, err error) { missing = true; c.app.Complain(err) })
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return app.ErrSilent
	}
	steps, err := c.machine.InstallBinary(c.app.Program())
	if err != nil {
		return err
	}
	if err := c.take(ctx, "", steps); err != nil {
		return err
	}
	if err := c.takePlans(ctx, plans, "already set up"); err != nil {
		return err
	}
	c.warn(ctx)
	if !c.dryRun {
		c.note("", "", "Start a new session in the host and work as usual; `flame tree` shows the resulting frames, `flame doctor` checks each link.")
		if found, err := c.machine.LookPath("flame"); err != nil || !hosts.Same(found, c.machine.Binary()) {
			c.note("", "", "To call flame by its name, add ~/.local/bin to PATH; until then it is "+c.machine.Binary()+".")
		}
	}
	if missing && c.named {
		return app.ErrSilent
	}
	return nil
}

// A hostPlan is the plan for one host.
type hostPlan struct {
	host  string
	steps []hosts.Step
	note  string // a remark beside the steps; may be empty
}

// takePlans takes the steps of each plan. For a plan without steps it prints idle.
func (c *installation) takePlans(ctx context.Context, plans []hostPlan, idle string) error {
	for _, plan := range plans {
		if len(plan.steps) == 0 {
			c.note(plan.host, plan.host+": ", idle)
		} else {
			c.line(plan.host + ":")
			if err := c.take(ctx, plan.host, plan.steps); err != nil {
				return err
			}
		}
		if plan.note != "" {
			c.note(plan.host, plan.host+": ", plan.note)
		}
	}
	return nil
}

// plan plans the chosen hosts: steps returns the steps of a host and a note. It calls missing for
// a host that is not installed.
func (c *installation) plan(steps func(h hosts.Host) ([]hosts.Step, string, error), missing func(h hosts.Host, err error)) (plans []hostPlan, err error) {
	for _, h := range c.chosen {
		steps, note, err := steps(h)
		switch {
		case errors.Is(err, core.ErrNotFound):
			missing(h, err)
		case err != nil:
			return nil, err
		default:
			plans = append(plans, hostPlan{h.Name, steps, note})
		}
	}
	return plans, nil
}

func (c *installation) noteMissing(h hosts.Host, err error) { c.note(h.Name, h.Name+": ", err.Error()) }

// installSteps returns the steps that set a host up.
func (c *installation) installSteps(ctx context.Context, h hosts.Host) (steps []hosts.Step, note string, err error) {
	steps, err = h.On(c.machine).Install(ctx, c.scope)
	switch {
	case err != nil || !c.statusLine:
		return steps, "", err
	case h.StatusLine == nil:
		return steps, h.Title + " has no status line", nil
	}
	line, note, err := h.StatusLine.Tie(c.machine)
	return append(steps, line...), note, err
}

// removeSteps returns the steps that undo the setup of a host.
func (c *installation) removeSteps(ctx context.Context, h hosts.Host) (steps []hosts.Step, note string, err error) {
	steps, err = h.On(c.machine).Remove(ctx, c.scope)
	if err != nil || c.scope != hosts.User {
		return steps, "", err
	}
	line, note, err := c.untieSteps(h)
	return append(steps, line...), note, err
}

// untieSteps returns the steps that remove flame's status line from a host.
func (c *installation) untieSteps(h hosts.Host) (steps []hosts.Step, note string, err error) {
	if h.StatusLine != nil {
		steps, err = h.StatusLine.Untie(c.machine)
	}
	return steps, "", err
}

// untie removes flame's status line from the chosen hosts that can show one.
func (c *installation) untie(ctx context.Context) error {
	c.chosen = lo.Filter(c.chosen, func(h hosts.Host, _ int) bool { return h.StatusLine != nil })
	plans, err := c.plan(c.untieSteps, c.noteMissing)
	if err != nil {
		return err
	}
	return c.takePlans(ctx, plans, "no status line of flame's to remove")
}

// warn warns of hosts in which flame is registered by hand as well, and notes what the user must
// still allow in a host.
func (c *installation) warn(ctx context.Context) {
	for _, h := range c.chosen {
		status, err := h.On(c.machine).Status(ctx)
		if err == nil && status.Consent.What != "" && !c.dryRun {
			c.note(h.Name, h.Name+": ", status.Consent.What+": "+status.Consent.Hint)
		}
		if err != nil || !status.Double() {
			continue
		}
		for _, entry := range status.ByHand {
			fmt.Fprintf(c.app.Stderr, "flame: %s: %s also registers flame by hand, as %q: %s\nhint: %s\n",
				h.Name, entry.File, entry.Name, doctor.Doubly(status, entry), entry.Undo)
		}
	}
}

// uninstall undoes the setup, all of it or nothing. The program is removed with the last
// host that uses it.
func (c *installation) uninstall(ctx context.Context) error {
	plans, err := c.plan(func(h hosts.Host) ([]hosts.Step, string, error) { return c.removeSteps(ctx, h) }, c.noteMissing)
	if err != nil {
		return err
	}
	if err := c.takePlans(ctx, plans, "nothing to remove"); err != nil {
		return err
	}
	if c.dryRun {
		return nil // nothing was removed, so a host may still use the program
	}
	if used, err := c.stillUsed(ctx); err != nil || used {
		return err
	}
	if err := c.take(ctx, "", c.machine.RemoveBinary()); err != nil {
		return err
	}
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	if kept, err := at.Data.List(); err == nil && len(kept) > 0 {
		c.note("", "", fmt.Sprintf("Your frames stay in %s: delete that folder if you no longer want them.", filepath.Dir(at.Data.Path)))
	}
	return nil
}

// stillUsed reports whether some host starts the installed program.
func (c *installation) stillUsed(ctx context.Context) (bool, error) {
	for _, h := range c.app.Hosts {
		status, err := h.On(c.machine).Status(ctx)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return true, err
		}
		line, _, err := c.untieSteps(h)
		if len(status.Installed) > 0 || len(line) > 0 || err != nil {
			return true, err
		}
	}
	return false, nil
}

// take performs the steps for a host and prints each, or only prints them.
func (c *installation) take(ctx context.Context, host string, steps []hosts.Step) error {
	say := func(s hosts.Step) { c.note(host, "  ", strings.TrimSpace(s.Says)) }
	if !c.dryRun {
		return hosts.Apply(ctx, steps, say)
	}
	for _, step := range steps {
		say(step)
	}
	return nil
}
