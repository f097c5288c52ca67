package web

import (
	"context"
	"log/slog"
	"time"

	"flame/board/feed"
	"flame/core"
	"flame/guard"
)

// Options say how to serve the page.
type Options struct {
	Guard   *guard.Guard // who may connect
	Secret  string       // by which it proves to be the same server (guard.Proof)
	Project string       // name of the project that the page opens with
	Logger  *slog.Logger
	Version string        // of flame
	Lingers time.Duration // how long a project stays open after the last one who looked at it; 0: some minutes

	// Open opens a project by its name for the life of the server.
	Open func(ctx context.Context, name string) (feed.Opened, error)
	// Projects lists the projects with data, the last used first.
	Projects func(ctx context.Context) ([]Listed, error)
}

// A Listed project is one that has data.
type Listed struct {
	Name     string      `json:"name"`
	Root     string      `json:"root"`
	State    string      `json:"state"` // of the folder: whether it is still there
	Bytes    int64       `json:"bytes"`
	LastUsed core.Millis `json:"lastUsed"`
}
