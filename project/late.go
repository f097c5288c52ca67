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
// in later.
type LateEvents struct {
	Host  string      `json:"host"`
	Count int         `json:"count"`
	First core.Millis `json:"first"` // when one was first taken in
	Last  core.Millis `json:"last"`
}

// NoteLate counts late events by their hosts.
func (p *Project) NoteLate(ctx context.Context, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	return p.Store.Update(ctx, func(tx Tx) error {
		for _, host := range slices.Sorted(maps.Keys(counts)) {
			late := LateEvents{Host: host, First: p.Now()}
			if _, err := recordLate.Load(tx, host, &late); err != nil {
				return err
			}
			late.Count += counts[host]
			late.Last = p.Now()
			if err := recordLate.Save(tx, host, late); err != nil {
				return err
			}
		}
		return nil
	})
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
