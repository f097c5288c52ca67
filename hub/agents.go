package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
)

// agentsTime is how often a machine looks whether there is news of its own agents, or of
// those of others.
const agentsTime = 500 * time.Millisecond

// maxAgents bounds what a machine tells of its agents, in bytes.
const maxAgents = 256 << 10

// news is what is known of what the machines tell.
type news struct {
	watch jetstream.KeyWatcher
	heard bool                   // something was said since the machines were listed
	taken map[string]core.Millis // when each machine said what was taken in last
}

// said returns where it shows that a machine has said something.
func (n *news) said() <-chan jetstream.KeyValueEntry {
	if n.watch == nil {
		return nil
	}
	return n.watch.Updates()
}

// hear notes that a machine has said something, or that nothing more will be heard.
func (n *news) hear(open bool) {
	if n.heard = true; !open {
		n.watch = nil // it is begun anew when the machines are listed
	}
}

// exchange tells how this machine's agents are, and takes in how others' are, if that is
// news.
func (p *presence) exchange(ctx context.Context) error {
	if p.Agents == nil || p.machines == nil {
		return nil
	}
	now, err := p.Agents(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.me.Agents) && len(now) <= maxAgents {
		p.me.Agents, p.told, p.news.heard = now, 0, true
	}
	if !p.news.heard {
		return nil
	}
	p.news.heard = false
	return p.meet(ctx)
}

// listen has news be heard of from now on.
func (p *presence) listen(ctx context.Context) (err error) {
	if p.Agents == nil || p.news.watch != nil {
		return nil
	}
	p.news.watch, err = p.machines.kv.WatchAll(ctx, jetstream.UpdatesOnly(), jetstream.MetaOnly())
	return p.conn.Told(err)
}

// takeAgents takes in what other machines tell of their agents.
func (p *presence) takeAgents(ctx context.Context, list []Machine) error {
	there, seen, told := []string{}, map[string]core.Millis{}, map[string]json.RawMessage{}
	for i := range list {
		one := &list[i]
		if one.ID != p.me.ID {
			there, seen[one.ID] = append(there, one.ID), one.Seen
			if p.news.taken[one.ID] != one.Seen {
				told[one.ID] = one.Agents
			}
		}
		one.Agents = nil // the status is not the place for them
	}
	if p.Meet == nil || len(told) == 0 && len(seen) == len(p.news.taken) {
		return nil
	}
	err := p.Meet(ctx, there, told)
	if err == nil {
		p.news.taken = seen
	}
	return err
}
