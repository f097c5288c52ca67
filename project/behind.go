package project

import (
	"context"

	"flame/core"
)

// recordBehind, by gateway, is the session whose requests pass it.
const recordBehind RecordKind[behind] = "behind"

// A behind is a session behind a gateway.
type behind struct {
	Session string      `json:"session"`
	At      core.Millis `json:"at"` // when a hook reported it
}

// behindFor is how long a gateway is remembered without a report, in ms.
const behindFor = 7 * Day

// NoteBehind records that the requests of the caller's session pass the gateway around this process, if
// there is one: not every host's requests name their session.
func (p *Project) NoteBehind(ctx context.Context, by Caller) error {
	if p.Gateway == "" || by.Parent != "" {
		return nil
	}
	return p.Store.Run(ctx, func(tx Tx) error {
		now := p.Now()
		known, err := recordBehind.Find(tx, p.Gateway)
		if err != nil || known.Session == by.Session && now-known.At < Day {
			return err
		}
		if err := recordBehind.Forget(tx, func(b behind) bool { return b.At+behindFor < now }); err != nil {
			return err
		}
		return recordBehind.Save(tx, p.Gateway, behind{Session: by.Session, At: now})
	})
}

// GatewaySession returns the session whose requests pass a gateway now; empty if no hook has reported one.
func (p *Project) GatewaySession(ctx context.Context, gateway string) (session string, err error) {
	if gateway == "" {
		return "", nil
	}
	known, err := Read(ctx, p, func(tx Tx) (behind, error) { return recordBehind.Find(tx, gateway) })
	return known.Session, err
}
