package agents

import (
	"errors"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// A Gate is a gateway of an agent's own, between its host and the model.
type Gate struct {
	Upstream string // base URL of the model's API
	Base     string // the base URL for the host; empty: it has no gateway, and Close alone is there
	Mark     string // NAME=value, for processes of the host

	Write func(settings []byte) (file string, err error) // writes a settings file that nobody else can read
	Close func()                                         // ends it, after it has stored what it measured; it may be called again
}

// OpenGate opens the gateway of an agent, which tells metered of each request that is
// answered: what it used, and whether a subagent of the host's own asked. It returns nil
// outside of sessions that have a gateway.
type OpenGate func(host hosts.Host, agent string, metered func(used core.Usage, below bool)) (*Gate, error)

// gated puts a gateway between the host of an agent and its model, if the session that
// asked for the agent has one, and returns what closes it. An agent can do without: what
// is wrong is logged.
func (a *Agents) gated(run record.Run, s *supervise.Supervisor) (closeGate func()) {
	nothing := func() {}
	if a.OpenGate == nil {
		return nothing
	}
	host, meter := a.Hosts.Of(run.Host), &supervise.Meter{}
	gate, err := a.OpenGate(host, run.ID, meter.Add)
	if err != nil {
		s.Log.Warn("the agent has no gateway", "error", err)
	}
	if gate == nil || err != nil {
		return nothing
	}
	for _, h := range a.Hosts { // that session's gateway may end before the agent
		if h.BaseVariable != "" {
			s.Job.Env = append(s.Job.Env, h.BaseVariable+"="+gate.Upstream)
		}
	}
	if gate.Base == "" {
		return gate.Close
	}
	if err := gate.guard(host, a.Machine.At(run.Checkout), s); err != nil {
		s.Log.Warn("the agent has no gateway", "error", err)
		gate.Close()
		return nothing
	}
	meter.Close, s.Meter = gate.Close, meter
	return gate.Close
}

// guard has the host of a supervised agent send its requests to the gateway. The agent
// could change a file, so its settings are written anew before each process of the host.
func (g *Gate) guard(host hosts.Host, m hosts.Machine, s *supervise.Supervisor) error {
	var settings []byte
	commands := [][]string{s.Job.Command, s.Job.Resume}
	for i, command := range commands {
		behind, err := host.Behind(m, command[1:])
		if err != nil {
			return err
		}
		if behind.Plain {
			return errors.New("its command line leaves no place for one")
		}
		if settings, err = behind.Settings(g.Base, g.Mark); err != nil {
			return err
		}
		file, err := g.Write(settings)
		if err != nil {
			return err
		}
		commands[i] = append(command[:1:1], behind.Args(file)...)
	}
	s.Job.Command, s.Job.Resume = commands[0], commands[1]
	s.Prepare = func() error {
		_, err := g.Write(settings)
		return err
	}
	return nil
}
