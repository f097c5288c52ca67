package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/doctor"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
)

type setupOptions struct {
	scope          string
	dryRun, remove bool
	statusLine     bool
}

func newSetup(a *app.App) *cobra.Command {
	opts := setupOptions{scope: string(hosts.User)}
	names := a.Hosts.Names()
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{"setup"}, lo.Map(names, func(name string, _ int) string { return "[" + name + "]" })...), " "),
		Short:   "Connect flame to " + a.Hosts.Titles("and"),
		Example: "  flame setup\n  flame setup " + lo.LastOrEmpty(names) + " --scope project\n  flame setup --statusline\n  flame setup --remove",
		Long: "Install flame in the hosts on PATH, or in those named: the program as\n~/.local/bin/flame, " + a.Hosts.Additions() + ".\n" +
			"No config file is edited, but for --statusline. Running it again brings everything\nup to date.",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if unknown, found := lo.Find(args, func(name string) bool { return !slices.Contains(names, name) }); found {
				return flags.Wrong(cmd, "there is no host %q", unknown)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return installation{app: a}.setup(cmd.Context(), args, opts)
		},
	}
	flags.Choose(cmd, &opts.scope, "scope", "for all projects of the user or for this project", string(hosts.User), string(hosts.Project))
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&opts.remove, "remove", false, "undo it; with --statusline, that alone")
	cmd.Flags().BoolVar(&opts.statusLine, "statusline", false, "also show the goal in the host's status line, unless you have set one; edits its settings")
	return cmd
}

// An installation sets hosts up for flame, or undoes that.
type installation struct {
	app  *app.App
	told *[]setupNote // so far
}

// A setupNote is something that was done, or would be, or is to be known.
type setupNote struct {
	Host string `json:"host,omitempty"` // that it is about; empty: the program
	Says string `json:"says"`
}

// note adds to what setup tells, and prints it on a line, behind what stands before it
// there.
func (c installation) note(host, before, says string) {
	*c.told = append(*c.told, setupNote{host, says})
	c.line(before + says)
}

// line prints a line, unless the answer is JSON.
func (c installation) line(text string) {
	if !c.app.Out.JSON {
		fmt.Fprintln(c.app.Stdout, text)
	}
}

// setup does as it was asked, and with --json prints what that was.
func (c installation) setup(ctx context.Context, names []string, opts setupOptions) error {
	c.told = &[]setupNote{}
	err := c.run(ctx, names, opts)
	if c.app.Out.JSON && (err == nil || errors.Is(err, app.ErrSilent)) {
		answer := map[string]any{"dryRun": opts.dryRun, "remove": opts.remove, "scope": opts.scope, "notes": *c.told}
		err = errors.Join(err, c.app.Out.Print(answer, ""))
	}
	return err
}

func (c installation) run(ctx context.Context, names []string, opts setupOptions) error {
	scope := hosts.Scope(opts.scope)
	machine, err := c.app.Machine()
	if err != nil {
		return err
	}
	chosen := c.app.Hosts
	if len(names) > 0 {
		chosen = lo.Filter(c.app.Hosts, func(h hosts.Host, _ int) bool { return slices.Contains(names, h.Name) })
	}
	switch {
	case opts.remove && opts.statusLine:
		return c.untie(ctx, machine, chosen, opts.dryRun)
	case opts.remove:
		return c.unset(ctx, machine, chosen, scope, opts.dryRun)
	}
	return c.install(ctx, machine, chosen, opts, len(names) > 0)
}

// install sets up the chosen hosts and reports missing ones. It fails, doing
// nothing, if a host asked for by name is missing, or if there is none at all.
func (c installation) install(ctx context.Context, machine hosts.Machine, chosen hosts.Registry, opts setupOptions, named bool) error {
	plans, missing, err := c.planHosts(ctx, machine, chosen, opts)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return app.ErrSilent
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	steps, err := machine.InstallBinary(program)
	if err != nil {
		return err
	}
	if err := c.take(ctx, "", steps, opts.dryRun); err != nil {
		return err
	}
	if err := c.takePlans(ctx, plans, "already set up", opts.dryRun); err != nil {
		return err
	}
	c.tellDouble(ctx, machine, chosen)
	if !opts.dryRun {
		c.note("", "", "Start a new session in the host and work as usual; `flame tree` shows the resulting frames, `flame doctor` checks each link.")
		c.tellPath(machine)
	}
	if missing && named {
		return app.ErrSilent
	}
	return nil
}

// A hostPlan is what setting up one host involves.
type hostPlan struct {
	host  string
	steps []hosts.Step
	note  string // besides; may be empty
}

// takePlans takes the steps of each plan. Of one without any it tells idle.
func (c installation) takePlans(ctx context.Context, plans []hostPlan, idle string, dryRun bool) error {
	for _, plan := range plans {
		if len(plan.steps) == 0 {
			c.note(plan.host, plan.host+": ", idle)
		} else {
			c.line(plan.host + ":")
			if err := c.take(ctx, plan.host, plan.steps, dryRun); err != nil {
				return err
			}
		}
		if plan.note != "" {
			c.note(plan.host, plan.host+": ", plan.note)
		}
	}
	return nil
}

// planHosts plans each installed host, and reports those that are missing.
func (c installation) planHosts(ctx context.Context, machine hosts.Machine, chosen hosts.Registry, opts setupOptions) (
	plans []hostPlan, missing bool, err error) {
	for _, h := range chosen {
		steps, err := h.On(machine).Install(ctx, hosts.Scope(opts.scope))
		if errors.Is(err, core.ErrNotFound) {
			missing = true
			c.app.Complain(err)
			continue
		}
		plan := hostPlan{host: h.Name, steps: steps}
		if err == nil && opts.statusLine {
			err = plan.tie(h, machine)
		}
		if err != nil {
			return nil, false, err
		}
		plans = append(plans, plan)
	}
	return plans, missing, nil
}

// tie adds what has a host show flame's status line.
func (p *hostPlan) tie(h hosts.Host, machine hosts.Machine) error {
	if h.StatusLine == nil {
		p.note = h.Title + " has no status line"
		return nil
	}
	steps, note, err := h.StatusLine.Tie(machine)
	p.steps, p.note = append(p.steps, steps...), note
	return err
}

// untie has the chosen hosts show flame's status line no more.
func (c installation) untie(ctx context.Context, machine hosts.Machine, chosen hosts.Registry, dryRun bool) error {
	var plans []hostPlan
	for _, h := range chosen {
		if h.StatusLine == nil {
			continue
		}
		steps, err := h.StatusLine.Untie(machine)
		if err != nil {
			return err
		}
		plans = append(plans, hostPlan{host: h.Name, steps: steps})
	}
	return c.takePlans(ctx, plans, "no status line of flame's to remove", dryRun)
}

// tellPath says how to call flame by its name if it is not on PATH.
func (c installation) tellPath(machine hosts.Machine) {
	found, err := machine.LookPath("flame")
	if err == nil && hosts.Same(found, machine.Binary()) {
		return
	}
	c.note("", "", fmt.Sprintf("To call flame by its name, add ~/.local/bin to PATH; until then it is %s.", machine.Binary()))
}

// tellDouble warns of hosts in which flame is registered by hand as well.
func (c installation) tellDouble(ctx context.Context, machine hosts.Machine, chosen hosts.Registry) {
	for _, h := range chosen {
		status, err := h.On(machine).Status(ctx)
		if err != nil || !status.Double() {
			continue
		}
		for _, entry := range status.ByHand {
			fmt.Fprintf(c.app.Stderr, "flame: %s: %s also registers flame by hand, as %q: %s\nhint: %s\n",
				h.Name, entry.File, entry.Name, doctor.Doubly(status), entry.Undo)
		}
	}
}

// unset undoes the setup, all of it or nothing. The program is removed with the
// last host that uses it.
func (c installation) unset(ctx context.Context, machine hosts.Machine, chosen hosts.Registry, scope hosts.Scope, dryRun bool) error {
	var plans []hostPlan
	for _, h := range chosen {
		steps, err := h.On(machine).Remove(ctx, scope)
		if errors.Is(err, core.ErrNotFound) {
			c.note(h.Name, h.Name+": ", err.Error())
			continue
		}
		if err == nil && scope == hosts.User && h.StatusLine != nil {
			var line []hosts.Step
			line, err = h.StatusLine.Untie(machine)
			steps = append(steps, line...)
		}
		if err != nil {
			return err
		}
		plans = append(plans, hostPlan{host: h.Name, steps: steps})
	}
	if err := c.takePlans(ctx, plans, "nothing to remove", dryRun); err != nil {
		return err
	}
	used, err := c.stillUsed(ctx, machine, dryRun)
	if err != nil || used {
		return err
	}
	if err := c.take(ctx, "", machine.RemoveBinary(), dryRun); err != nil {
		return err
	}
	return c.tellKept()
}

// tellKept says where the frames stay when flame is removed.
func (c installation) tellKept() error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	kept, err := at.Data.List()
	if err != nil || len(kept) == 0 {
		return nil // there is nothing to tell
	}
	c.note("", "", fmt.Sprintf("Your frames stay in %s: delete that folder if you no longer want them.", filepath.Dir(at.Data.Path)))
	return nil
}

// stillUsed reports whether some host starts the installed program.
func (c installation) stillUsed(ctx context.Context, machine hosts.Machine, dryRun bool) (bool, error) {
	if dryRun {
		return true, nil // nothing was removed, so nothing is known
	}
	for _, h := range c.app.Hosts {
		status, err := h.On(machine).Status(ctx)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return true, err
		}
		if len(status.Installed) > 0 {
			return true, nil
		}
		if h.StatusLine == nil {
			continue
		}
		if line, err := h.StatusLine.Untie(machine); len(line) > 0 || err != nil {
			return true, err
		}
	}
	return false, nil
}

// take performs the steps for a host and prints each, or only prints them.
func (c installation) take(ctx context.Context, host string, steps []hosts.Step, dryRun bool) error {
	say := func(s hosts.Step) { c.note(host, "  ", strings.TrimSpace(s.Says)) }
	if dryRun {
		for _, step := range steps {
			say(step)
		}
		return nil
	}
	return hosts.Apply(ctx, steps, say)
}
