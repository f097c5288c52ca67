package project

import (
	"context"
	"maps"
	"slices"

	"flame/core"
)

// recordLate, by host, counts the events that came too late.
const recordLate Kind[LateEvents] = "late"

// LateEvents are events of a host that could not be handled in time, and so were taken
// in later, and those that never came and were made up from the host's own files.
type LateEvents struct {
	Host   string      `json:"host"`
	Count  int         `json:"count"`            // of those that were taken in later
	MadeUp int         `json:"madeUp,omitempty"` // of those that never came
	First  core.Millis `json:"first"`            // when one was first taken in, or made up
	Last   core.Millis `json:"last"`
}

// NoteLate counts late events by their hosts.
func (p *Project) NoteLate(ctx context.Context, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	return p.Store.Update(ctx, func(tx Tx) error {
		for _, host := range slices.Sorted(maps.Keys(counts)) {
			if err := p.countLate(tx, host, func(late *LateEvents) { late.Count += counts[host] }); err != nil {
				return err
			}
		}
		return nil
	})
}

// NoteMadeUp counts an event of a host that never came.
func (p *Project) NoteMadeUp(ctx context.Context, host string) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		return p.countLate(tx, host, func(late *LateEvents) { late.MadeUp++ })
	})
}

// countLate has add count among the late events of a host.
func (p *Project) countLate(tx Tx, host string, add func(*LateEvents)) error {
	late := LateEvents{Host: host, First: p.Now()}
	if _, err := recordLate.Load(tx, host, &late); err != nil {
		return err
	}
	add(&late)
	late.Last = p.Now()
	return recordLate.Save(tx, host, late)
}

// TakeLate returns the late events of each host since it was last called, by host.
func (p *Project) TakeLate(ctx context.Context) (all []LateEvents, err error) {
	err = p.Store.Run(ctx, func(tx Tx) error {
		if all, err = recordLate.All(tx); err != nil {
			return err
		}
		for _, late := range all {
			if err := recordLate.Delete(tx, late.Host); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}
