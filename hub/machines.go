package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
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

// maxMachines is how many machines are listed.
const maxMachines = 1000

// A Machine is one that is connected, or was a few minutes ago.
type Machine struct {
	ID      string      `json:"id"`
	Version string      `json:"version"` // of its flame
	Doc     int         `json:"doc"`     // version of the documents that it writes
	Run     string      `json:"run"`     // tells apart the processes of a machine, and two machines with one id
	Seen    core.Millis `json:"seen"`    // when it said so last, by the server's clock; set by who reads it
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
		err = core.Invalidf("another machine has joined as %s too", me.ID).
			WithHint("was the data folder copied? On the copy, `flame leave`, then join with --new-id")
	}
	m.told = true
	return err
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
	for {
		select {
		case e, open := <-w.Updates():
			if !open {
				return list, core.Unavailablef(nats.ErrConnectionClosed, "the connection to the hub is lost")
			}
			if e == nil {
				slices.SortFunc(list, func(a, b Machine) int { return cmp.Compare(a.ID, b.ID) })
				return list, nil
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
	m.Version, m.Run, m.Seen = core.OneLine(m.Version, 40), core.OneLine(m.Run, 40), core.MillisOf(e.Created())
	return m, true
}
