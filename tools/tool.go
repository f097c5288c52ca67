package tools

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"flame/agents"
	"flame/core/op"
	"flame/project"
	"flame/render"
)

// A Tool is one tool, for every door.
type Tool struct {
	Name        string
	Group       string // for FLAME_TOOLS
	Description string // when to use it
	Core        bool   // part of the profile "core"
	AlwaysLoad  bool   // clients load it at once: work in frames needs it
	InLean      bool   // the profile "lean" has it too, because it starts processes: hosts have rules for its name
	Hints       Hints
	Schema      func() json.RawMessage // of its arguments; built on demand

	brief func() json.RawMessage // the schema without rare arguments, for lean

	parse func(raw json.RawMessage) (call, error)
}

// A call is a tool with the arguments of one call.
type call struct {
	stamp stamp // as its arguments have it
	run   func(ctx context.Context, by project.Caller) (Result, error)
}

// Hints tell a client what a call may do.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // can undo or remove existing things
	Idempotent  bool // repeating the call changes nothing more
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
	Structured any // sent as structuredContent; nil except for flame_get_state
	Pictures   []agents.Picture
}

// Call runs the tool on raw, a JSON object of arguments, for a caller that no argument changes.
func (t Tool) Call(ctx context.Context, by project.Caller, raw json.RawMessage) (Result, error) {
	c, err := t.parse(raw)
	if err != nil {
		return Result{}, err
	}
	return c.run(ctx, by)
}

// define returns a tool from a function on typed arguments. It does what no
// tool should do itself: it derives the schema from In and decodes strictly. A text that
// comes with an error is dropped.
func define[In any](name op.Name, description string, hints Hints, run func(ctx context.Context, by project.Caller, in In) (string, error)) Tool {
	return defineResult(name, description, hints, func(ctx context.Context, by project.Caller, in In) (Result, error) {
		text, err := run(ctx, by, in)
		return Result{Text: render.ToToolNames(text)}, err
	})
}

func defineResult[In any](name op.Name, description string, hints Hints, run func(ctx context.Context, by project.Caller, in In) (Result, error)) Tool {
	arguments := sync.OnceValue(func() []argument { return argumentsOf(reflect.TypeFor[In]()) })
	return Tool{
		Name: string(name), Description: description, Hints: hints,
		Schema: func() json.RawMessage { return json.RawMessage(schemaOf(arguments())) },
		brief:  func() json.RawMessage { return json.RawMessage(briefOf(arguments())) },
		parse: func(raw json.RawMessage) (call, error) {
			var in In
			stamp, err := decode(raw, &in, arguments())
			return call{stamp, func(ctx context.Context, by project.Caller) (Result, error) { return run(ctx, by, in) }}, err
		},
	}
}

// always marks tools that clients load at once.
func always(tools ...Tool) []Tool {
	for i := range tools {
		tools[i].Core, tools[i].AlwaysLoad = true, true
	}
	return tools
}

// usual marks tools as part of the profile "core".
func usual(tools ...Tool) []Tool {
	for i := range tools {
		tools[i].Core = true
	}
	return tools
}

// inLean reports whether the profile "lean" offers the tool by its name.
func (t Tool) inLean() bool { return t.AlwaysLoad || t.InLean }

// direct marks a tool that starts processes.
func direct(t Tool) Tool {
	t.InLean = true
	return t
}
