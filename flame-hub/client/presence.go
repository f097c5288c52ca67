package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
	"flame/local/lock"
	"flame/project"
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
	progress func() hub.Progress

	claims   *Claims
	machines *Machines
	me       hub.Machine
	status   hub.Status
	told     core.Millis            // when this machine last announced itself
	watch    jetstream.KeyWatcher   // reports announcements; nil: it starts before machines are listed
	heard    bool                   // a machine or worker announced something since machines were listed
	due      core.Millis            // when machines are listed at the latest; each listing costs the hub a consumer
	taken    map[string]core.Millis // time of each machine's announcement that was stored last
	logged   string                 // the error that was logged last
}

// keep runs until ctx ends.
func (p *presence) keep(ctx context.Context) {
	p.me = hub.Machine{ID: p.conn.link.Machine, Version: p.Version, Doc: merge.Version, Run: rand.Text()}
	p.status = hub.Status{PID: os.Getpid(), Since: p.Now(), Server: p.conn.Version()}
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
func (p *presence) takeAgents(ctx context.Context, list []hub.Machine) error {
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
	if reflect.DeepEqual(s, same) && now-s.At < hub.StatusTime {
		return
	}
	s.At = now
	p.status = s
	if err := hub.SaveStatus(p.Data, s); err != nil {
		p.Log.Warn("flame cannot write the status of the hub", "error", err)
	}
}

// leaveTime is for the last messages to the hub.
const leaveTime = 2 * time.Second

// errLinkChanged ends a connection because the project left its hub, or joined another.
var errLinkChanged = errors.New("hub.json has changed")

// A Config is a project to keep connected to its hub. All fields are required unless they say
// otherwise.
type Config struct {
	Data    string                                      // its data folder
	Tree    func(machine string) Tree                   // its part in the tree, as machine
	Held    func(ctx context.Context) ([]string, error) // ids of the frames in progress whose sessions are live on this machine
	Version string                                      // of this flame

	// Agents returns the states of this machine's agents, as other machines get them. Meet
	// stores the states of agents on the connected machines, there; news has the changed states.
	// If Agents is nil, machines exchange no states.
	Agents func(ctx context.Context) (json.RawMessage, error)
	Meet   func(ctx context.Context, there []string, news map[string]json.RawMessage) error

	// Beside runs during each connection, until ctx ends; it may be nil.
	Beside func(ctx context.Context)

	Log *slog.Logger
	Now func() core.Millis
}

// Keep keeps a project connected to its hub until it has left the hub or ctx ends. If another
// process does already, it returns at once.
func Keep(ctx context.Context, s Config) error {
	wait, stop := context.WithTimeout(ctx, hub.WatchTime)
	defer stop()
	held, err := hub.Lock(wait, s.Data)
	if errors.Is(err, lock.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer held.Release()
	(&keeper{Config: s}).keep(ctx)
	return nil
}

// A keeper keeps one project connected.
type keeper struct {
	Config
	syncer  *Syncer
	machine string // whose syncer it is
	logged  string // the error that was logged last
}

// tell logs an error, unless it is the same as the one before.
func (k *keeper) tell(err error) {
	if err != nil && err.Error() != k.logged {
		k.logged = err.Error()
		k.Log.Warn("the hub", "error", err)
	}
}

// keep keeps the project connected as long as it is joined.
func (k *keeper) keep(ctx context.Context) {
	for ctx.Err() == nil {
		link, unusable := hub.Load(k.Data)
		if errors.Is(unusable, fs.ErrNotExist) {
			k.tell(hub.RemoveStatus(k.Data))
			return
		}
		while, stop := k.untilChanged(ctx, link)
		hub.Retry(while, func() (over bool) {
			err := unusable
			if err == nil {
				err = k.connect(while, link)
			}
			if while.Err() == nil {
				k.fail(err)
			}
			return false
		})
		stop()
	}
}

// fail writes into the status that the project is not connected, and why.
func (k *keeper) fail(err error) {
	k.tell(err)
	k.tell(hub.SaveStatus(k.Data, hub.Status{At: k.Now(), PID: os.Getpid(), Error: err.Error(), Hint: core.HintOf(err)}))
}

// untilChanged returns a context that ends when hub.json has another link.
func (k *keeper) untilChanged(ctx context.Context, link hub.Link) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		for range project.Every(ctx, hub.WatchTime, hub.WatchTime) {
			now, err := hub.Load(k.Data)
			if now != link && !errors.Is(err, core.ErrUnavailable) || errors.Is(err, fs.ErrNotExist) {
				stop(errLinkChanged)
			}
		}
	}()
	return ctx, func() { stop(nil) }
}

// connect connects the project, until ctx ends or the connection is lost.
func (k *keeper) connect(ctx context.Context, link hub.Link) error {
	conn, err := Connect(ctx, link)
	if err != nil {
		return err
	}
	defer conn.Close()
	if k.machine != link.Machine {
		k.machine, k.syncer = link.Machine, &Syncer{Tree: k.Tree(link.Machine), Log: k.Log, Now: k.Now}
	}
	k.Log.Info("connected to the hub", "server", hub.RedactURL(link.URL), "project", link.Project, "machine", link.Machine)
	k.logged = ""
	beside, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { (&presence{Config: k.Config, conn: conn, progress: k.syncer.Progress}).keep(beside) })
	if k.Beside != nil {
		others.Go(func() { k.Beside(beside) })
	}
	err = k.syncer.Run(ctx, conn)
	stop()
	others.Wait()
	return err
}
