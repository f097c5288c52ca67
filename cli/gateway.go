package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hosts/gateway"
	"flame/hosts/gateway/wrap"
	"flame/local/place"
	"flame/project"
)

// meterOption, as the first word, turns folding off for one run.
const meterOption = "--meter"

// What a gateway does if the user does not choose, in a host where it folds and in another one.
var (
	gatewayFolds = struct{ short, long string }{
		", leave finished frames out of its requests, and record its usage",
		"the work of finished frames leaves the requests to the model, and flame records the usage of each request.",
	}
	gatewayMeters = struct{ short, long string }{
		" and record the usage of its requests",
		"flame records the usage of each request. With " + env.GatewayFold + "=on, the work of finished frames leaves the requests to the model.",
	}
)

// newFront makes the command that runs a host's program behind a gateway. The command has the
// program's name.
func newFront(a *app.App, h hosts.Host) *cobra.Command {
	name, does := "flame "+h.Program, gatewayMeters
	if h.Gateway.Spec.Folds {
		does = gatewayFolds
	}
	return &cobra.Command{
		Use: h.Program + " ARGS...", Short: "Run " + h.Title + does.short,
		Long: "Run " + h.Title + " with ARGS, behind a gateway of its own on this machine: " + does.long + " It changes no settings; plain `" + h.Program +
			"` can resume the same sessions.\n\nAll words go to " + h.Program + ", `--help` too, except " + meterOption +
			" as the first word: flame then counts requests but sends them whole, as with " + env.GatewayFold + "=off.",
		Example: "  " + name + "\n" + strings.Join(lo.Map(h.Gateway.Spec.Lines, func(line string, _ int) string { return "  " + name + " " + line + "\n" }), "") +
			"  " + name + " " + meterOption,
		DisableFlagParsing: true, DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return wrappedRun{a, h}.run(cmd.Context(), args) },
	}
}

// A wrappedRun runs the program of a host.
type wrappedRun struct {
	app  *app.App
	host hosts.Host
}

func (c wrappedRun) run(ctx context.Context, args []string) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no settings of the user's
	program, err := c.host.Find(machine)
	if err != nil {
		return err
	}
	folding := string(c.app.Settings.GatewayFold)
	if len(args) > 0 && args[0] == meterOption {
		folding, args = "off", args[1:]
	}
	if c.off(ctx, at) {
		c.app.PrintNote("flame is off here, so " + c.host.Program + " runs without its gateway")
		return c.plainly(program, args)
	}
	behind, err := c.host.Gateway.Plan(machine, args)
	if err != nil {
		return err
	}
	for _, note := range behind.Notes {
		c.app.PrintNote(note)
	}
	if behind.Plain {
		return c.plainly(program, args)
	}
	end, err := c.fronted(ctx, at, behind, program, folding)
	if err != nil {
		return err
	}
	wrap.DieBySignal(end.Signal)
	return app.ExitStatus(end.Status)
}

// off reports whether flame is off, for this process or the project. Data that cannot be
// read does not say so.
func (c wrappedRun) off(ctx context.Context, at place.Place) (off bool) {
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
func (c wrappedRun) plainly(program string, args []string) error {
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, append([]string{c.host.Program}, args...), os.Environ()))
}

// fronted runs the program behind a gateway.
func (c wrappedRun) fronted(ctx context.Context, at place.Place, behind hosts.GatewayLaunch, program, folding string) (end wrap.ExitStatus, err error) {
	deeper, err := c.deeper()
	if err != nil {
		return end, err
	}
	port, err := wrap.Open()
	if err != nil {
		return end, core.Unavailablef(err, "the gateway cannot listen on 127.0.0.1: %v", err).
			WithHint("plain `%s` runs without it", c.host.Program)
	}
	defer port.Close()
	folder, err := c.folder(ctx, at)
	if err != nil {
		return end, core.Unavailablef(err, "flame cannot make a private folder: %v", err).WithHint("plain `%s` runs without one", c.host.Program)
	}
	defer func() { err = cmp.Or(err, folder.Remove()) }()
	secret := wrap.NewSecret()
	to := wrap.Endpoint{Base: wrap.Base(port.Addr, secret), Host: c.host.Name, Upstream: behind.Upstream.String(), Folding: folding, Network: behind.Network}
	if outer, _ := wrap.Find(at.Data.Path, os.Getenv(env.Gateway)); outer.IsAt(to.Upstream) {
		to.Upstream, to.Network = outer.Upstream, outer.Network // no chain
	}
	if err := folder.Note(to); err != nil {
		return end, err
	}
	args, environ, err := behind.Start(to.Base, env.Gateway+"="+folder.ID, folder.WriteSettings)
	if err != nil {
		return end, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{c.host.Program}, args...), Env: append(append(os.Environ(), deeper), environ...),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	c.app.DisableDeadline() // the program decides when it ends
	return wrap.Wrapper{
		Port: port, Program: cmd, Log: c.app.Log(at), Pace: wrap.DefaultPace,
		Gateway: func(ctx context.Context) *exec.Cmd {
			gateway := exec.CommandContext(ctx, c.app.Program(), "gateway", "--"+inheritedFlag)
			gateway.Env = append(append(os.Environ(), orders(to, secret)...), env.Gateway+"="+folder.ID)
			return gateway
		},
	}.Run()
}

// mostFronts bounds nested gateways: a program with the host's name may be a script that
// starts flame.
const mostFronts = 5

// deeper returns the variable that says how deep the program is.
func (c wrappedRun) deeper() (string, error) {
	depth, err := strconv.Atoi(cmp.Or(os.Getenv(env.GatewayDepth), "0"))
	if err != nil || depth >= mostFronts {
		return "", core.Invalidf("the %s on PATH seems to start flame again", c.host.Program).WithHint("on PATH, put the folder of the real program first")
	}
	return env.GatewayDepth + "=" + strconv.Itoa(depth+1), nil
}

// orders returns the variables that configure a gateway. They are secret, so they never
// appear on a command line.
func orders(to wrap.Endpoint, secret string) []string {
	environ := []string{env.GatewayHost + "=" + to.Host, env.GatewayUpstream + "=" + to.Upstream}
	environ = append(environ, env.GatewaySecret+"="+secret, env.GatewayFold+"="+to.Folding)
	for name, value := range to.Network { // an empty one is not set
		environ = append(environ, name+"="+value)
	}
	return environ
}

// folder makes a private folder: in the project's data or, without that, a temporary one.
func (c wrappedRun) folder(ctx context.Context, at place.Place) (*wrap.Folder, error) {
	_, err := at.Data.Ready(ctx, true)
	if err == nil {
		var folder *wrap.Folder
		if folder, err = wrap.MakeFolder(at.Data.Path, project.NewID("gateway")); err == nil {
			return folder, nil
		}
	}
	c.app.PrintNote(fmt.Sprintf("the project's data cannot be written, so nothing is folded or counted in this run: %v", err))
	return wrap.MakeFolder("", project.NewID("gateway"))
}

// inheritedFlag has a gateway use the port that it inherited, read its settings from the
// environment, and end with its stdin.
const inheritedFlag = "inherited"

// newGateway returns the command that is a gateway.
func newGateway(a *app.App) *cobra.Command {
	var upstream string
	var inherited bool
	known := a.Hosts.WithGateway()
	names := known.Names()
	usual := lo.FirstOrEmpty(names)
	fronts := lo.Map(known, func(h hosts.Host, _ int) string { return "`flame " + h.Program + "`" })
	cmd := &cobra.Command{
		Use: "gateway [HOST]", Args: app.CheckArgs(0, 1), Example: "  flame gateway --upstream https://api.example.com",
		Short: "Run a proxy between a host and its model (used by " + strings.Join(fronts, ", ") + ")",
		Long: "HOST is one of " + strings.Join(names, ", ") + "; without it, it is " + usual + ".\n\n" +
			"Listen on a free port of 127.0.0.1, print the base URL for a host's requests to its model, and pass them on without the work of " +
			"finished frames of this project, unless " + env.GatewayFold + " says otherwise. Ctrl-C ends it. Everyone who knows the URL can send " +
			"requests with their own key. The commands " + strings.Join(fronts, ", ") + " start one by themselves.",
	}
	cmd.Flags().StringVar(&upstream, "upstream", "", "base URL of the model's API (default: the host's own, as the user's settings or the environment name it)")
	cmd.Flags().BoolVar(&inherited, inheritedFlag, false, "use the port that the process inherited")
	_ = cmd.Flags().MarkHidden(inheritedFlag) // the error is for an unknown flag
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, args []string) error {
		name := cmp.Or(os.Getenv(env.GatewayHost), usual)
		if !inherited {
			name = lo.FirstOr(args, usual)
		}
		h, found := known.Find(name)
		switch {
		case !found:
			return core.Invalidf("flame has no gateway for %q", name).WithHint("name one of %s", strings.Join(names, ", "))
		case inherited:
			return inheritGateway(ctx, a, h, at)
		}
		return startGateway(ctx, a, h, at, upstream)
	})
}

// startGateway serves on a port of its own, and prints its address.
func startGateway(ctx context.Context, a *app.App, h hosts.Host, at place.Place, upstream string) error {
	if upstream == "" {
		machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no settings of the user's
		behind, err := h.Gateway.Plan(machine, nil)
		if err != nil {
			return err
		}
		upstream = behind.Upstream.String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return core.Unavailablef(err, "the gateway cannot listen on 127.0.0.1: %v", err)
	}
	secret := wrap.NewSecret()
	return serveGateway(ctx, a, h, at, l, upstream, gateway.Options{Secret: secret}, func() error {
		_, err := fmt.Fprintf(a.Stdout, "%s=%s\n", cmp.Or(h.Gateway.BaseVariable, h.Gateway.BaseSetting), wrap.Base(l.Addr().String(), secret))
		return err
	})
}

// inheritGateway serves on the port that this process inherited.
func inheritGateway(ctx context.Context, a *app.App, h hosts.Host, at place.Place) error {
	l, err := wrap.InheritedPort()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, a.Stdin) // ends when the processes that need the gateway are gone
	}()
	o := gateway.Options{Name: os.Getenv(env.Gateway), Secret: env.TakeSecret(env.GatewaySecret)}
	return serveGateway(ctx, a, h, at, l, os.Getenv(env.GatewayUpstream), o, func() error { return nil })
}

func serveGateway(
	ctx context.Context, a *app.App, h hosts.Host, at place.Place, l net.Listener, base string, o gateway.Options, ready func() error,
) (err error) {
	a.DisableDeadline() // it stores the usage that it has measured
	upstream, err := url.Parse(base)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" || o.Secret == "" {
		return core.Invalidf("the gateway needs the base URL of the model's API").WithHint("--upstream https://HOST")
	}
	p, closeProject := a.Open(at, true)
	defer func() { err = errors.Join(err, closeProject()) }()
	p.HostProcess = nil // the process that runs it is not the host
	leaveNoCore()
	o.Project, o.Host, o.Agent, o.Wire, o.Upstream = p, h.Name, os.Getenv(core.AgentVariable), h.Gateway.Spec, upstream
	o.Folding, o.Log = gateway.Folding(a.Settings.GatewayFold), p.Log
	g := gateway.New(o)
	if err := ready(); err != nil {
		return err
	}
	return g.Serve(ctx, l)
}

// leaveNoCore has a crash of this process leave no core file, which would hold requests.
func leaveNoCore() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // less is always allowed
	}
}
