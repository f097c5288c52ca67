package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"flame/agents"
	"flame/config/env"
	"flame/core"
	"flame/local/lock"
	"flame/project"
)

// Program is the name of the program that speaks to hubs.
const Program = "flame-hub"

// FindProgram returns the path of one of the two programs of a release: beside this one, else on
// PATH.
func FindProgram(name string) (string, error) {
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", core.Unavailablef(errNoAnswer, "%s is not installed: it stands neither beside flame nor on PATH", name).
			WithHint("every package of flame contains it; from a clone, `GOBIN=~/.local/bin go install ./%s` installs it", name)
	}
	return path, nil
}

// Become replaces this process by flame-hub with these arguments. It returns only an error.
func Become(args []string) error {
	path, err := FindProgram(Program)
	if err != nil {
		return err
	}
	return core.Unavailablef(syscall.Exec(path, append([]string{Program}, args...), os.Environ()), "%s does not start", path)
}

// errNoAnswer is the cause of errors of flame-hub itself: it is missing, has ended, or does not know
// the request.
var errNoAnswer = errors.New("no answer from flame-hub")

// What flame-hub is asked to do.
const (
	ToKeep   = "keep"   // keep the project connected as long as it has joined, unless another process does
	ToLook   = "look"   // connect, and say how the server is
	ToClaim  = "claim"  // claim a frame
	ToCancel = "cancel" // stop an agent of another machine
)

// A Request is the line that `flame-hub call` reads from its stdin. The end of stdin ends the work.
type Request struct {
	Do    string      `json:"do"`
	Frame *core.Frame `json:"frame,omitempty"` // to claim
	Agent string      `json:"agent,omitempty"` // to cancel
	Why   string      `json:"why,omitempty"`
}

// An Answer is what flame-hub writes to its stdout at the end.
type Answer struct {
	Version string        `json:"version"`           // of flame-hub
	Server  string        `json:"server,omitempty"`  // version of the hub's server, to ToLook
	Latency time.Duration `json:"latency,omitempty"` // of one answer of the server, to ToLook
	Kind    string        `json:"kind,omitempty"`    // of the error
	Error   string        `json:"error,omitempty"`
	Hint    string        `json:"hint,omitempty"`
}

var kinds = map[string]error{"not found": core.ErrNotFound, "invalid": core.ErrInvalid, "unavailable": core.ErrUnavailable}

// Fail adds an error, if there is one.
func (a *Answer) Fail(err error) {
	if err == nil {
		return
	}
	a.Error, a.Hint = err.Error(), core.HintOf(err)
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			a.Kind = name
		}
	}
}

// failure returns the error of an answer to a flame of this version.
func (a Answer) failure(version string) error {
	if a.Error == "" {
		return nil
	}
	if a.Version != version {
		a.Error += fmt.Sprintf(" (%s is version %s, and flame %s)", Program, a.Version, version)
	}
	if kind, known := kinds[a.Kind]; known {
		return &core.Problem{Kind: kind, Message: a.Error, Hint: a.Hint}
	}
	return errors.New(a.Error)
}

// MaxRequest is the greatest length of a request in bytes.
const MaxRequest = 16 << 20

// leaveTime is how long flame-hub may take to end.
const leaveTime = 4 * time.Second

// ask has flame-hub do something. An error of flame-hub itself wraps errNoAnswer. The end of ctx ends
// the work.
func (c Client) ask(ctx context.Context, r Request) (a Answer, err error) {
	path, err := FindProgram(Program)
	if err != nil {
		return a, err
	}
	request, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, path, "call")
	cmd.Env = append(os.Environ(), env.ProjectDir+"="+c.Root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C at the terminal is for flame, which ends it
	in, err := cmd.StdinPipe()
	if err != nil {
		return a, err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, leaveTime
	go func() { _, _ = in.Write(append(request, '\n')) }() // and leaves it open; Output says why nobody reads it
	out, err := cmd.Output()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return a, core.Unavailablef(errors.Join(errNoAnswer, ctx.Err()), "the hub does not answer in time")
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	}
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		return a, core.Unavailablef(errors.Join(errNoAnswer, err), "%s has ended without an answer: %v", path, err).
			WithHint("is it of the same version as flame? `flame doctor` says so")
	}
	return a, a.failure(c.Version)
}

// A Client has flame-hub do for a project what needs its hub. Each method runs a process of its own.
type Client struct {
	Root    string // folder of the project
	Data    string // its data folder, whose hub.json says where the hub is
	Version string // of this flame
}

var _ agents.RemoteRunner = Client{}

// Keep keeps the project connected to the hub that it has joined, if any, until ctx ends. Of all
// processes of the project, one does.
func (c Client) Keep(ctx context.Context, log *slog.Logger) {
	KeepJoined(ctx, c.Data, log, func(ctx context.Context) error {
		now, stop := context.WithCancel(ctx)
		stop()
		held, err := Lock(now, c.Data)
		if errors.Is(err, lock.ErrBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		held.Release() // flame-hub takes it: it may outlive this process for a moment
		_, err = c.ask(ctx, Request{Do: ToKeep})
		return err
	})
}

// Look asks how the server of the hub is. The answer has the version of flame-hub also with an error.
func (c Client) Look(ctx context.Context) (Answer, error) { return c.ask(ctx, Request{Do: ToLook}) }

// Claim claims a frame of another machine for this one. Without a hub every claim is granted.
func (c Client) Claim(ctx context.Context, frame core.Frame) error {
	if _, err := Load(c.Data); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	_, err := c.ask(ctx, Request{Do: ToClaim, Frame: &frame})
	if errors.Is(err, errNoAnswer) {
		return project.UnclaimedError(frame)
	}
	return err
}

// Ready returns an error unless the project has joined a hub, and flame-hub is there.
func (c Client) Ready() error {
	_, err := Load(c.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return agents.NoHubError()
	}
	if err == nil {
		_, err = FindProgram(Program)
	}
	return err
}

// Unserved says that no worker serves a queue, by the latest status of the connection.
func (c Client) Unserved(name string) string {
	status, err := LoadStatus(c.Data)
	if err != nil {
		return "" // not known
	}
	return status.Unserved(name, core.MillisOf(time.Now()))
}

// Cancel has the worker stop an agent, or takes it out of its queue.
func (c Client) Cancel(ctx context.Context, id, why string) error {
	_, err := c.ask(ctx, Request{Do: ToCancel, Agent: id, Why: why})
	return err
}

// Run is for flame-hub alone, which supervises the agents of other machines.
func (Client) Run(context.Context, agents.RemoteTask, func(agents.RemoteProgress)) error {
	return errors.ErrUnsupported
}

// Fetch is for flame-hub alone, as Run is.
func (Client) Fetch(context.Context, string, io.Writer, int64) error { return errors.ErrUnsupported }

// WatchTime is the time between two looks at hub.json, and at the lock.
const WatchTime = time.Second

// KeepJoined calls keep, which keeps a project connected, whenever the project has joined a hub,
// until ctx ends. It calls it again when it ends, after an error with pauses, and logs the error.
func KeepJoined(ctx context.Context, data string, log *slog.Logger, keep func(context.Context) error) {
	logged := ""
	for range project.Every(ctx, 0, WatchTime) {
		Retry(ctx, func() (over bool) {
			if _, err := os.Lstat(filepath.Join(data, linkName)); err != nil {
				return true
			}
			err := keep(ctx)
			if err != nil && err.Error() != logged && ctx.Err() == nil {
				logged = err.Error()
				log.Warn("the hub", "error", err)
			}
			return err == nil
		})
	}
}

// Lock takes the lock that the process has which keeps a project connected. It returns lock.ErrBusy
// if another process still has it when wait ends.
func Lock(wait context.Context, data string) (*lock.Lock, error) {
	return lock.Acquire(wait, filepath.Join(data, "hub.lock"))
}

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
