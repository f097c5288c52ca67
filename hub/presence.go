package hub

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"flame/core"
	"flame/core/merge"
)

// A presence is what a connected machine does beside keeping its tree alike with the hub's:
// it holds its claims, says that it is there, and writes its status.
type presence struct {
	Station
	conn     *Conn
	progress func() Progress

	claims   *Claims
	machines *Machines
	me       Machine
	status   Status
	told     core.Millis // when this machine said last that it is there
	news     news
	logged   string // the error that was logged last
}

// keep goes on until ctx ends.
func (p *presence) keep(ctx context.Context) {
	p.me = Machine{ID: p.conn.link.Machine, Version: p.Version, Doc: merge.Version, Run: rand.Text()}
	p.status = Status{PID: os.Getpid(), Since: p.Now(), Server: p.conn.Version()}
	again := time.NewTicker(renewTime)
	defer again.Stop()
	settled := time.NewTicker(lookTime) // until the first round is complete, it is told sooner
	defer settled.Stop()
	agents := time.NewTicker(agentsTime)
	defer agents.Stop()
	err := p.once(ctx)
	for {
		p.write(err)
		select {
		case <-ctx.Done():
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
			defer stop()
			if p.claims != nil {
				_ = p.claims.Release(ctx) // without a connection they end by themselves
			}
			return
		case <-again.C:
			err = p.once(ctx)
		case _, open := <-p.news.said():
			p.news.hear(open)
		case <-agents.C:
			if trouble := p.exchange(ctx); trouble != nil {
				err = trouble
			}
		case <-settled.C:
			if p.progress().Complete {
				settled.Stop()
			}
		}
	}
}

// once holds the claims, says that this machine is there, and looks who else is.
func (p *presence) once(ctx context.Context) error {
	if latency, err := p.conn.Latency(); err == nil {
		p.status.Latency = float64(latency.Microseconds()) / 1000
	}
	return errors.Join(p.hold(ctx), p.meet(ctx))
}

func (p *presence) hold(ctx context.Context) (err error) {
	if p.claims == nil {
		if p.claims, err = p.conn.Claims(ctx); err != nil {
			return err
		}
	}
	frames, err := p.Held(ctx)
	if err != nil {
		return err
	}
	return p.claims.Hold(ctx, frames)
}

func (p *presence) meet(ctx context.Context) (err error) {
	if p.machines == nil {
		if p.machines, err = p.conn.Machines(ctx); err != nil {
			return err
		}
		p.news.taken = map[string]core.Millis{}
	}
	if err := p.listen(ctx); err != nil {
		return err
	}
	if now := p.Now(); now-p.told >= core.Millis(presenceTime.Milliseconds()) {
		if err = p.machines.Tell(ctx, p.me); err == nil {
			p.told = now
		}
	}
	list, listing := p.machines.List(ctx)
	if listing != nil {
		return errors.Join(err, listing)
	}
	for _, one := range list {
		if one.ID == p.me.ID && one.Run != p.me.Run && p.told > 0 && err == nil {
			err = twice(p.me.ID)
		}
	}
	p.status.Machines = list
	return errors.Join(err, p.takeAgents(ctx, list))
}

// write writes the status if it has changed, or is old. err is what went wrong beside the
// tree.
func (p *presence) write(err error) {
	s, progress := p.status, p.progress()
	s.Complete, s.Taken, s.Sent, s.Waiting, s.Skipped = progress.Complete, progress.Taken, progress.Sent, progress.Waiting, progress.Skipped
	s.TooLarge = slices.Sorted(maps.Keys(progress.TooLarge))
	s.Error, s.Hint = "", ""
	if err != nil && err.Error() != p.logged {
		p.logged = err.Error()
		p.Log.Warn("the hub", "error", err)
	}
	if err = errors.Join(progress.Error, err); err != nil {
		s.Error = core.OneLine(err.Error(), 500)
		var problem *core.Problem
		if errors.As(err, &problem) {
			s.Hint = problem.Hint
		}
	}
	now, same := p.Now(), p.status
	same.Latency = s.Latency // that it changes is nothing new
	if reflect.DeepEqual(s, same) && now-s.At < statusTime {
		return
	}
	s.At = now
	p.status = s
	if err := saveStatus(p.Data, s); err != nil {
		p.Log.Warn("the status of the hub cannot be written", "error", err)
	}
}
