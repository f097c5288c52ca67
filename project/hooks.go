package project

import (
	"cmp"
	"context"

	"flame/core"
)

// recordLate, by host, counts the events that came too late.
const recordLate RecordKind[LateEvents] = "host.late"

// LateEvents counts the events of a host that flame could not handle in time and handled
// later, and the events that never came, which flame made up from the host's own files.
type LateEvents struct {
	Host   string      `json:"host"`
	Count  int         `json:"count"`            // events handled later
	MadeUp int         `json:"madeUp,omitempty"` // events that never came
	First  core.Millis `json:"first"`            // when the first of them happened, or was made up
}

// NoteLate counts a late event of a host.
func (p *Project) NoteLate(tx Tx, host string) error {
	return p.countLate(tx, host, func(late *LateEvents) { late.Count++ })
}

// NoteMadeUp counts an event of a host that never came.
func (p *Project) NoteMadeUp(ctx context.Context, host string) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		return p.countLate(tx, host, func(late *LateEvents) { late.MadeUp++ })
	})
}

// countLate applies add to the counts of a host.
func (p *Project) countLate(tx Tx, host string, add func(*LateEvents)) error {
	return recordLate.Change(tx, host, func(late *LateEvents) {
		late.Host, late.First = host, cmp.Or(late.First, p.Now())
		add(late)
	})
}

// TakeLate returns the late events of each host since it was last called, by host.
func (p *Project) TakeLate(ctx context.Context) (all []LateEvents, err error) {
	err = p.Store.Run(ctx, func(tx Tx) error {
		if all, err = recordLate.All(tx); err != nil || len(all) == 0 {
			return err
		}
		return recordLate.Clear(tx, "")
	})
	return all, err
}

// recordLastHook, by host, is the last event of its hooks.
const recordLastHook RecordKind[LastHook] = "host.link"

// A LastHook is the last event that a host's hooks reported to the project. Events that
// only read are not recorded.
type LastHook struct {
	Host    string      `json:"host"`
	At      core.Millis `json:"at"`
	Event   string      `json:"event"`
	Session string      `json:"session"`
	Plugin  string      `json:"plugin,omitempty"` // version of the plugin that sent it; empty if not reported
}

// noteHook records the hook that made the call, if a hook made it and did so just now.
func noteHook(s *Op) error {
	if s.Caller.Event == "" || s.Project.Replaying {
		return nil
	}
	return recordLastHook.Save(s.Tx, s.Caller.Host, LastHook{Host: s.Caller.Host, At: s.Now, Event: s.Caller.Event, Session: s.Caller.Session,
		Plugin: s.Caller.Plugin})
}

// LastHooks returns the last event of each host, by host.
func (p *Project) LastHooks(ctx context.Context) ([]LastHook, error) {
	return Read(ctx, p, func(tx Tx) ([]LastHook, error) { return recordLastHook.All(tx) })
}
