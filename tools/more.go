package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

// lean is the profile, and the group in the documentation, of flame_more, through which a
// model finds and calls the tools that the profile does not offer by their names.
const lean = "lean"

// moreTool returns flame_more for those of all tools that the profile lean leaves out.
func moreTool(all []Tool) Tool {
	d := moreDoor{all}
	return defineResult(op.More,
		"Flame's other tools: it lists them, describes tool, or calls it with arguments.",
		d.hints(), d.more)
}

type moreDoor struct{ all []Tool }

// hidden returns the tools that clients call through flame_more.
func (d moreDoor) hidden() []Tool {
	return slices.DeleteFunc(slices.Clone(d.all), func(t Tool) bool { return t.inLean() })
}

// hints returns the combined hints of the tools behind it. It leaves out that two of them, which
// invalidate frames and cancel agents, are destructive: Codex CLI would ask a person before each search.
// What such a call ends stays to be read (docs/security.md).
func (d moreDoor) hints() Hints {
	all := reads
	for _, t := range d.hidden() {
		all.ReadOnly = all.ReadOnly && t.Hints.ReadOnly
		all.Idempotent = all.Idempotent && t.Hints.Idempotent
		all.OpenWorld = all.OpenWorld || t.Hints.OpenWorld
	}
	return all
}

// An objectArg is a JSON object, as it came.
type objectArg struct{ json.RawMessage }

func (objectArg) schema() string { return `"type":"object"` }

// UnmarshalJSON keeps an object, which may come as text.
func (o *objectArg) UnmarshalJSON(raw []byte) error {
	o.RawMessage = bytes.Clone(meant(raw, reflect.TypeFor[map[string]any]()))
	return nil
}

type moreArgs struct {
	Tool      string     `json:"tool,omitempty"`
	Arguments *objectArg `json:"arguments,omitempty" jsonschema:"{} for none"`
}

func (d moreDoor) more(ctx context.Context, by project.Caller, in moreArgs) (Result, error) {
	if in.Tool == "" {
		if in.Arguments != nil {
			return Result{}, core.Invalidf("argument tool is missing").WithHint("name the tool to call with these arguments")
		}
		return Result{Text: d.list()}, nil
	}
	if t, err := Find(d.all, in.Tool); err == nil && in.Arguments == nil {
		return Result{Text: describe(t)}, nil
	}
	t, err := d.find(in.Tool)
	if err != nil {
		return Result{}, err
	}
	c, err := t.parse(in.Arguments.RawMessage)
	if err != nil {
		return Result{}, err
	}
	return c.run(ctx, by) // flame ignores a stamp within the arguments: the model wrote it
}

func (d moreDoor) find(name string) (Tool, error) {
	if t, err := Find(d.all, name); err == nil && t.inLean() {
		return t, core.Invalidf("%s is not called through this tool", t.Name).WithHint("call it by its own name")
	}
	return Find(d.hidden(), name)
}

// list returns the tools, each in a short line.
func (d moreDoor) list() string {
	var b strings.Builder
	for _, t := range d.hidden() {
		what, _, _ := strings.Cut(t.Description, ". ")
		fmt.Fprintf(&b, "%s: %s\n", t.Name, strings.TrimSuffix(what, "."))
	}
	return b.String()
}

// describe returns a tool as clients see it.
func describe(t Tool) string {
	does := "It changes state."
	if t.Hints.ReadOnly {
		does = "It only reads."
	}
	return fmt.Sprintf("%s: %s %s\nIts arguments: %s", t.Name, t.Description, does, t.Schema())
}
