package wiring

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
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hosts/gateway"
	"flame/hosts/gateway/wrap"
	"flame/local/place"
	"flame/project"
	"flame/project/usage"
)

// gates open the gateways of agents.
type gates struct {
	wiring
	at place.Place
}

// open opens the gateway of one agent (an agents.OpenGateway); it returns nil if this session has
// no gateway.
func (g gates) open(host hosts.Host, agent string, metered func(used core.Usage, below bool)) (*agents.Gateway, error) {
	around, inside, err := g.around()
	if !inside || err != nil {
		return nil, err
	}
	none := agents.Gateway{Env: g.beyond(around), Close: func() {}}
	if !host.HasGateway() {
		return &none, nil
	}
	at, err := g.stand(around, host)
	if err != nil {
		return &none, err
	}
	p, closeProject := g.wiring.open(g.at, true)
	p.HostProcess = nil // this process is not the host
	served := serve(at, gateway.Options{
		Project: p, Host: host.Name, Agent: agent, Wire: host.Gateway.Spec, Name: at.folder.ID, Upstream: at.upstream, Secret: at.secret, Log: p.Log,
		Folding: gateway.Folding(cmp.Or(around.Folding, string(g.settings.GatewayFold))),
		Metered: func(r usage.MeteredRequest) {
			metered(r.Usage, r.Class == string(hosts.ClassSubagent) || r.Class == string(hosts.Workflow))
		},
	})
	return &agents.Gateway{
		Env: none.Env, Base: at.base, For: []string{at.upstream.String(), around.Base}, Mark: env.Gateway + "=" + at.folder.ID, Write: at.folder.WriteSettings,
		Close: sync.OnceFunc(func() {
			if err := errors.Join(served(), closeProject(), at.folder.Remove()); err != nil {
				p.Log.Warn("an agent's gateway did not end in order", "agent", agent, "error", err)
			}
		}),
	}, nil
}

// around returns the address and upstream of the gateway of the session around this process;
// inside is false without one. An agent's gateway uses the same upstream and network: the
// variables of this process may come from a project's settings, so around replaces them.
func (g gates) around() (a wrap.Endpoint, inside bool, err error) {
	name := os.Getenv(env.Gateway)
	if name == "" {
		return a, false, nil
	}
	a, found := wrap.Find(g.at.Data.Path, name)
	if !found {
		return a, true, errors.Join(core.NotFoundf("the gateway of the session around the agent is gone"), g.leaveGone())
	}
	if a.Host == "" { // an older flame noted it
		a.Host = lo.FirstOrEmpty(g.known.WithGateway().Names())
	}
	for name, value := range a.Network {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return a, true, err
}

// An endpoint is the address where a gateway listens, and the folder that names it.
type endpoint struct {
	net.Listener
	folder       *wrap.Folder
	upstream     *url.URL
	base, secret string
}

// beyond returns the variables with which a host does not use the gateway of the session around
// the agent.
func (g gates) beyond(around wrap.Endpoint) []string {
	if of := g.known.Of(around.Host); of.Gateway.BaseVariable != "" {
		return []string{of.Gateway.BaseVariable + "=" + around.Upstream}
	}
	return nil
}

// upstream returns the base URL of the model of an agent's host. That of another host than the
// session's is its own.
func (g gates) upstream(around wrap.Endpoint, host hosts.Host) (*url.URL, error) {
	if host.Name == around.Host {
		return url.Parse(around.Upstream)
	}
	machine, _ := hosts.ThisMachine(g.at.Worktree) // without a home there are no settings of the user's
	if variable := host.Gateway.BaseVariable; variable != "" {
		projects := g.known.ProjectSettings(machine, g.at.Worktree, g.at.Dir)
		if file := g.known.SetByProject(machine, projects, variable); file != "" {
			return nil, core.Invalidf("%s, which came with the project, sets %s: the agent's key could go anywhere", file, variable)
		}
	}
	behind, err := host.Gateway.Plan(machine, nil)
	return behind.Upstream, err
}

// stand makes the stand of an agent's gateway.
func (g gates) stand(around wrap.Endpoint, host hosts.Host) (s endpoint, err error) {
	if s.upstream, err = g.upstream(around, host); err != nil {
		return s, err
	}
	if s.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return s, err
	}
	if s.folder, err = wrap.MakeFolder(g.at.Data.Path, project.NewID("gateway")); err != nil {
		return s, errors.Join(err, s.Close())
	}
	s.secret = wrap.NewSecret()
	s.base = wrap.Base(s.Addr().String(), s.secret)
	own := around // of the agent's agents
	own.Base, own.Host, own.Upstream = s.base, host.Name, s.upstream.String()
	if err := s.folder.Note(own); err != nil {
		return s, errors.Join(err, s.Close(), s.folder.Remove())
	}
	return s, nil
}

// leaveGone makes hosts use their own base URLs if this process has the URL of an ended gateway.
func (g gates) leaveGone() error {
	return errors.Join(lo.Map(g.known, func(h hosts.Host, _ int) error {
		if h.Gateway.BaseVariable == "" || !wrap.IsGone(os.Getenv(h.Gateway.BaseVariable)) {
			return nil
		}
		return os.Unsetenv(h.Gateway.BaseVariable)
	})...)
}

// serve serves a gateway until end is called.
func serve(l net.Listener, o gateway.Options) (end func() error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- gateway.New(o).Serve(ctx, l) }()
	return func() error {
		stop()
		return <-ended
	}
}
