package hub

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flame/core"
	"flame/local/lock"
	"flame/local/place"
	"flame/project"
)

// lockName is a file in a project's data folder. The process that keeps the project connected
// holds its lock.
const lockName = "hub.lock"

// The times of keeping a project connected.
const (
	watchTime = time.Second     // between two looks at hub.json, and at the lock
	leaveTime = 2 * time.Second // for the last messages to the hub
)

// The pause before another attempt to connect, which doubles each time.
const (
	shortestPause = 250 * time.Millisecond
	LongestPause  = 5 * time.Second
)

// Retry calls f until it reports that it is over, or ctx ends. It pauses after each call, for
// a time that differs between machines. After a call that lasted longer than LongestPause, the
// next pause is the shortest.
func Retry(ctx context.Context, f func() (over bool)) {
	for pause := shortestPause; ; pause = min(2*pause, LongestPause) {
		began := time.Now()
		if f() || ctx.Err() != nil {
			return
		}
		if time.Since(began) > LongestPause {
			pause = shortestPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// errLinkChanged ends a connection because the project left its hub, or joined another.
var errLinkChanged = errors.New("hub.json has changed")

// A Config is a project to keep connected to its hub. All fields are required unless they say
// otherwise.
type Config struct {
	Data    string                                      // its data folder
	Tree    func(machine string) Tree                   // its part in the tree, as machine
	Held    func(ctx context.Context) ([]string, error) // ids of the frames in progress whose sessions are live on this machine
	Version string                                      // of this flame

	// Agents returns the states of this machine's agents, as other machines get them. Meet
	// stores the states of agents on the connected machines, there; news has the changed states.
	// If Agents is nil, machines exchange no states.
	Agents func(ctx context.Context) (json.RawMessage, error)
	Meet   func(ctx context.Context, there []string, news map[string]json.RawMessage) error

	// Beside runs during each connection, until ctx ends; it may be nil.
	Beside func(ctx context.Context)

	Log *slog.Logger
	Now func() core.Millis
}

// Keep keeps a project connected to its hub until ctx ends. Only one of several processes
// connects. While the project has no hub, Keep checks once a second whether it has joined one.
func Keep(ctx context.Context, s Config) {
	k := &keeper{Config: s}
	for range project.Steadily(ctx, 0, watchTime) {
		if _, err := os.Lstat(filepath.Join(k.Data, linkName)); err == nil {
			held, err := k.lock(ctx)
			switch {
			case err == nil:
				k.keep(ctx)
				held.Release()
			case !errors.Is(err, lock.ErrBusy):
				k.tell(err)
			}
		}
	}
}

// A keeper keeps one project connected.
type keeper struct {
	Config
	syncer  *Syncer
	machine string // whose syncer it is
	logged  string // the error that was logged last
}

// lock takes the lock of the project. The error is lock.ErrBusy if another process has it.
func (k *keeper) lock(ctx context.Context) (*lock.Lock, error) {
	wait, stop := context.WithTimeout(ctx, watchTime)
	defer stop()
	return lock.Acquire(wait, filepath.Join(k.Data, lockName))
}

// tell logs an error, unless it is the same as the one before.
func (k *keeper) tell(err error) {
	if err != nil && err.Error() != k.logged {
		k.logged = err.Error()
		k.Log.Warn("the hub", "error", err)
	}
}

// keep keeps the project connected as long as it is joined.
func (k *keeper) keep(ctx context.Context) {
	for ctx.Err() == nil {
		link, unusable := Load(k.Data)
		if errors.Is(unusable, fs.ErrNotExist) {
			k.tell(removeOwn(filepath.Join(k.Data, statusName)))
			return
		}
		while, stop := k.untilChanged(ctx, link)
		Retry(while, func() (over bool) {
			err := unusable
			if err == nil {
				err = k.connect(while, link)
			}
			if while.Err() == nil {
				k.fail(err)
			}
			return false
		})
		stop()
	}
}

// fail writes into the status that the project is not connected, and why.
func (k *keeper) fail(err error) {
	k.tell(err)
	k.tell(place.WriteJSON(filepath.Join(k.Data, statusName), Status{At: k.Now(), PID: os.Getpid(), Error: err.Error(), Hint: core.HintOf(err)}))
}

// untilChanged returns a context that ends when hub.json has another link.
func (k *keeper) untilChanged(ctx context.Context, link Link) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		for range project.Steadily(ctx, watchTime, watchTime) {
			now, err := Load(k.Data)
			if now != link && !errors.Is(err, core.ErrUnavailable) || errors.Is(err, fs.ErrNotExist) {
				stop(errLinkChanged)
			}
		}
	}()
	return ctx, func() { stop(nil) }
}

// connect connects the project, until ctx ends or the connection is lost.
func (k *keeper) connect(ctx context.Context, link Link) error {
	conn, err := Connect(ctx, link)
	if err != nil {
		return err
	}
	defer conn.Close()
	if k.machine != link.Machine {
		k.machine, k.syncer = link.Machine, &Syncer{Tree: k.Tree(link.Machine), Log: k.Log, Now: k.Now}
	}
	k.Log.Info("connected to the hub", "server", Shown(link.URL), "project", link.Project, "machine", link.Machine)
	k.logged = ""
	beside, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { (&presence{Config: k.Config, conn: conn, progress: k.syncer.Progress}).keep(beside) })
	if k.Beside != nil {
		others.Go(func() { k.Beside(beside) })
	}
	err = k.syncer.Run(ctx, conn)
	stop()
	others.Wait()
	return err
}
