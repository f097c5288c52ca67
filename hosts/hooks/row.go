package hooks

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/turns"
)

// Patterns of flame's own tools, in any host.
const (
	FlameTools = "(.*__)?flame_[a-z][a-z_]*" // of any server: a later check finds flame's own
	SpawnTools = "(.*__)?" + SpawnTool
	SpawnTool  = string(op.Spawn)
)

// An EventRule says what one event of a host means to flame; X is the host's exchange.
type EventRule[X any] struct {
	Event  string
	Tools  string // regular expression that must match the whole name of the tool; empty: any
	Handle func(X) error
	Doc    string // in one sentence, for the documentation
	// StampsCaller says that the event is about a call of one of flame's tools, and handling it only says
	// who calls: that works with hooks turned off, too.
	StampsCaller bool
	// ProcessReason says, for the documentation too, why a host that calls the session's server for its
	// events starts flame hook for this one.
	ProcessReason string
}

// fits reports whether the row applies to e.
func (r EventRule[X]) fits(e *Event) bool {
	if r.Event != e.Name || r.Tools == "" {
		return r.Event == e.Name
	}
	whole, err := regexp.MatchString("^(?:"+r.Tools+")$", e.Tool)
	return whole && err == nil
}

// Docs documents the rows; by says how each reaches flame.
func Docs[X any](rows []EventRule[X], by func(EventRule[X]) string) (docs []hosts.EventDoc) {
	for _, r := range rows {
		docs = append(docs, hosts.EventDoc{Event: r.Event, Tools: r.Tools, Does: r.Doc, By: by(r)})
	}
	return docs
}

// ToolsOf joins what rows match; a row for any tool matches everything.
func ToolsOf[X any](rows []EventRule[X]) string {
	var tools []string
	for _, r := range rows {
		if r.Tools == "" {
			return ""
		}
		tools = append(tools, r.Tools)
	}
	return "^(" + strings.Join(tools, "|") + ")$"
}

// An Entry is what a host does for an event: it starts a program, or calls a tool of an MCP
// server.
type Entry struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"` // without a shell
	Server  string            `json:"server,omitempty"`
	Tool    string            `json:"tool,omitempty"`
	Input   map[string]any    `json:"input,omitempty"`
	Timeout int               `json:"timeout"`
	Env     map[string]string `json:"env,omitempty"`
}

// A Matcher says for which tools, or which causes of an event, hooks run.
type Matcher struct {
	Matcher string  `json:"matcher,omitempty"`
	Hooks   []Entry `json:"hooks"`
}

// Handle handles one event by the first row that fits it, in one transaction. open returns the
// host's exchange around what all hosts share.
func Handle[X any](ctx context.Context, flame hosts.HookEnv, e *Event, from Source, rows []EventRule[X], open func(*Exchange) X) ([]byte, error) {
	i := slices.IndexFunc(rows, func(r EventRule[X]) bool { return r.fits(e) })
	if i < 0 || e.Session == "" {
		return nil, nil
	}
	from.Agent = flame.Agent
	var said Answer
	err := transaction(rows[i], e, flame)(ctx, func(p *project.Project) error {
		x := &Exchange{Ctx: ctx, Project: p, OwnTool: flame.OwnTool, from: from, of: e}
		err := rows[i].Handle(open(x))
		said = x.Answer
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", e.Name, err)
		if !rows[i].StampsCaller {
			return nil, err // the answer would report what was not stored
		}
	}
	answer, wrong := said.encode(e.Name)
	return answer, errors.Join(err, wrong)
}

// transaction returns the function in whose transaction the event is handled.
// With hooks turned off for the project nothing is handled, but flame's own
// tools still work and are vouched for.
func transaction[X any](r EventRule[X], e *Event, flame hosts.HookEnv) func(context.Context, func(*project.Project) error) error {
	p := flame.Project
	switch {
	case !r.StampsCaller:
		return func(ctx context.Context, f func(*project.Project) error) error {
			return turns.OnEvent(ctx, p, flame.Marks, e.Name == "SessionStart", f)
		}
	case r.Tools == FlameTools && e.Agent == "":
		return func(_ context.Context, f func(*project.Project) error) error { return f(p) } // it needs no store
	}
	return p.Batch
}

// On returns the matcher that runs one hook for tools.
func On(tools string, hook Entry) Matcher { return Matcher{Matcher: tools, Hooks: []Entry{hook}} }
