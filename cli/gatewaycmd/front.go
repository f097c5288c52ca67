// Package gatewaycmd has the commands that put a gateway between a host and its model:
// one for each host that can have one, and the gateway itself.
package gatewaycmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/config/env"
	"flame/core"
	"flame/gateway/front"
	"flame/hosts"
	"flame/project"
	"flame/project/place"
)

// Fronted returns the hosts that can have a gateway.
func Fronted(known hosts.Registry) []hosts.Host {
	return lo.Filter(known, func(h hosts.Host, _ int) bool { return h.Behind != nil && h.Wire != nil })
}

// meterOption, as the first word, turns folding off for one run.
const meterOption = "--meter"

// NewFront makes the command that runs a host's program behind a gateway. It bears the name
// of that program.
func NewFront(a *app.App, h hosts.Host) *cobra.Command {
	name := "flame " + h.Program
	return &cobra.Command{
		Use: h.Program + " ARGS...", Short: "Run " + h.Title + " so that finished frames leave its requests, and count what it uses",
		Long: "Run " + h.Title + " with ARGS, behind a gateway of its own on this machine: what was done in finished frames " +
			"leaves the requests to the model, and what each request used is recorded. No settings are changed; plain `" + h.Program +
			"` goes on with the same sessions.\n\nEvery word goes to " + h.Program + ", `--help` too, but for " + meterOption +
			" as the first one: then requests are counted and go out whole, as with " + env.GatewayFold + "=off.",
		Example:            "  " + name + "\n  " + name + " --resume\n  " + name + " " + meterOption + " -p \"Fix the login\"",
		DisableFlagParsing: true, DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return fronting{a, h}.run(cmd.Context(), args) },
	}
}

// A fronting runs the program of a host.
type fronting struct {
	app  *app.App
	host hosts.Host
}

func (c fronting) run(ctx context.Context, args []string) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // one without a home has no settings of the user's
	program, err := c.host.Find(machine)
	if err != nil {
		return err
	}
	folding := string(c.app.Settings.GatewayFold)
	if len(args) > 0 && args[0] == meterOption {
		folding, args = "off", args[1:]
	}
	if c.off(ctx, at) {
		c.app.Note("flame is off here, so " + c.host.Program + " runs without its gateway")
		return c.plainly(program, args)
	}
	behind, err := c.host.Behind(machine, args)
	if err != nil {
		return err
	}
	for _, note := range behind.Notes {
		c.app.Note(note)
	}
	if behind.Plain {
		return c.plainly(program, args)
	}
	end, err := c.fronted(ctx, at, behind, program, folding)
	if err != nil {
		return err
	}
	front.Die(end.Signal)
	return app.Ended(end.Status)
}

// off reports whether flame is off, for this process or the project. Data that cannot be
// read does not say so.
func (c fronting) off(ctx context.Context, at place.Place) (off bool) {
	if c.app.Settings.Off {
		return true
	}
	err := c.app.At(at, false, func(p *project.Project) (err error) {
		off, err = p.Off(ctx)
		return err
	})
	return err == nil && off
}

// plainly becomes the program.
func (c fronting) plainly(program string, args []string) error {
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, append([]string{c.host.Program}, args...), os.Environ()))
}

// fronted runs the program behind a gateway.
func (c fronting) fronted(ctx context.Context, at place.Place, behind hosts.Behind, program, folding string) (end front.End, err error) {
	deeper, err := c.deeper()
	if err != nil {
		return end, err
	}
	port, err := front.Open()
	if err != nil {
		return end, core.Unavailablef(err, "no port of 127.0.0.1 can be had for the gateway: %v", err).
			WithHint("plain `%s` runs without it", c.host.Program)
	}
	defer port.Close()
	folder, err := c.folder(ctx, at)
	if err != nil {
		return end, core.Unavailablef(err, "no private folder can be made: %v", err).WithHint("plain `%s` runs without one", c.host.Program)
	}
	defer func() { err = cmp.Or(err, folder.Remove()) }()
	o := orders{upstream: behind.Upstream.String(), secret: front.NewSecret(), folding: folding, network: behind.Network}
	if outer, _ := front.Find(at.Data.Path, os.Getenv(env.Gateway)); outer.IsAt(o.upstream) {
		o.upstream, o.network = outer.Upstream, outer.Network // no chain
	}
	file, err := settingsFile(folder, behind, port, o)
	if err != nil {
		return end, err
	}
	flame, err := os.Executable()
	if err != nil {
		return end, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{c.host.Program}, behind.Args(file)...), Env: append(os.Environ(), deeper),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	c.app.TakeTime() // the program decides when it ends
	return front.Front{
		Port: port, Program: cmd, Log: c.app.Log(at), Pace: front.DefaultPace,
		Gateway: func() *exec.Cmd {
			gateway := exec.Command(flame, "gateway", "--"+inheritedFlag)
			gateway.Env = append(os.Environ(), o.environ()...)
			return gateway
		},
	}.Run()
}

// mostFronts is how many may be around each other: a program of the host's name may be a
// script that starts flame.
const mostFronts = 5

// deeper returns the variable that says how deep the program is.
func (c fronting) deeper() (string, error) {
	depth, err := strconv.Atoi(cmp.Or(os.Getenv(env.GatewayDepth), "0"))
	if err != nil || depth >= mostFronts {
		return "", core.Invalidf("the %s on PATH seems to start flame again", c.host.Program).WithHint("put the folder of the real one before its folder on PATH")
	}
	return env.GatewayDepth + "=" + strconv.Itoa(depth+1), nil
}

// settingsFile writes the settings of a run, and where its gateway is.
func settingsFile(folder *front.Folder, behind hosts.Behind, port *front.Port, o orders) (string, error) {
	base := front.Base(port.Addr, o.secret)
	if err := folder.Note(front.Address{Base: base, Upstream: o.upstream, Folding: o.folding, Network: o.network}); err != nil {
		return "", err
	}
	settings, err := behind.Settings(base, env.Gateway+"="+folder.ID)
	if err != nil {
		return "", err
	}
	return folder.WriteSettings(settings)
}

// folder makes a private folder: in the project's data or, without that, a temporary one.
func (c fronting) folder(ctx context.Context, at place.Place) (*front.Folder, error) {
	_, err := at.Data.Ready(ctx, true)
	if err == nil {
		var folder *front.Folder
		if folder, err = front.MakeFolder(at.Data.Path, project.NewID("gateway")); err == nil {
			return folder, nil
		}
	}
	c.app.Note(fmt.Sprintf("the project's data cannot be written, so nothing is folded or counted in this run: %v", err))
	return front.MakeFolder("", project.NewID("gateway"))
}
