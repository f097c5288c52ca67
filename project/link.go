package project

import (
	"context"

	"flame/core"
)

// recordLink, by host, is the last sign of life of its hooks.
const recordLink Kind[Link] = "link"

// A Link is the last event that a host's hooks brought to the project. Events
// that only read leave no trace.
type Link struct {
	Host    string      `json:"host"`
	At      core.Millis `json:"at"`
	Event   string      `json:"event"`
	Session string      `json:"session"`
	Plugin  string      `json:"plugin,omitempty"` // version of what it came through; empty where the host does not tell
}

// linked keeps that a hook brought the caller here.
func (s *step) linked() error {
	if s.by.Event == "" {
		return nil
	}
	return recordLink.Save(s, s.by.Host, Link{Host: s.by.Host, At: s.now, Event: s.by.Event, Session: s.by.Session, Plugin: s.by.Plugin})
}

// Links returns the links there are, by host.
func (p *Project) Links(ctx context.Context) (links []Link, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		return recordLink.Each(tx, func(_ string, link Link) error {
			links = append(links, link)
			return nil
		})
	})
	return links, err
}
