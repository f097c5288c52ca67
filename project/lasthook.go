package project

import (
	"context"

	"flame/core"
)

// recordLastHook, by host, is the last event of its hooks.
const recordLastHook Kind[LastHook] = "link"

// A LastHook is the last event that a host's hooks reported to the project. Events that
// only read are not recorded.
type LastHook struct {
	Host    string      `json:"host"`
	At      core.Millis `json:"at"`
	Event   string      `json:"event"`
	Session string      `json:"session"`
	Plugin  string      `json:"plugin,omitempty"` // version of the plugin it came through; empty if not reported
}

// noteHook records the hook that made the call, if one did just now.
func noteHook(s *Step) error {
	if s.By.Event == "" || s.Project.Late {
		return nil
	}
	return recordLastHook.Save(s.Tx, s.By.Host, LastHook{Host: s.By.Host, At: s.Now, Event: s.By.Event, Session: s.By.Session, Plugin: s.By.Plugin})
}

// LastHooks returns the last event of each host, by host.
func (p *Project) LastHooks(ctx context.Context) (last []LastHook, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		return recordLastHook.Each(tx, func(_ string, hook LastHook) error {
			last = append(last, hook)
			return nil
		})
	})
	return last, err
}
