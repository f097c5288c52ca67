// Package away is what travels of an agent that works on another machine than the one that
// asked for it: what it is to do, and how far it has come. Both come from other machines, so
// neither is trusted: what is read is checked, and what a worker allows narrows it.
package away

import (
	"encoding/json"
	"slices"
	"strings"

	"flame/agents/carry"
	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// Version is that of the documents in this package. A machine reads older ones.
const Version = 1

// Work is what an agent elsewhere is to do. No path, variable or key of the machine that
// asks is in it.
type Work struct {
	V           int                   `json:"v"`
	ID          string                `json:"id"` // subagent_id
	Frame       string                `json:"frame"`
	Host        string                `json:"host"`
	Description string                `json:"description"`
	Definition  definition.Definition `json:"definition"`
	Digest      string                `json:"digest"` // of the definition, as it was when the agent was asked for
	Task        string                `json:"task"`
	Context     string                `json:"context,omitempty"`
	Mode        permission.Choice     `json:"mode"` // what it may do where it was asked for
	Tools       hosts.ToolSet         `json:"tools"`
	Model       string                `json:"model,omitempty"`
	Schema      json.RawMessage       `json:"schema,omitempty"`
	Limits      supervise.Limits      `json:"limits"`
	Base        *carry.Base           `json:"base,omitempty"`   // that it begins from; nil: in an empty folder
	Bundle      string                `json:"bundle,omitempty"` // name of the object that has Base, where it comes as a bundle
}

// Of returns what is to travel of an agent.
func Of(run record.Run, told record.Assignment, def definition.Definition) Work {
	def = bare(def)
	return Work{
		V: Version, ID: run.ID, Frame: run.Frame, Host: run.Host, Description: run.Description,
		Definition: def, Digest: run.Digest, Task: told.Task, Context: told.Context,
		Mode: run.Mode, Tools: run.Tools, Model: run.Model, Schema: run.Schema, Limits: run.Limits,
	}
}

// bare returns a definition without paths of the machine that it stands on, and without keys
// of hosts, which may run commands. It is trusted no more than another machine is.
func bare(def definition.Definition) definition.Definition {
	def.Source, def.Replaces, def.ShadowedBy, def.HostKeys = definition.Source{Kind: definition.Machine}, nil, "", nil
	return def
}

// The limits of what a worker takes, in bytes and characters.
const (
	maxTask  = 400_000
	maxName  = 200
	maxTools = 1_000
)

// Read returns the work in a document that may come from anybody, or says what is wrong
// with it.
func Read(text []byte) (w Work, err error) {
	var version struct{ V int }
	if err := json.Unmarshal(text, &version); err != nil {
		return w, core.Invalidf("what is to be done cannot be read: %v", err)
	}
	if version.V > Version {
		return w, core.Invalidf("the agent was asked for by a newer flame").WithHint("use the same version of flame on all machines")
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, core.Invalidf("what is to be done cannot be read: %v", err)
	}
	if flaw := w.flaw(); flaw != "" {
		return Work{}, core.Invalidf("what is to be done cannot be right: %s", flaw)
	}
	w.Definition = bare(w.Definition)
	return w, nil
}

// flaw says what is wrong with the work; empty if nothing is.
func (w Work) flaw() string {
	l := w.Limits
	switch {
	case !ValidID(w.ID):
		return "its id is none of an agent"
	case strings.TrimSpace(w.Task) == "":
		return "it has no task"
	case len(w.Task)+len(w.Context)+len(w.Definition.Prompt) > maxTask:
		return "it is too long"
	case len(longest(w.Definition.Name, w.Description, w.Model, w.Frame, w.Bundle, w.Digest)) > maxName:
		return "a name in it is too long"
	case strings.HasPrefix(w.Model, "-"):
		return "it names no model"
	case !w.Mode.Effective.Known():
		return "it has no permission mode"
	case len(w.Tools.Allowed)+len(w.Tools.Denied) > maxTools || !w.validTools():
		return "it names tools that there cannot be"
	case min(l.Start, l.Idle, l.Wall) < 0 || min(l.Tokens, l.Output, int64(l.SameCalls), int64(l.Stale), int64(l.Retries)) < 0 || l.CostUSD < 0:
		return "a limit is negative"
	case len(w.Schema) > 0 && !json.Valid(w.Schema):
		return "its schema is no JSON"
	}
	return ""
}

// longest returns the longest of the texts.
func longest(texts ...string) string {
	return slices.MaxFunc(texts, func(x, y string) int { return len(x) - len(y) })
}

func (w Work) validTools() bool {
	for _, tool := range slices.Concat(w.Tools.Allowed, w.Tools.Denied) {
		if !hosts.ValidTool(tool) {
			return false
		}
	}
	return true
}

// ValidID reports whether an agent may have an id: it becomes the name of a folder.
func ValidID(id string) bool {
	rest, is := strings.CutPrefix(id, "agent-")
	return is && rest != "" && len(rest) <= 40 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Narrowed returns the mode in which an agent works whose worker allows at most a mode.
func Narrowed(asked permission.Choice, most hosts.Mode) permission.Choice {
	asked.Grant = "" // what a person granted on one machine does not hold on another
	if asked.Effective.Exceeds(most) {
		asked.Effective, asked.CappedBy = most, "worker"
	}
	return asked
}

// A Report is how far an agent elsewhere is.
type Report struct {
	Machine  string             `json:"-"` // id of the machine that it runs on, as the hub says
	Progress supervise.Progress `json:"progress"`
	Mode     permission.Choice  `json:"mode"`                       // in which it works there
	Own      bool               `json:"own,omitempty"`              // it works by the worker's own definition, which says the same
	Digest   string             `json:"definitionDigest,omitempty"` // of the worker's definition of that name; empty: it has none
	Outcome  *supervise.Outcome `json:"outcome,omitempty"`          // once final
	Changes  []changes.Change   `json:"changes,omitempty"`
	Output   string             `json:"output,omitempty"` // name of the object that holds what its host printed; empty: there is none
	Patch    string             `json:"patch,omitempty"`  // name of the object that holds what it changed
	Ref      string             `json:"ref,omitempty"`    // of the project's remote, that holds the same as a commit
}

// maxChanges bounds how many changed files a report tells of.
const maxChanges = 10_000

// ReadReport returns the report in a document that may come from anybody.
func ReadReport(text []byte) (r Report, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, core.Invalidf("the report of the agent cannot be read: %v", err)
	}
	progress := supervise.Outcome{State: core.AgentCompleted, Progress: r.Progress}
	if !progress.Possible() || r.Outcome != nil && !r.Outcome.Possible() || len(r.Changes) > maxChanges {
		return Report{}, core.Invalidf("the report of the agent cannot be right")
	}
	return r, nil
}
