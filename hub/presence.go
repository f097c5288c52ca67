package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/local/place"
)

// agentsTime is how often a machine looks for news of its own agents, or of those of other
// machines.
const agentsTime = 500 * time.Millisecond

// maxAgents bounds the states of agents that a machine announces, in bytes.
const maxAgents = 256 << 10

// A presence does the work of a connected machine besides syncing its tree: it holds the claims,
// announces the machine, exchanges the states of agents, and writes the status.
type presence struct {
	Config
	conn     *Conn
	progress func() Progress

	claims   *Claims
	machines *Machines
	me       Machine
	status   Status
	told     core.Millis            // when this machine last announced itself
	watch    jetstream.KeyWatcher   // reports announcements; nil: it starts before machines are listed
	heard    bool                   // a machine or worker announced something since machines were listed
	due      core.Millis            // when machines are listed at the latest; each listing costs the hub a consumer
	taken    map[string]core.Millis // time of each machine's announcement that was stored last
	logged   string                 // the error that was logged last
}

// keep runs until ctx ends.
func (p *presence) keep(ctx context.Context) {
	p.me = Machine{ID: p.conn.link.Machine, Version: p.Version, Doc: merge.Version, Run: rand.Text()}
	p.status = Status{PID: os.Getpid(), Since: p.Now(), Server: p.conn.Version()}
	again := time.NewTicker(renewTime)
	defer again.Stop()
	settled := time.NewTicker(lookTime) // the status shows the end of the first round sooner
	defer settled.Stop()
	agents := time.NewTicker(agentsTime)
	defer agents.Stop()
	err := p.once(ctx)
	for {
		p.write(err)
		var said <-chan jetstream.KeyValueEntry
		if p.watch != nil {
			said = p.watch.Updates()
		}
		select {
		case <-ctx.Done():
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
			defer stop()
			if p.claims != nil {
				_ = p.claims.Release(ctx) // without a connection they end by themselves
			}
			return
		case <-again.C:
			err = p.once(ctx)
		case _, open := <-said:
			if p.heard = true; !open {
				p.watch = nil
			}
		case <-agents.C:
			if trouble := p.exchange(ctx); trouble != nil {
				err = trouble
			}
		case <-settled.C:
			if p.progress().Complete {
				settled.Stop()
			}
		}
	}
}

// once holds the claims, and meets the other machines if one of them announced something or a
// listing is due.
func (p *presence) once(ctx context.Context) error {
	if latency, err := p.conn.Latency(); err == nil {
		p.status.Latency = float64(latency.Microseconds()) / 1000
	}
	err := p.hold(ctx)
	if p.heard || p.watch == nil || p.Now() >= p.due {
		err = errors.Join(err, p.meet(ctx))
	}
	return err
}

func (p *presence) hold(ctx context.Context) (err error) {
	if p.claims == nil {
		if p.claims, err = p.conn.Claims(ctx); err != nil {
			return err
		}
	}
	frames, err := p.Held(ctx)
	if err != nil {
		return err
	}
	return p.claims.Hold(ctx, frames)
}

// meet announces this machine when that is due, and lists the machines.
func (p *presence) meet(ctx context.Context) (err error) {
	p.heard, p.due = false, 0
	defer func() {
		if err == nil {
			p.due = p.Now() + core.Millis(presenceTime.Milliseconds())
		}
	}()
	if p.machines == nil {
		if p.machines, err = p.conn.Machines(ctx); err != nil {
			return err
		}
		p.taken = map[string]core.Millis{}
	}
	if p.watch == nil {
		if p.watch, err = p.machines.kv.WatchAll(ctx, jetstream.UpdatesOnly(), jetstream.MetaOnly()); err != nil {
			return p.conn.Told(err)
		}
	}
	if now := p.Now(); now-p.told >= core.Millis(presenceTime.Milliseconds()) {
		if err = p.machines.Tell(ctx, p.me); err == nil {
			p.told = now
		}
	}
	list, listing := p.machines.List(ctx)
	if listing != nil {
		return errors.Join(err, listing)
	}
	for _, one := range list {
		if one.ID == p.me.ID && one.Run != p.me.Run && p.told > 0 && err == nil {
			err = twice(p.me.ID)
		}
	}
	p.status.Machines = list
	return errors.Join(err, p.takeAgents(ctx, list))
}

// exchange announces the states of this machine's agents and stores those of others, if either
// has changed.
func (p *presence) exchange(ctx context.Context) error {
	if p.Agents == nil || p.machines == nil {
		return nil
	}
	now, err := p.Agents(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.me.Agents) && len(now) <= maxAgents {
		p.me.Agents, p.told, p.heard = now, 0, true
	}
	if !p.heard {
		return nil
	}
	return p.meet(ctx)
}

// takeAgents stores the states of other machines' agents.
func (p *presence) takeAgents(ctx context.Context, list []Machine) error {
	there, seen, told := []string{}, map[string]core.Millis{}, map[string]json.RawMessage{}
	for i := range list {
		one := &list[i]
		if one.ID != p.me.ID {
			there, seen[one.ID] = append(there, one.ID), one.Seen
			if p.taken[one.ID] != one.Seen {
				told[one.ID] = one.Agents
			}
		}
		one.Agents = nil // the status is not the place for them
	}
	if p.Meet == nil || len(told) == 0 && len(seen) == len(p.taken) {
		return nil
	}
	err := p.Meet(ctx, there, told)
	if err == nil {
		p.taken = seen
	}
	return err
}

// write writes the status if it has changed, or is old. err is an error of anything but the
// tree.
func (p *presence) write(err error) {
	s := p.status
	s.Progress, s.Error, s.Hint = p.progress(), "", ""
	if err != nil && err.Error() != p.logged {
		p.logged = err.Error()
		p.Log.Warn("the hub", "error", err)
	}
	if err = errors.Join(s.Fault, err); err != nil {
		s.Error, s.Hint = core.OneLine(err.Error(), 500), core.HintOf(err)
	}
	s.Fault = nil
	now, same := p.Now(), p.status
	same.Latency = s.Latency // a new latency alone is no reason to write
	if reflect.DeepEqual(s, same) && now-s.At < statusTime {
		return
	}
	s.At = now
	p.status = s
	if err := place.WriteJSON(filepath.Join(p.Data, statusName), s); err != nil {
		p.Log.Warn("flame cannot write the status of the hub", "error", err)
	}
}
