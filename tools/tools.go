// Package tools is the MCP door: every flame tool, the resources, prompts and
// guidance. It holds no rules; a tool turns its arguments into one operation of
// project and the outcome into a short text for a model, with the ids it needs next.
// Package transport carries the messages.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"flame/agents"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/render"
)

// A Tool is one tool, whatever door it is called through.
type Tool struct {
	Name        string
	Group       string // for FLAME_TOOLS
	Description string // when to use it
	Core        bool   // part of the profile "core": always in a client's view
	Hints       Hints
	Schema      func() json.RawMessage // of its arguments; made on demand

	parse func(raw json.RawMessage) (call, error)
}

// A call is a tool with the arguments of one call.
type call struct {
	stamp stamp
	run   func(ctx context.Context, by project.Caller) (Result, error)
}

// Hints tell a client what a call may do.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // can undo or remove what was there
	Idempotent  bool // the same call again changes nothing more
	OpenWorld   bool // reaches beyond the project
}

// The kinds of tools by their hints.
var (
	reads    = Hints{ReadOnly: true, Idempotent: true}
	writes   = Hints{}
	sets     = Hints{Idempotent: true}
	discards = Hints{Destructive: true, Idempotent: true}
	reaches  = Hints{Destructive: true, OpenWorld: true}
)

// A Result is a tool's answer.
type Result struct {
	Text       string
	Structured any // sent as structuredContent; nil but for flame_get_state
}

// Groups lists the groups of tools in the order in which they are documented.
func Groups() []string {
	return []string{"frames", "plan", "context", "summary", "subagents", "agents", "autonomy", "state"}
}

// All returns every tool of a project and its agents.
func All(p *project.Project, a *agents.Agents) []Tool {
	return join(
		group("frames", frameTools(p)),
		group("plan", planTools(p)),
		group("context", contextTools(p)),
		group("summary", summaryTools(p)),
		group("subagents", subagentTools(p)),
		group("agents", agentTools(a)),
		group("autonomy", autonomyTools(p)),
		group("state", stateTools(p)),
	)
}

func join(groups ...[]Tool) (all []Tool) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

func group(name string, tools []Tool) []Tool {
	for i := range tools {
		tools[i].Group = name
	}
	return tools
}

// Names lists flame's tools.
func Names() (names []string) {
	for _, t := range All(&project.Project{}, &agents.Agents{}) {
		names = append(names, t.Name)
	}
	return names
}

// Find returns the tool of this name, or an error that names those there are.
func Find(all []Tool, name string) (Tool, error) {
	var names []string
	for _, t := range all {
		if t.Name == name || t.Name == "flame_"+name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Tool{}, core.NotFoundf("there is no tool %q", name).WithHint("use one of %s", strings.Join(names, ", "))
}

// Select returns the tools of a profile: "all", "core", or groups separated by
// commas. An unknown name is an error.
func Select(all []Tool, profile string) ([]Tool, error) {
	wanted := map[string]bool{}
	for word := range strings.SplitSeq(profile, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		known := word == "" || word == "all" || word == "core"
		for _, g := range Groups() {
			known = known || g == word
		}
		if !known {
			return nil, core.Invalidf("FLAME_TOOLS names the unknown group %q", word).
				WithHint("use all, core, or some of %s", strings.Join(Groups(), ", "))
		}
		wanted[word] = true
	}
	var chosen []Tool
	for _, t := range all {
		if wanted["all"] || wanted[""] || wanted[t.Group] || wanted["core"] && t.Core {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

// Call runs the tool on raw, a JSON object of arguments. The reserved arguments
// session_id and agent_id, which hosts' hooks add, name the caller.
func (t Tool) Call(ctx context.Context, by project.Caller, raw json.RawMessage) (Result, error) {
	c, err := t.parse(raw)
	if err != nil {
		return Result{}, err
	}
	return c.run(ctx, c.stamp.caller(by))
}

// define makes a tool of a function on typed arguments. What no tool should do
// itself happens here: the schema comes from In, decoding is strict.
func define[In any](name op.Name, description string, hints Hints, run func(ctx context.Context, by project.Caller, in In) (string, error)) Tool {
	return defineResult(name, description, hints, func(ctx context.Context, by project.Caller, in In) (Result, error) {
		text, err := run(ctx, by, in)
		return Result{Text: render.ForTools(text)}, err
	})
}

func defineResult[In any](name op.Name, description string, hints Hints, run func(ctx context.Context, by project.Caller, in In) (Result, error)) Tool {
	arguments := sync.OnceValue(func() []argument { return argumentsOf(reflect.TypeFor[In]()) })
	return Tool{
		Name: string(name), Description: description, Hints: hints,
		Schema: func() json.RawMessage { return schemaOf[In](string(name)) },
		parse: func(raw json.RawMessage) (call, error) {
			var in In
			stamp, err := decode(raw, &in, arguments())
			return call{stamp, func(ctx context.Context, by project.Caller) (Result, error) { return run(ctx, by, in) }}, err
		},
	}
}

// always marks tools as part of the profile "core".
func always(tools ...Tool) []Tool {
	for i := range tools {
		tools[i].Core = true
	}
	return tools
}

// Advice puts an error into words for a model: what was wrong and what to do
// next. Errors that it could do nothing about read "internal error"; ok is
// false for those, and they belong into the log.
func Advice(err error) (text string, ok bool) {
	var problem *core.Problem
	if !errors.As(err, &problem) {
		return "Error: internal error in flame. Its log says more (`flame where` prints the folder with flame.log); `flame doctor` checks the installation.", false
	}
	if problem.Hint == "" {
		return "Error: " + problem.Message, true
	}
	return fmt.Sprintf("Error: %s (%s)", problem.Message, render.ForTools(problem.Hint)), true
}
