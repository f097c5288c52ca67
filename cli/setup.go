package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/doctor"
	"flame/core"
	"flame/hosts"
)

func newSetup(a *app.App) *cobra.Command {
	c := installation{app: a, scope: hosts.ScopeUser}
	names := a.Hosts.Names()
	cmd := &cobra.Command{
		Use:     strings.Join(append([]string{"setup"}, lo.Map(names, func(name string, _ int) string { return "[" + name + "]" })...), " "),
		Short:   "Connect flame to " + a.Hosts.Titles("and"),
		Example: "  flame setup\n  flame setup " + lo.LastOrEmpty(names) + " --scope project\n  flame setup --remove",
		Long: "Install flame in all hosts on PATH, or in the named ones: the program as\n~/.local/bin/flame, " + a.Hosts.Additions() + ".\n" +
			"Flame edits no config file: the hosts' own commands note plugins in theirs. Run it again to\nupdate everything.",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if _, known := a.Hosts.Find(name); !known {
					return app.NewUsageError(cmd, "there is no host %q", name)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.setup(cmd.Context(), args) },
	}
	app.EnumFlag(cmd, &c.scope, "scope", "set flame up for all projects of the user or for this project", string(hosts.ScopeUser), string(hosts.ScopeProject))
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "print the steps, and take none")
	cmd.Flags().BoolVar(&c.remove, "remove", false, "undo the setup")
	return cmd
}

// An installation sets hosts up for flame, or undoes that.
type installation struct {
	app            *app.App
	scope          hosts.Scope
	dryRun, remove bool

	machine hosts.Machine
	chosen  hosts.Registry
	named   bool // the hosts were chosen by name
	telling sync.Mutex
	notes   []setupNote
}

// A setupNote is a step or a remark.
type setupNote struct {
	Host string `json:"host,omitempty"` // empty: the note is about the program
	Says string `json:"says"`
}

// note adds to the notes, and prints it on a line behind before.
func (c *installation) note(host, before, says string) {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.notes = append(c.notes, setupNote{host, says})
	c.line(before + says)
}

// of notes what is about a host, on a line that begins with its title.
func (c *installation) of(host, says string) { c.note(host, c.app.Hosts.Title(host)+": ", says) }

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
	if c.dryRun && !c.remove { // no host is started: the steps are those in a host that has nothing of flame's
		c.machine.Run = func(context.Context, string, string, ...string) (string, error) { return "null", nil }
	}
	names = lo.Map(names, func(name string, _ int) string { return c.app.Hosts.Of(name).Name })
	c.chosen = lo.Filter(c.app.Hosts, func(h hosts.Host, _ int) bool { return !c.named || slices.Contains(names, h.Name) })
	if c.remove {
		err = c.uninstall(ctx)
	} else {
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
	missing := map[string]error{}
	plans, err := c.plan(func(h hosts.Host) ([]hosts.SetupStep, error) { return h.Client(c.machine).Install(ctx, c.scope) },
		func(h hosts.Host, err error) { missing[h.Name] = err })
	if err != nil {
		return err
	}
	for _, h := range c.chosen {
		switch err := missing[h.Name]; {
		case err == nil:
		case c.named || len(plans) == 0:
			c.app.PrintError(err)
		default:
			c.of(h.Name, strings.TrimPrefix(err.Error(), h.Title+" "))
		}
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
	if !c.dryRun {
		in := lo.Filter(c.chosen, func(h hosts.Host, _ int) bool {
			return slices.ContainsFunc(plans, func(p hostPlan) bool { return p.host == h.Name })
		})
		c.line("")
		c.note("", "Next: ", "start a new session in "+in.Titles("or")+", in a project's folder, and work as usual.")
		c.warn(ctx)
		c.note("", "Then: ", "`flame tree` shows the resulting frames, `flame doctor` checks each link.")
		if found, err := c.machine.LookPath("flame"); err != nil || !hosts.SameFolder(found, c.machine.Binary()) {
			c.note("", "", "To call flame by its name, add ~/.local/bin to PATH; until then it is "+c.machine.Binary()+".")
		}
	}
	if len(missing) > 0 && c.named {
		return app.ErrSilent
	}
	return nil
}

// A hostPlan is the plan for one host.
type hostPlan struct {
	host  string
	steps []hosts.SetupStep
}

// takePlans takes the steps of each plan. For a plan without steps it prints idle.
func (c *installation) takePlans(ctx context.Context, plans []hostPlan, idle string) error {
	var side sync.WaitGroup
	failed := make([]error, len(plans))
	for i, plan := range plans {
		if len(plan.steps) == 0 {
			c.of(plan.host, idle)
		}
		side.Go(func() { failed[i] = c.take(ctx, plan.host, plan.steps) })
	}
	side.Wait()
	return errors.Join(failed...)
}

// plan plans the chosen hosts, side by side. It calls missing for a host that is not installed.
func (c *installation) plan(steps func(h hosts.Host) ([]hosts.SetupStep, error), missing func(h hosts.Host, err error)) (plans []hostPlan, err error) {
	var side sync.WaitGroup
	found, failed := make([][]hosts.SetupStep, len(c.chosen)), make([]error, len(c.chosen))
	for i, h := range c.chosen {
		side.Go(func() { found[i], failed[i] = steps(h) })
	}
	side.Wait()
	for i, h := range c.chosen {
		switch err := failed[i]; {
		case errors.Is(err, core.ErrNotFound):
			missing(h, err)
		case err != nil:
			return nil, err
		default:
			plans = append(plans, hostPlan{h.Name, found[i]})
		}
	}
	return plans, nil
}

// warn warns of hosts in which flame is registered by hand as well, and notes what the user must
// still allow in a host.
func (c *installation) warn(ctx context.Context) {
	for _, h := range c.chosen {
		status, err := h.Client(c.machine).Status(ctx)
		if err == nil && status.Consent.What != "" {
			c.of(h.Name, strings.TrimPrefix(status.Consent.What, h.Title+" ")+": "+status.Consent.Hint)
		}
		if err != nil || !status.RegisteredTwice() {
			continue
		}
		for _, entry := range status.ByHand {
			fmt.Fprintf(c.app.Stderr, "flame: %s: %s also registers flame by hand, as %q: %s\nhint: %s\n",
				h.Title, entry.File, entry.Name, doctor.DoubleRegistration(status, entry), entry.Undo)
		}
	}
}

// uninstall undoes the setup, all of it or nothing. The program is removed with the last
// host that uses it.
func (c *installation) uninstall(ctx context.Context) error {
	plans, err := c.plan(func(h hosts.Host) ([]hosts.SetupStep, error) { return h.Client(c.machine).Remove(ctx, c.scope) },
		func(h hosts.Host, err error) { c.of(h.Name, err.Error()) })
	if err != nil {
		return err
	}
	if err := c.takePlans(ctx, plans, "nothing to remove"); err != nil {
		return err
	}
	for _, plan := range plans {
		if h := c.app.Hosts.Of(plan.host); len(plan.steps) > 0 && h.Setup.Leaves != "" {
			c.of(h.Name, "the host itself keeps "+h.Setup.Leaves)
		}
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
		status, err := h.Client(c.machine).Status(ctx)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return true, err
		}
		if len(status.Installed) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// take performs the steps for a host and prints each, or only prints them.
func (c *installation) take(ctx context.Context, host string, steps []hosts.SetupStep) error {
	say := func(s hosts.SetupStep) {
		c.note(host, lo.Ternary(host == "", "", c.app.Hosts.Title(host)+": "), strings.TrimSpace(s.Description))
	}
	if !c.dryRun {
		return hosts.Apply(ctx, steps, say)
	}
	for _, step := range steps {
		say(step)
	}
	return nil
}
