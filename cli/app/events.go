package app

import (
	"context"
	"slices"
	"time"

	"flame/intake"
	"flame/intake/inbox"
	"flame/project"
	"flame/project/place"
	"flame/tools"
)

// Desk returns what takes in hosts' events for a project.
func (a *App) Desk(p *project.Project, at place.Place) intake.Desk {
	return intake.Desk{
		Project: p, Hosts: a.Hosts, Inbox: inbox.Inbox{Dir: at.Data.Path, Ready: at.Data.Ready},
		OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) },
	}
}

// takePatience is how long a command takes in events that wait before it answers from
// what there is.
const takePatience = time.Second

// takeIn takes in the events that wait, so that a command sees all that has happened.
func (a *App) takeIn(ctx context.Context, p *project.Project, at place.Place) {
	ctx, stop := context.WithTimeout(ctx, takePatience)
	defer stop()
	a.Desk(p, at).TakeWaiting(ctx)
}
