package cli

import (
	"context"
	"errors"
	"sync"

	"flame/board/feed"
	"flame/cli/app"
	"flame/intake"
	"flame/project/place"
)

// openLive opens the project at a place for those who look at it for long, and keeps it
// up to date as a server does.
func openLive(ctx context.Context, a *app.App, at place.Place) (feed.Opened, error) {
	p, closeProject, err := a.Open(at, true)
	if err != nil {
		return feed.Opened{}, err
	}
	p.HostProcess = nil // whoever looks is not the host of what is shown
	service, err := a.Agents(p, at)
	if err != nil {
		return feed.Opened{}, errors.Join(err, closeProject())
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { keepSwept(ctx, p) })
	background.Go(func() { intake.Keep(ctx, a.Desk(p, at)) })
	background.Go(func() { keepRecovered(ctx, service) })
	return feed.Opened{Agents: service, File: a.File(at), Close: func() error {
		stop()
		background.Wait()
		return closeProject()
	}}, nil
}
