package record

import (
	"encoding/json"
	"slices"
	"strings"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// Work and reports come from other machines, so flame does not trust them: it checks what it
// reads, and a worker narrows the work to what it allows.

// TaskVersion is the version of the documents with work and reports. A machine can read older
// versions.
const TaskVersion = 1

// Task is the task of an agent elsewhere. It contains no path, variable or key of the asking
// machine.
type Task struct {
	V           int                   `json:"v"`
	ID          string                `json:"id"` // subagent_id
	Frame       string                `json:"frame"`
	Host        string                `json:"host"`
	Description string                `json:"description"`
	Definition  definition.Definition `json:"definition"`
	Digest      string                `json:"digest"` // of the definition, as it was when the agent was asked for
	Task        string                `json:"task"`
	Context     string                `json:"context,omitempty"`
	Mode        ModeChoice            `json:"mode"` // its mode on the asking machine
	Tools       hosts.ToolSet         `json:"tools"`
	Model       string                `json:"model,omitempty"`
	Schema      json.RawMessage       `json:"schema,omitempty"`
	Limits      supervise.Limits      `json:"limits"`
	Base        *changes.Base         `json:"base,omitempty"` // the state that it begins from; nil: it begins in an empty folder
}

// WorkOf returns the work of an agent to send to a worker.
func WorkOf(run Agent, told Assignment, def definition.Definition) Task {
	def = bare(def)
	return Task{
		V: TaskVersion, ID: run.ID, Frame: run.Frame, Host: run.Host, Description: run.Description,
		Definition: def, Digest: run.Digest, Task: told.Task, Context: told.Context,
		Mode: run.Mode, Tools: run.Tools, Model: run.Model, Schema: run.Schema, Limits: run.Limits,
	}
}

// bare returns a definition without paths of its machine and without the keys of hosts, which
// may run commands. The result is trusted no more than another machine.
func bare(def definition.Definition) definition.Definition {
	def.Source, def.Replaces, def.ShadowedBy, def.HostKeys = definition.Source{Kind: definition.Machine}, nil, "", nil
	return def
}

// The limits of the work that a worker accepts, in bytes and characters.
const (
	maxTask     = 400_000
	maxWorkName = 200
	maxTools    = 1_000
)

// ReadWork reads an untrusted document with work, and returns an error that says what is wrong
// with it.
func ReadWork(text []byte) (w Task, err error) {
	var version struct{ V int }
	if err := json.Unmarshal(text, &version); err != nil {
		return w, core.Invalidf("what is to be done cannot be read: %v", err)
	}
	if version.V > TaskVersion {
		return w, core.Invalidf("a newer version of flame asked for this agent").WithHint("use the same version of flame on all machines")
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, core.Invalidf("what is to be done cannot be read: %v", err)
	}
	if flaw := w.flaw(); flaw != "" {
		return Task{}, core.Invalidf("what is to be done cannot be right: %s", flaw)
	}
	w.Definition = bare(w.Definition)
	return w, nil
}

// flaw says what is wrong with the work; it is empty if nothing is wrong.
func (w Task) flaw() string {
	l := w.Limits
	switch {
	case !ValidID(w.ID):
		return "its id is not the id of an agent"
	case strings.TrimSpace(w.Task) == "":
		return "it has no task"
	case len(w.Task)+len(w.Context)+len(w.Definition.Prompt) > maxTask:
		return "it is too long"
	case max(len(w.Definition.Name), len(w.Description), len(w.Model), len(w.Frame), len(w.Digest)) > maxWorkName:
		return "a name in it is too long"
	case strings.HasPrefix(w.Model, "-"):
		return "it names no model"
	case !w.Mode.Effective.Known():
		return "it has no permission mode"
	case len(w.Tools.Allowed)+len(w.Tools.Denied) > maxTools ||
		slices.ContainsFunc(slices.Concat(w.Tools.Allowed, w.Tools.Denied), func(tool string) bool { return !hosts.ValidTool(tool) }):
		return "it names tools that there cannot be"
	case min(l.Start, l.Idle, l.Wall) < 0 || min(l.Tokens, l.Output, int64(l.SameCalls), int64(l.Stale), int64(l.Retries)) < 0 || l.CostUSD < 0:
		return "a limit is negative"
	case len(w.Schema) > 0 && !json.Valid(w.Schema):
		return "its schema is no JSON"
	}
	return ""
}

// ValidID reports whether an id is valid for an agent. The id becomes the name of a folder.
func ValidID(id string) bool { return ids().MatchString(id) }

var ids = core.Pattern(`^agent-[a-z0-9]{1,40}\z`)

// CapMode returns the mode of an agent whose worker allows at most the given mode.
func CapMode(asked ModeChoice, most hosts.Mode) ModeChoice {
	asked.Grant = "" // a grant on one machine does not hold on another
	if asked.Effective.Exceeds(most) {
		asked.Effective, asked.CappedBy = most, "worker"
	}
	return asked
}

// A Report is the progress of an agent elsewhere, and at last its outcome.
type Report struct {
	Machine  string             `json:"-"` // id of the machine that runs it, according to the hub
	Progress supervise.Progress `json:"progress"`
	Mode     ModeChoice         `json:"mode"`              // its mode there
	Outcome  *supervise.Outcome `json:"outcome,omitempty"` // once final
	Changes  []changes.Change   `json:"changes,omitempty"`
	Unread   string             `json:"unread,omitempty"` // why Changes lacks some, and where these are
	Output   string             `json:"output,omitempty"` // name of the object with the output of its host; empty if there is none
	Patch    string             `json:"patch,omitempty"`  // name of the object with its changes
}

// maxChanges is how many changed files a report may list.
const maxChanges = 10_000

// ReadReport reads an untrusted document with a report.
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
