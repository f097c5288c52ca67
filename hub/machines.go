package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
)

// A machine that has said nothing for presentTime is no longer there; it says that it is
// every presenceTime.
const (
	presentTime  = 5 * time.Minute
	presenceTime = time.Minute
)

// maxMachines is how many machines are listed, and how many workers of them all. A worker
// has at most maxSlots.
const (
	maxMachines = 1000
	maxSlots    = 1000
)

// maxQueue is the greatest length of a queue's name in bytes.
const maxQueue = 64

// serves begins the keys of workers, of which those of machines have no dot.
const serves = "serves."

// A Machine is one that is connected, or was a few minutes ago.
type Machine struct {
	ID      string      `json:"id"`
	Version string      `json:"version"`          // of its flame
	Doc     int         `json:"doc"`              // version of the documents that it writes
	Run     string      `json:"run"`              // tells apart the processes of a machine, and two machines with one id
	Seen    core.Millis `json:"seen"`             // when it said so last, by the server's clock; set by who reads it
	Serves  []Served    `json:"serves,omitempty"` // one for each of its workers; set by who reads it

	Agents json.RawMessage `json:"agents,omitempty"` // what it tells of its agents; nothing here knows what that is
}

// A Served is a queue that a worker of a machine serves.
type Served struct {
	Queue string `json:"queue"`
	Slots int    `json:"slots"` // how many agents it runs at a time
	Free  int    `json:"free"`  // how many more it would begin now
}

// Machines are those of the project.
type Machines struct {
	conn *Conn
	kv   jetstream.KeyValue
	told bool // this process has said that it is there
}

// Machines returns the machines of the project.
func (c *Conn) Machines(ctx context.Context) (*Machines, error) {
	kv, _, err := c.Bucket(ctx, "machines", func(s *jetstream.StreamConfig) { s.MaxAge = presentTime })
	if err != nil {
		return nil, err
	}
	return &Machines{conn: c, kv: kv}, nil
}

// Tell says that this machine is there. If another process says the same of the same id at
// the same time, as where a data folder was copied to a second machine, that is an error.
func (m *Machines) Tell(ctx context.Context, me Machine) error {
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

// Serve says that a worker of this machine serves a queue; run tells it apart from others of
// the machine. Who says nothing for presentTime does so no longer.
func (m *Machines) Serve(ctx context.Context, run string, s Served) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = m.kv.Put(ctx, serves+m.conn.link.Machine+"."+run, text)
	return m.conn.Told(err)
}

// Unserve says that a worker has ended.
func (m *Machines) Unserve(ctx context.Context, run string) error {
	return m.conn.Told(m.kv.Delete(ctx, serves+m.conn.link.Machine+"."+run))
}

// List returns the machines, by id.
func (m *Machines) List(ctx context.Context) (list []Machine, err error) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	w, err := m.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, m.conn.Told(err)
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	workers, known := map[string][]Served{}, 0
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return list, core.Unavailablef(nats.ErrConnectionClosed, "the connection to the hub is lost")
			}
			if e == nil {
				for i, one := range list {
					list[i].Serves = slices.SortedFunc(slices.Values(workers[one.ID]), func(a, b Served) int { return cmp.Compare(a.Queue, b.Queue) })
				}
				slices.SortFunc(list, func(a, b Machine) int { return cmp.Compare(a.ID, b.ID) })
				return list, nil
			}
			if id, s, ok := servedOf(e); ok && known < maxMachines {
				workers[id], known = append(workers[id], s), known+1
			}
			if one, ok := machineOf(e); ok && len(list) < maxMachines {
				list = append(list, one)
			}
		case <-ctx.Done():
			return list, m.conn.Told(context.Cause(ctx))
		}
	}
}

// machineOf reads what anybody may have written, or nobody.
func machineOf(e jetstream.KeyValueEntry) (m Machine, ok bool) {
	if e == nil || json.Unmarshal(e.Value(), &m) != nil || m.ID != e.Key() || !merge.ValidMachine(m.ID) {
		return Machine{}, false
	}
	if m.Serves = nil; len(m.Agents) > maxAgents {
		m.Agents = nil
	}
	m.Version, m.Run, m.Seen = core.OneLine(m.Version, 40), core.OneLine(m.Run, 40), core.MillisOf(e.Created())
	return m, true
}

// servedOf reads what anybody may have written of a worker, and of which machine it is.
func servedOf(e jetstream.KeyValueEntry) (machine string, s Served, ok bool) {
	rest, ok := strings.CutPrefix(e.Key(), serves)
	machine, _, named := strings.Cut(rest, ".")
	if !ok || !named || !merge.ValidMachine(machine) || json.Unmarshal(e.Value(), &s) != nil {
		return "", s, false
	}
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	ok = s.Queue != "" && len(s.Queue) <= maxQueue && !strings.ContainsFunc(s.Queue, odd) && s.Slots > 0 && s.Slots <= maxSlots && s.Free >= 0 && s.Free <= s.Slots
	return machine, s, ok
}
