// Package project holds what all operations on a project share: the Store that they
// need, and the Step, one transaction on behalf of a caller. The operations themselves
// are in the packages below, for tools, hooks, commands and pages alike: they apply
// core's rules to frames and sessions. They leave the wording for models and people to
// the doors, and SQL to the store.
package project

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"flame/core"
	"flame/core/fold"
	"flame/core/learn"
)

// CommandLine is the host of callers that are people at a shell.
const CommandLine = "cli"

// A Project is one tree of frames and everything that operations on it need. All fields
// but Dir, Learn, EventDays, Fold, Trim, Late, Transcripts, Claim, HostProcess and Gone must be
// set.
type Project struct {
	Store     Store
	Dir       string                   // root of the worktree that artifacts are relative to; may be empty
	Agents    string                   // folder of those of agents, whose worktrees artifacts are relative to; may be empty
	Now       func() core.Millis       // the current time
	NewID     func(kind string) string // returns a new id: kind, a hyphen and 8 random characters
	Log       *slog.Logger             // frame lifecycle, contexts, subagents, compactions, suggestions
	Budget    core.Budget              // of contexts, in tokens
	Subagents core.SubagentConfig      // set by the environment; changes made by tools are in the store
	Autonomy  core.AutonomyConfig      // likewise
	Learn     learn.Settings           // what is done with what the project teaches
	EventDays int                      // how many days events are kept; 0: forever
	Fold      bool                     // requests to models leave finished frames out
	Trim      fold.Trimming            // which outputs of tools they leave out of open ones; empty: none

	// Late is set while events are taken in that nobody waits for any more: what agents
	// should know is not told in answer to them.
	Late bool

	// Transcripts reads the hosts' logs of their sessions. A process without it
	// leaves counting usage to others.
	Transcripts TranscriptReader

	// Claim claims a frame of another machine for this one, on the hub. It is nil without
	// a connection to that: in hooks, and where no hub is joined.
	Claim func(ctx context.Context, frame core.Frame) error

	// HostProcess returns the process of the host whose events and calls this process
	// handles; zero if it is not known. Gone reports whether a process has ended for
	// certain. Without them sessions end by their hosts' events and by silence only.
	HostProcess func() Process
	Gone        func(Process) bool

	joint *joint // the transaction that this works in; nil outside of Together
}

// A Caller says on whose behalf an operation runs.
type Caller struct {
	Session string // id of the host session; empty for a person at a shell who named none, and for an agent whose host does not report it
	Parent  string // id of the session that Session is a subagent of; may be empty
	Host    string // what the session runs in: the name of a host, cli, or what the client calls itself
	Agent   string // id of the agent whose process it runs in; empty outside of agents
	Trust   Trust  // in the fields above
	Event   string // the host's event, if a hook calls; else empty
	Plugin  string // version of the plugin that the hook belongs to; may be empty
}

// Trust says what vouches for a Caller.
type Trust int

// The levels of trust.
const (
	Unvouched Trust = iota // nothing but the call itself
	InHost                 // it runs in a host, as a model's shell does, but may name no session
	Stamped                // a hook of the host vouches for Session
	ByFlame                // flame itself acts for Session, as when an agent ends
)

// Anonymous reports whether the caller has no identity of its own, and so works
// wherever work is going on.
func (c Caller) Anonymous() bool { return c.Session == "" && c.Agent == "" }

// NewID makes a frame id: kind, a hyphen and 8 random characters of [a-z0-9].
func NewID(kind string) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	random := make([]byte, 8)
	rand.Read(random) // never fails: crypto/rand ends the process rather than give an error
	for i, b := range random {
		random[i] = alphabet[int(b)%len(alphabet)]
	}
	return kind + "-" + string(random)
}

// View runs f on a snapshot. The caller's session may be unknown; a read does not
// create it.
func (p *Project) View(ctx context.Context, by Caller, f func(*Step) error) error {
	return p.Store.View(ctx, func(tx Tx) error {
		s := p.Step(tx, by)
		if err := s.Enter(); err != nil {
			return err
		}
		return f(s)
	})
}

// IgnoreMissing returns err, or nil if it is core.ErrNotFound: events may refer to what
// no longer exists.
func IgnoreMissing(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}
