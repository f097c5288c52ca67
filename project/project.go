// Package project holds what all operations on a project share: the Store that they
// need, and the Op, one transaction on behalf of a caller. The operations themselves
// are in the packages below, for tools, hooks, commands and pages alike: they apply
// core's rules to frames and sessions. They leave the wording for models and people to
// the doors, and SQL to the store.
package project

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"flame/core"
	"flame/core/fold"
)

// CommandLine is the host of callers that are people at a shell.
const CommandLine = "cli"

// A Project is one tree of frames and everything that operations on it need. All fields
// but Dir, EventDays, Fold, Trim, Late, Transcripts, StampKey, Claim, Gateway, HostProcess and Gone must be
// set.
type Project struct {
	Store     Store
	Dir       string                   // root of the worktree that artifacts are relative to; may be empty
	Agents    string                   // folder with the worktrees of agents, to which their artifacts are relative; may be empty
	Now       func() core.Millis       // the current time
	NewID     func(kind string) string // returns a new id: kind, a hyphen and 8 random characters
	Log       *slog.Logger             // frame lifecycle, contexts, subagents, compactions, suggestions
	Budget    core.Budget              // of contexts, in tokens
	Subagents core.SubagentConfig      // set by the environment; changes made by tools are in the store
	Autonomy  core.AutonomyConfig      // likewise
	EventDays int                      // how many days flame keeps events; 0: forever
	Fold      bool                     // requests to models leave finished frames out
	Plans     bool                     // the to-do lists of hosts become frames
	FoldPlans bool                     // and the work on their items is left out of requests
	Turns     bool                     // the user's prompts that lead to work become frames
	FoldTurns bool                     // and their work is left out of requests
	Trim      fold.TrimMode            // which outputs of tools requests leave out of open frames; empty: none

	// Replaying is set while flame handles events whose hosts no longer wait for an answer: the
	// answer would not reach the agent.
	Replaying bool

	// Transcripts reads the hosts' logs of their sessions. A process without it
	// leaves counting usage to others.
	Transcripts TranscriptReader

	// StampKey returns the key by which hooks prove who makes a call; with write it makes a missing
	// one. A process without it names no caller and believes no stamp.
	StampKey func(ctx context.Context, write bool) (StampKey, error)

	// Claim claims a frame of another machine for this machine, on the hub. It is nil without
	// a connection to the hub: in hooks, and if this machine has joined no hub.
	Claim func(ctx context.Context, frame core.Frame) error

	// Gateway names the gateway of flame's around this process, by env.Gateway; empty without a gateway.
	Gateway string
	// HostProcess returns the process of the host whose events and calls this process
	// handles; zero if it is not known. Gone reports whether a process has certainly
	// ended. Without them sessions end only by their hosts' events and by silence.
	HostProcess func() Process
	ProcessGone func(Process) bool

	joint *batchStore // the shared transaction; nil outside of Together
}

// Then returns the project for what happened at a time and is handled late.
func (p *Project) Then(at core.Millis) *Project {
	then := p.At(at)
	then.Replaying = true
	return then
}

// At returns the project for what happened at a time and is handled at once.
func (p *Project) At(at core.Millis) *Project {
	then := *p
	then.Now = func() core.Millis { return min(at, p.Now()) }
	return &then
}

// A Caller says on whose behalf an operation runs.
type Caller struct {
	Session string // id of the host session; empty for a person at a shell who named none, and for an agent whose host does not report it
	Parent  string // id of the session that Session is a subagent of; may be empty
	Host    string // program that the session runs in: the name of a host, cli, or the name that the client gives itself
	Agent   string // id of the agent whose process it runs in; empty outside of agents
	Trust   Trust  // in the fields above
	Event   string // the host's event, if a hook calls; else empty
	Plugin  string // version of the plugin that the hook belongs to; may be empty
}

// Trust says why flame believes the fields of a Caller.
type Trust int

// The levels of trust.
const (
	TrustNone   Trust = iota // the connection's own session, or a person at a shell
	TrustInHost              // the call comes from inside a host, as from a model's shell, and may name no session
	ByHost                   // the host itself says so, in an event or in a request to its model
	TrustHook                // a hook of the host vouches for the call, and proved it
	TrustFlame               // flame itself acts for Session, for example when an agent ends
)

// Anonymous reports whether the caller has no identity of its own, and so works
// wherever work is going on.
func (c Caller) Anonymous() bool { return c.Session == "" && c.Agent == "" }

// The reserved arguments of flame's tools, in which a host's hook names the caller. A hook sets or
// deletes all of them, because a model can write them, too.
const (
	ArgSession = "session_id"
	ArgAgent   = "agent_id"
	ArgProof   = "flame_proof"
)

// A StampKey is the secret behind the proofs of a project's stamps.
type StampKey []byte

// NewID makes a frame id: kind, a hyphen and 8 random characters of [a-z0-9].
func NewID(kind string) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	random := make([]byte, 8)
	rand.Read(random) // never fails: crypto/rand ends the process instead of returning an error
	for i, b := range random {
		random[i] = alphabet[int(b)%len(alphabet)]
	}
	return kind + "-" + string(random)
}

// maxText limits every incoming text, in bytes: a thousand times as much as a context can
// show, and small enough for one transaction.
const maxText = 1 << 20

// RequiredText trims a text. It refuses empty texts, texts that are too long, and bytes that are
// not text.
func RequiredText(name, text string) (string, error) {
	text, err := OptionalText(name, text)
	if err == nil && text == "" {
		err = core.Invalidf("%s is empty", name).WithHint("give %s as text", name)
	}
	return text, err
}

// OptionalText is Clean for texts that may be empty.
func OptionalText(name, text string) (string, error) {
	if len(text) > maxText {
		return "", core.Invalidf("%s has %d bytes, the limit is %d", name, len(text), maxText).
			WithHint("write it to a file and record the file as an artifact")
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", core.Invalidf("%s is not UTF-8 text", name).WithHint("write it to a file and record the file as an artifact")
	}
	return strings.TrimSpace(text), nil
}

// ArtifactPath returns an artifact in its stored form. A path inside the worktree becomes
// relative to it, with forward slashes; anything else stays unchanged.
func (p *Project) ArtifactPath(artifact string) string {
	if !filepath.IsAbs(artifact) {
		return artifact
	}
	if rel, is := below(p.Agents, artifact); is {
		if parts := strings.SplitN(rel, "/", 3); len(parts) == 3 && parts[1] == "worktree" {
			return parts[2]
		}
	}
	if rel, is := below(p.Dir, artifact); is {
		return rel
	}
	// The session may have gone into the project by a link.
	if folder, err := filepath.EvalSymlinks(filepath.Dir(artifact)); err == nil {
		if rel, is := below(p.Dir, filepath.Join(folder, filepath.Base(artifact))); is {
			return rel
		}
	}
	return artifact
}

// below returns path relative to dir, with slashes, and reports whether it is in dir.
func below(dir, path string) (rel string, is bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// MaxTitle is the length in characters to which flame cuts titles of sessions.
const MaxTitle = 200

// AddArtifacts records files, under the names that hosts use, as artifacts of a frame. It
// leaves out those that the frame has. Files with the same path in two worktrees count as
// one.
func (s *Op) AddArtifacts(frame *core.Frame, files []string) error {
	var added []string
	for _, file := range files {
		file = s.Project.ArtifactPath(file)
		known := slices.ContainsFunc(frame.Artifacts, func(artifact string) bool { return strings.HasSuffix(file, "/"+artifact) })
		if file != "" && !known && frame.AddArtifact(file, s.Now) {
			added = append(added, file)
		}
	}
	if len(added) == 0 {
		return nil
	}
	errs := []error{s.Tx.SaveFrame(*frame)}
	for _, file := range added {
		errs = append(errs, s.Emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{"artifacts"}, "artifacts": file}))
	}
	return errors.Join(errs...)
}

// A Process is a process of the system. The system reuses pids, so the start time tells
// processes apart.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // in the system's form
}

// A TranscriptReader returns the entries that host has added to its log at path since
// position from. It reads a log that is now shorter from its beginning, and leaves out an
// incomplete last line.
type TranscriptReader func(host, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error]

// Read returns the result of f on a snapshot.
func Read[T any](ctx context.Context, p *Project, f func(Tx) (T, error)) (read T, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		read, err = f(tx)
		return err
	})
	return read, err
}
