package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"flame/core"
	"flame/store/disk"
)

// lockName is the file in a project's data folder whose lock the process holds that keeps
// the project connected.
const lockName = "hub.lock"

// The times of keeping a project connected.
const (
	watchTime    = time.Second            // between two looks at hub.json, and at the lock
	shortestWait = 250 * time.Millisecond // before another attempt to connect; doubled each time
	longestWait  = 5 * time.Second
	leaveTime    = 2 * time.Second // for what is told to the hub at the end
)

// errLinkChanged ends a connection because the project left its hub, or joined another.
var errLinkChanged = errors.New("hub.json has changed")

// A Station is a project that is kept connected to its hub. All fields must be set, but
// those that say otherwise.
type Station struct {
	Data    string                                      // its data folder
	Tree    func(machine string) Tree                   // its part in the tree, as machine (see TreeOf)
	Held    func(ctx context.Context) ([]string, error) // ids of the frames in progress whose sessions are live on this machine
	Version string                                      // of this flame

	// Agents returns what is told of this machine's agents, and Meet takes in what others
	// tell of their own: news are what some of those that are there told now. nil: none are
	// told.
	Agents func(ctx context.Context) (json.RawMessage, error)
	Meet   func(ctx context.Context, there []string, news map[string]json.RawMessage) error

	// Beside runs while there is a connection, until ctx ends; nil: nothing does.
	Beside func(ctx context.Context)

	Log *slog.Logger
	Now func() core.Millis
}

// Keep keeps a project connected to its hub until ctx ends, from when it joins one until it
// leaves. Of several processes one does so. Without a hub it looks once a second whether
// there is one, and does nothing else.
func Keep(ctx context.Context, s Station) {
	k := &keeper{Station: s}
	look := time.NewTicker(watchTime)
	defer look.Stop()
	for {
		if k.stamp() != "" {
			if lock := k.lock(); lock != nil {
				k.keep(ctx)
				lock.Close()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// A keeper keeps one project connected.
type keeper struct {
	Station
	syncer  *Syncer
	machine string // whose syncer it is
	logged  string // the error that was logged last
}

// stamp returns something that changes with hub.json; empty if there is none.
func (k *keeper) stamp() string {
	info, err := os.Lstat(filepath.Join(k.Data, linkName))
	if err != nil {
		return ""
	}
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), inode)
}

// lock returns the locked file, or nil if another process has it.
func (k *keeper) lock() *os.File {
	file, err := disk.OpenOwn(filepath.Join(k.Data, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		k.tell(err)
		return nil
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil
	}
	return file
}

// tell logs what went wrong, once in a row.
func (k *keeper) tell(err error) {
	if err != nil && err.Error() != k.logged {
		k.logged = err.Error()
		k.Log.Warn("the hub", "error", err)
	}
}

// keep keeps the project connected as long as it is joined.
func (k *keeper) keep(ctx context.Context) {
	var wait time.Duration
	for ctx.Err() == nil {
		stamp := k.stamp()
		link, err := Load(k.Data)
		if errors.Is(err, fs.ErrNotExist) {
			k.tell(removeStatus(k.Data))
			return
		}
		while, stop := k.untilChanged(ctx, stamp)
		if err == nil {
			var connected bool
			if connected, err = k.connect(while, link); connected {
				wait = 0
			}
		}
		if while.Err() == nil {
			k.fail(err)
			wait = min(max(shortestWait, 2*wait), longestWait)
			select {
			case <-while.Done():
			case <-time.After(wait/2 + rand.N(wait)): // not all machines at once
			}
		}
		stop()
	}
}

// fail says that the project is not connected.
func (k *keeper) fail(err error) {
	k.tell(err)
	status := Status{At: k.Now(), PID: os.Getpid(), Error: err.Error()}
	var problem *core.Problem
	if errors.As(err, &problem) {
		status.Hint = problem.Hint
	}
	k.tell(saveStatus(k.Data, status))
}

// untilChanged returns a context that ends when hub.json is no longer what it was.
func (k *keeper) untilChanged(ctx context.Context, stamp string) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		look := time.NewTicker(watchTime)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if k.stamp() != stamp {
					stop(errLinkChanged)
				}
			}
		}
	}()
	return ctx, func() { stop(nil) }
}

// connect connects the project, until ctx ends or the connection is lost. It reports
// whether there was one.
func (k *keeper) connect(ctx context.Context, link Link) (connected bool, err error) {
	conn, err := Connect(ctx, link)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if k.machine != link.Machine {
		k.machine, k.syncer = link.Machine, &Syncer{Tree: k.Tree(link.Machine), Log: k.Log, Now: k.Now}
	}
	k.Log.Info("connected to the hub", "server", Shown(link.URL), "project", link.Project, "machine", link.Machine)
	k.logged = ""
	beside, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { (&presence{Station: k.Station, conn: conn, progress: k.syncer.Progress}).keep(beside) })
	if k.Beside != nil {
		others.Go(func() { k.Beside(beside) })
	}
	err = k.syncer.Run(ctx, conn)
	stop()
	others.Wait()
	return true, err
}
