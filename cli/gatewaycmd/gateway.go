package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/config/env"
	"flame/core"
	"flame/gateway"
	"flame/gateway/front"
	"flame/hosts"
)

// inheritedFlag has a gateway use the port that it was started with, do what the
// environment orders, and end with its stdin.
const inheritedFlag = "inherited"

// New returns the command that is a gateway.
func New(a *app.App) *cobra.Command {
	var upstream string
	var inherited bool
	cmd := &cobra.Command{
		Use: "gateway", Short: "Stand between a host and its model, as the commands named after hosts do", Args: flags.Takes(0, 0),
		Long: "Listen on a free port of 127.0.0.1, print the base URL for a host's requests to its model, and pass them on: without what was " +
			"done in finished frames of this project, unless " + env.GatewayFold + " says otherwise. It ends by Ctrl-C. Whoever knows the URL can send " +
			"requests, with a key of their own. " + fronts(a) + " starts one by itself.",
		Example: "  flame gateway --upstream https://api.example.com",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if inherited {
				return serving{a}.inherited(cmd.Context())
			}
			return serving{a}.byHand(cmd.Context(), upstream)
		},
	}
	cmd.Flags().StringVar(&upstream, "upstream", "", "base URL of the model's API (default: the host's own, as the user's settings or the environment name it)")
	cmd.Flags().BoolVar(&inherited, inheritedFlag, false, "use the port that it was started with")
	_ = cmd.Flags().MarkHidden(inheritedFlag) // it is there
	return cmd
}

// fronts names the commands that start gateways.
func fronts(a *app.App) string {
	names := lo.FilterMap(a.Hosts, func(h hosts.Host, _ int) (string, bool) { return "`flame " + h.Program + "`", h.Behind != nil })
	return lo.Reduce(names, func(all, name string, i int) string { return all + lo.Ternary(i == 0, "", " or ") + name }, "")
}

// Orders are what a gateway is told by who starts it. They are secret, so they are in no
// command line.
type orders struct {
	upstream, secret, folding string
	network                   map[string]string // variables; empty: not set
}

func (o orders) environ() []string {
	environ := []string{env.GatewayUpstream + "=" + o.upstream, env.GatewaySecret + "=" + o.secret, env.GatewayFold + "=" + o.folding}
	for name, value := range o.network {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// A serving is a running gateway.
type serving struct{ app *app.App }

// byHand serves on a port of its own.
func (c serving) byHand(ctx context.Context, upstream string) error {
	o := orders{upstream: upstream, secret: front.NewSecret()}
	if o.upstream == "" {
		usual, err := c.usual()
		if err != nil {
			return err
		}
		o.upstream = usual.String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return core.Unavailablef(err, "no port of 127.0.0.1 can be had: %v", err)
	}
	return c.serve(ctx, l, o, func(h hosts.Host) error {
		_, err := fmt.Fprintf(c.app.Stdout, "%s=%s\n", h.BaseVariable, front.Base(l.Addr().String(), o.secret))
		return err
	})
}

// inherited serves on the port that this process was started with.
func (c serving) inherited(ctx context.Context) error {
	l, err := front.Inherited()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, c.app.Stdin) // until those who need the gateway are gone
	}()
	o := orders{upstream: os.Getenv(env.GatewayUpstream), secret: os.Getenv(env.GatewaySecret)}
	return c.serve(ctx, l, o, func(hosts.Host) error { return nil })
}

// host returns the host that gateways are for.
func (c serving) host() (hosts.Host, error) {
	h, found := lo.Find(c.app.Hosts, func(h hosts.Host) bool { return h.Wire != nil })
	if !found {
		return h, core.NotFoundf("no host has a gateway")
	}
	return h, nil
}

// usual returns the base URL that the host would use by itself.
func (c serving) usual() (*url.URL, error) {
	h, err := c.host()
	if err != nil {
		return nil, err
	}
	machine, _ := c.app.Machine() // one without a home has no settings of the user's
	behind, err := h.Behind(machine, nil)
	return behind.Upstream, err
}

func (c serving) serve(ctx context.Context, l net.Listener, o orders, ready func(hosts.Host) error) (err error) {
	c.app.TakeTime() // it stores what it knows
	upstream, err := url.Parse(o.upstream)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" || o.secret == "" {
		return core.Invalidf("the gateway needs the base URL of the model's API").WithHint("--upstream https://HOST")
	}
	h, err := c.host()
	if err != nil {
		return err
	}
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	p, closeProject, err := c.app.Open(at, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProject()) }()
	p.HostProcess = nil // whoever runs it is not the host
	leaveNoCore()
	g := gateway.New(gateway.Options{
		Project: p, Host: h.Name, Agent: os.Getenv(core.AgentVariable), Wire: h.Wire, Upstream: upstream, Secret: o.secret,
		Folding: gateway.Folding(c.app.Settings.GatewayFold), Log: p.Log,
	})
	if err := ready(h); err != nil {
		return err
	}
	return g.Serve(ctx, l)
}

// leaveNoCore has a crash of this process leave no core file, which would hold what passed.
func leaveNoCore() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // less is always allowed
	}
}
