package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// A machine announces itself every presenceTime; after presentTime without an announcement
// it counts as gone.
const (
	presentTime  = 5 * time.Minute
	presenceTime = time.Minute
)

// maxMachines bounds the listed machines, and the listed workers of all machines together. A
// worker has at most maxSlots.
const (
	maxMachines = 1000
	maxSlots    = 1000
)

// serves is the prefix of the keys of workers. Keys of machines have no dot.
const serves = "serves."

// Machines are those of the project.
type Machines struct {
	conn *Conn
	kv   *Bucket
	told bool // this process has announced itself
}

// Machines returns the machines of the project.
func (c *Conn) Machines(ctx context.Context) (*Machines, error) {
	kv, err := c.Bucket(ctx, "machines", func(s *jetstream.StreamConfig) { s.MaxAge = presentTime })
	if err != nil {
		return nil, err
	}
	return &Machines{conn: c, kv: kv}, nil
}

// Tell announces this machine. It returns an error if another process announces the same id,
// as after a data folder was copied to a second machine.
func (m *Machines) Tell(ctx context.Context, me hub.Machine) error {
	before, err := m.kv.Get(ctx, me.ID)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return m.conn.Told(err)
	}
	text, err := json.Marshal(me)
	if err != nil {
		return err
	}
	if _, err := m.kv.Put(ctx, me.ID, text); err != nil {
		return m.conn.Told(err)
	}
	was, there := machineOf(before)
	if there && m.told && was.Run != me.Run {
		err = twice(me.ID)
	}
	m.told = true
	return err
}

// twice is the error of an id that two machines have.
func twice(id string) error {
	return core.Invalidf("another machine has joined as %s too", id).
		WithHint("was the data folder copied? On the copy, `flame leave`, then join with --new-id")
}

// Serve announces that a worker of this machine serves a queue, or, without slots, that the
// worker has ended. run distinguishes the workers of a machine. An announcement holds for
// presentTime.
func (m *Machines) Serve(ctx context.Context, run string, s hub.QueueStatus) error {
	key := serves + m.conn.link.Machine + "." + run
	if s.Slots == 0 {
		return m.conn.Told(m.kv.Delete(ctx, key))
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = m.kv.Put(ctx, key, text)
	return m.conn.Told(err)
}

// List returns the machines, by id.
func (m *Machines) List(ctx context.Context) (list []hub.Machine, err error) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	w, err := m.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, m.conn.Told(err)
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	workers, known := map[string][]hub.QueueStatus{}, 0
	for {
		var e jetstream.KeyValueEntry
		open := true
		select {
		case e, open = <-w.Updates():
		case <-ctx.Done():
			return list, m.conn.Told(context.Cause(ctx))
		}
		if !open {
			return list, ErrGone
		}
		if e == nil {
			break
		}
		if id, s, ok := servedOf(e); ok && known < maxMachines {
			workers[id], known = append(workers[id], s), known+1
		} else if one, ok := machineOf(e); ok && len(list) < maxMachines {
			list = append(list, one)
		}
	}
	for i, one := range list {
		list[i].Serves = slices.SortedFunc(slices.Values(workers[one.ID]), func(a, b hub.QueueStatus) int { return cmp.Compare(a.Queue, b.Queue) })
	}
	slices.SortFunc(list, func(a, b hub.Machine) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// machineOf reads the announcement of a machine, which any machine may have written.
func machineOf(e jetstream.KeyValueEntry) (m hub.Machine, ok bool) {
	if e == nil || json.Unmarshal(e.Value(), &m) != nil || m.ID != e.Key() || !merge.ValidMachine(m.ID) {
		return hub.Machine{}, false
	}
	if m.Serves = nil; len(m.Agents) > maxAgents {
		m.Agents = nil
	}
	m.Version, m.Run, m.Seen = core.OneLine(m.Version, 40), core.OneLine(m.Run, 40), core.MillisOf(e.Created())
	return m, true
}

// servedOf reads the announcement of a worker, which any machine may have written.
func servedOf(e jetstream.KeyValueEntry) (machine string, s hub.QueueStatus, ok bool) {
	rest, ok := strings.CutPrefix(e.Key(), serves)
	machine, _, named := strings.Cut(rest, ".")
	if !ok || !named || !merge.ValidMachine(machine) || json.Unmarshal(e.Value(), &s) != nil {
		return "", s, false
	}
	ok = hub.IsName(s.Queue, hub.MaxQueue) && s.Slots > 0 && s.Slots <= maxSlots && s.Free >= 0 && s.Free <= s.Slots
	return machine, s, ok
}
