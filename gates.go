package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"sync"

	"github.com/samber/lo"

	"flame/agents"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/gateway"
	"flame/gateway/front"
	"flame/hosts"
	"flame/project"
	"flame/project/place"
	"flame/project/usage"
)

// gates open the gateways of agents.
type gates struct {
	settings config.Settings
	known    hosts.Registry
	at       place.Place
}

// open opens the gateway of one agent (an agents.OpenGate). What is behind it, and how it is
// reached, is as with the gateway of the session around this process: what variables say
// of that may be from a project's settings, so this process has others from here on.
func (g gates) open(host hosts.Host, agent string, metered func(used core.Usage, below bool)) (*agents.Gate, error) {
	name := os.Getenv(env.Gateway)
	around, found := front.Find(g.at.Data.Path, name)
	switch {
	case name == "":
		return nil, nil
	case !found:
		return nil, errors.Join(core.NotFoundf("the gateway of the session around the agent is gone"), g.leaveGone())
	}
	if host.Wire == nil || host.Behind == nil {
		return &agents.Gate{Upstream: around.Upstream, Close: func() {}}, nil
	}
	for name, value := range around.Network {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	upstream, err := url.Parse(around.Upstream)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	folder, err := front.MakeFolder(g.at.Data.Path, project.NewID("gateway"))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	secret := front.NewSecret()
	base := front.Base(l.Addr().String(), secret)
	own := around // of the agent's agents
	own.Base = base
	if err := folder.Note(own); err != nil {
		return nil, errors.Join(err, l.Close(), folder.Remove())
	}
	p, closeProject, err := open(g.settings, g.known, g.at, true)
	if err != nil {
		return nil, errors.Join(err, l.Close(), folder.Remove())
	}
	p.HostProcess = nil // this process is not the host
	served := serve(l, gateway.Options{
		Project: p, Host: host.Name, Agent: agent, Wire: host.Wire, Upstream: upstream, Secret: secret, Log: p.Log,
		Folding: gateway.Folding(cmp.Or(around.Folding, string(g.settings.GatewayFold))),
		Metered: func(r usage.Request) {
			metered(r.Usage, r.Class == string(hosts.Subagent) || r.Class == string(hosts.Workflow))
		},
	})
	return &agents.Gate{
		Upstream: around.Upstream, Base: base, Mark: env.Gateway + "=" + folder.ID, Write: folder.WriteSettings,
		Close: sync.OnceFunc(func() {
			if err := errors.Join(served(), closeProject(), folder.Remove()); err != nil {
				p.Log.Warn("an agent's gateway did not end in order", "agent", agent, "error", err)
			}
		}),
	}, nil
}

// leaveGone has hosts use their own base URLs where this process has that of a gateway
// which has ended.
func (g gates) leaveGone() error {
	return errors.Join(lo.Map(g.known, func(h hosts.Host, _ int) error {
		if h.BaseVariable == "" || !front.IsGone(os.Getenv(h.BaseVariable)) {
			return nil
		}
		return os.Unsetenv(h.BaseVariable)
	})...)
}

// serve serves a gateway until its end is asked for.
func serve(l net.Listener, o gateway.Options) (end func() error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- gateway.New(o).Serve(ctx, l) }()
	return func() error {
		stop()
		return <-ended
	}
}
