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

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/tools"
)

// A namedHost is a host that flame can be set up in.
type namedHost struct {
	name string
	hosts.Setup
}

// knownHosts lists the hosts, on this machine.
func knownHosts(m hosts.Machine) []namedHost {
	return []namedHost{
		{claudecode.Name, claudecode.Setup{Machine: m}},
		{opencode.Name, opencode.Setup{Machine: m, Tools: tools.Names}},
	}
}

type setupOptions struct {
	scope          string
	dryRun, remove bool
}

func newSetup(a *App) *cobra.Command {
	opts := setupOptions{scope: string(hosts.User)}
	names := lo.Map(knownHosts(hosts.Machine{}), func(h namedHost, _ int) string { return h.name })
	cmd := &cobra.Command{
		Use: "setup [claude-code] [opencode]", Short: "Tie flame to Claude Code and OpenCode", Example: "  flame setup\n  flame setup opencode --scope project\n  flame setup --remove",
		Long:      "Install flame in the hosts on PATH, or in those named: the program as\n~/.local/bin/flame, in Claude Code our plugin, in OpenCode one JavaScript file.\nNo config file is edited. Running it again brings everything up to date.",
		ValidArgs: names,
		Args: func(cmd *cobra.Command, args []string) error {
			if unknown, found := lo.Find(args, func(name string) bool { return !slices.Contains(names, name) }); found {
				return wrongUsage(cmd, "there is no host %q", unknown)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.setup(cmd.Context(), args, opts) },
	}
	choose(cmd, &opts.scope, "scope", "for all projects of the user or for this project", string(hosts.User), string(hosts.Project))
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&opts.remove, "remove", false, "undo it")
	return cmd
}

func (a *App) setup(ctx context.Context, names []string, opts setupOptions) error {
	scope := hosts.Scope(opts.scope)
	machine, err := a.machine()
	if err != nil {
		return err
	}
	chosen := lo.Filter(knownHosts(machine), func(h namedHost, _ int) bool {
		return len(names) == 0 || slices.Contains(names, h.name)
	})
	if opts.remove {
		return a.unset(ctx, machine, chosen, scope, opts.dryRun)
	}
	return a.install(ctx, machine, chosen, scope, len(names) > 0, opts.dryRun)
}

// machine is this one, seen from the project.
func (a *App) machine() (hosts.Machine, error) {
	at, err := a.place()
	if err != nil {
		return hosts.Machine{}, err
	}
	return hosts.ThisMachine(at.Worktree)
}

// install sets up the chosen hosts. One that is missing is told; it is an error
// if it was asked for by name, or if there is none at all; then nothing is done.
func (a *App) install(ctx context.Context, machine hosts.Machine, chosen []namedHost, scope hosts.Scope, named, dryRun bool) error {
	plans, missing, err := a.planHosts(ctx, chosen, scope)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return errSilent
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	steps, err := machine.InstallBinary(program)
	if err != nil {
		return err
	}
	if err := a.take(ctx, steps, dryRun); err != nil {
		return err
	}
	for _, plan := range plans {
		if len(plan.steps) == 0 {
			fmt.Fprintf(a.Stdout, "%s: already set up\n", plan.host)
			continue
		}
		fmt.Fprintf(a.Stdout, "%s:\n", plan.host)
		if err := a.take(ctx, plan.steps, dryRun); err != nil {
			return err
		}
	}
	a.tellDouble(ctx, chosen)
	if !dryRun {
		fmt.Fprintln(a.Stdout, "Start a new session in the host and work as always; `flame tree` shows the frames that come of it, `flame doctor` checks each link.")
		a.tellPath(machine)
	}
	if missing && named {
		return errSilent
	}
	return nil
}

// A hostPlan is what setting up one host takes.
type hostPlan struct {
	host  string
	steps []hosts.Step
}

// planHosts plans each host that is there, and tells of those that are missing.
func (a *App) planHosts(ctx context.Context, chosen []namedHost, scope hosts.Scope) (plans []hostPlan, missing bool, err error) {
	for _, h := range chosen {
		steps, err := h.Install(ctx, scope)
		switch {
		case errors.Is(err, core.ErrNotFound):
			missing = true
			a.complain(err)
		case err != nil:
			return nil, false, err
		default:
			plans = append(plans, hostPlan{h.name, steps})
		}
	}
	return plans, missing, nil
}

// tellPath says how to call flame by its name where PATH does not lead to it.
func (a *App) tellPath(machine hosts.Machine) {
	found, err := machine.LookPath("flame")
	if err == nil && hosts.Same(found, machine.Binary()) {
		return
	}
	fmt.Fprintf(a.Stdout, "To call flame by its name, add ~/.local/bin to PATH; until then it is %s.\n", machine.Binary())
}

// tellDouble warns of hosts in which flame is registered by hand as well.
func (a *App) tellDouble(ctx context.Context, chosen []namedHost) {
	for _, h := range chosen {
		status, err := h.Status(ctx)
		if err != nil || !status.Double() {
			continue
		}
		for _, entry := range status.ByHand {
			fmt.Fprintf(a.Stderr, "flame: %s: %s registers flame by hand too, as %q: %s\nhint: %s\n", h.name, entry.File, entry.Name, doubly(status), entry.Undo)
		}
	}
}

// unset undoes the setup, all of it or nothing. The program goes with the last host
// that uses it.
func (a *App) unset(ctx context.Context, machine hosts.Machine, chosen []namedHost, scope hosts.Scope, dryRun bool) error {
	var plans []hostPlan
	for _, h := range chosen {
		steps, err := h.Remove(ctx, scope)
		if errors.Is(err, core.ErrNotFound) {
			fmt.Fprintf(a.Stdout, "%s: %v\n", h.name, err)
			continue
		}
		if err != nil {
			return err
		}
		plans = append(plans, hostPlan{h.name, steps})
	}
	for _, plan := range plans {
		if len(plan.steps) == 0 {
			fmt.Fprintf(a.Stdout, "%s: nothing to remove\n", plan.host)
			continue
		}
		fmt.Fprintf(a.Stdout, "%s:\n", plan.host)
		if err := a.take(ctx, plan.steps, dryRun); err != nil {
			return err
		}
	}
	used, err := a.stillUsed(ctx, machine, dryRun)
	if err != nil || used {
		return err
	}
	if err := a.take(ctx, machine.RemoveBinary(), dryRun); err != nil {
		return err
	}
	return a.tellKept()
}

// tellKept says where the frames stay when flame goes.
func (a *App) tellKept() error {
	at, err := a.place()
	if err != nil {
		return err
	}
	kept, err := at.Data.List()
	if err != nil || len(kept) == 0 {
		return nil // there is nothing that could be told
	}
	_, err = fmt.Fprintf(a.Stdout, "Your frames stay in %s: delete that folder if you do not want them any more.\n", filepath.Dir(at.Data.Path))
	return err
}

// stillUsed reports whether some host starts the installed program.
func (a *App) stillUsed(ctx context.Context, machine hosts.Machine, dryRun bool) (bool, error) {
	if dryRun {
		return true, nil // nothing was removed, so nothing is known
	}
	for _, h := range knownHosts(machine) {
		status, err := h.Status(ctx)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return true, err
		}
		if len(status.Installed) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// take does the steps and prints each, or only prints them.
func (a *App) take(ctx context.Context, steps []hosts.Step, dryRun bool) error {
	say := func(s hosts.Step) { fmt.Fprintf(a.Stdout, "  %s\n", strings.TrimSpace(s.Says)) }
	if dryRun {
		for _, step := range steps {
			say(step)
		}
		return nil
	}
	return hosts.Apply(ctx, steps, say)
}
