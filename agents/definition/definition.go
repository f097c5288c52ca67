// Package definition holds what an agent is: the files in which people describe
// agents, in the dialects of the hosts, where they are found, and which of a name
// holds. What an agent of a definition gets, it leaves to others.
package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/core"
	"flame/hosts"
)

// A Definition says what an agent is for, how it is told, and what it may use at
// most. What it leaves open comes from the call and from the caller.
type Definition struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Prompt      string    `json:"prompt"`              // its instructions
	Model       string    `json:"model,omitempty"`     // empty: the host's choice
	Effort      string    `json:"effort,omitempty"`    // empty: the host's choice
	Type        string    `json:"type,omitempty"`      // builder, tester, analyzer or retriever; empty: none of them
	Host        string    `json:"host,omitempty"`      // claude-code or opencode; empty: the caller's
	Isolation   Isolation `json:"isolation,omitempty"` // empty: not said

	Tools           *[]string  `json:"tools,omitempty"` // that it may use; nil: all that its caller may; empty: none; "*" stands for any
	DisallowedTools []string   `json:"disallowedTools,omitempty"`
	PermissionMode  hosts.Mode `json:"permissionMode,omitempty"` // empty: by Type and caller
	DelegateGrants  []string   `json:"delegateGrants,omitempty"` // tools that its children may have though it may not, if a person agrees (spec: agents §3)

	Background   *bool           `json:"background,omitempty"` // nil: as the call says
	MaxTurns     int             `json:"maxTurns,omitempty"`   // 0: no limit
	Timeout      time.Duration   `json:"timeoutNs,omitempty"`  // wall time; 0: the setting
	Retries      *int            `json:"retries,omitempty"`    // after transient errors; nil: the default
	MaxDepth     *int            `json:"maxDepth,omitempty"`   // of the tree below it; nil: the setting; 0: none
	MaxChildren  *int            `json:"maxChildren,omitempty"`
	BudgetTokens int64           `json:"budgetTokens,omitempty"` // 0: the setting
	BudgetUSD    float64         `json:"budgetUSD,omitempty"`    // 0: the setting
	Context      string          `json:"context,omitempty"`      // of its frame, in its prompt: none, goal, frame or full; empty: full
	ResultSchema json.RawMessage `json:"resultSchema,omitempty"` // JSON schema of its answer; nil: free text

	Hidden     bool                       `json:"hidden,omitempty"`   // not offered in lists
	Disabled   bool                       `json:"disabled,omitempty"` // switched off, along with those it shadows
	HostKeys   map[string]json.RawMessage `json:"hostKeys,omitempty"` // what only a host understands, to be handed on; objects keep their order
	Source     Source                     `json:"source"`
	ShadowedBy string                     `json:"shadowedBy,omitempty"` // file of the definition that holds in its place; empty: this one holds
	Replaces   *Source                    `json:"replaces,omitempty"`   // a project's: the built-in one or the user's own whose place it takes

	digest string // of what was written, where tools have a host's names since
}

// Digest is equal for definitions that say the same, wherever they stand and whatever
// host they were translated For.
func (d Definition) Digest() string {
	if d.digest != "" {
		return d.digest
	}
	d.Source, d.ShadowedBy, d.Replaces = Source{}, "", nil
	raw, err := json.Marshal(d)
	if err != nil {
		return "" // which fits none
	}
	// All of the sum: of half of it somebody could make two definitions that have the
	// same, and ask for leave with the tame one.
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// ToolSet returns the tools that the definition leaves an agent.
func (d Definition) ToolSet() hosts.ToolSet {
	return hosts.ToolSet{}.Only(d.Tools).Without(d.DisallowedTools...)
}

// Isolation reports whether an agent gets a git worktree of its own.
type Isolation string

// The ways.
const (
	Worktree    Isolation = "worktree" // its own
	NoIsolation Isolation = "none"     // the folder that it was started for
)

// Values lists the ways.
func (Isolation) Values() []string { return core.Words(Worktree, NoIsolation) }

// Parse reads a definition: Markdown with YAML front matter, in the dialect of
// Claude Code, OpenCode, Wave or flame. Where a finding is fatal, the definition
// may use no tools and is good for its name only.
//
// Whatever could widen what the agent may do, if it were passed over, is fatal: a
// value that cannot be read, a key twice, an unknown key about tools.
func Parse(file string, content []byte) (Definition, []Finding) {
	return parse(file, strings.TrimSuffix(filepath.Base(file), ".md"), content)
}

// parse is Parse with the name that holds where the file gives none.
func parse(file, name string, content []byte) (Definition, []Finding) {
	r := reader{file: file, def: Definition{Name: name, Source: Source{File: file}}}
	front, body, err := split(content)
	if err != nil {
		return r.refuse(err)
	}
	fields, sloppy, err := frontMatter(front)
	if err != nil {
		return r.refuse(err)
	}
	if sloppy > 0 {
		r.warn(sloppy, "description: is not valid YAML and was taken as it stands; quote it")
	}
	if body != "" {
		if prompt := field(fields, "prompt"); prompt != nil {
			r.warn(prompt.Line, "prompt: is not used, the text below the front matter is")
		}
	}
	r.read(fields)
	if body != "" {
		r.def.Prompt = body
	}
	return r.finish()
}

// Inline reads a definition that a call carries: the keys of a file as JSON, the
// instructions in "prompt". Nobody would see a warning, so all findings are
// errors.
func Inline(raw json.RawMessage) (Definition, error) {
	r := reader{def: Definition{Name: "inline"}}
	if len(raw) > largest {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call is larger than %d KB", largest>>10).
			WithHint("put what is long into a file and name that in the prompt")
	}
	fields, err := jsonFields(raw)
	if err != nil {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call: %v", err)
	}
	r.read(fields)
	def, findings := r.finish()
	if len(findings) > 0 {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call: %s", findings[0].Reason).
			WithHint("it takes the keys of an agent's file: description and prompt, then tools, model, permissionMode and others, and a map flame")
	}
	def.Source = Source{Kind: Call}
	return def, nil
}

// Permitted returns the tools that OpenCode's permissions leave one of its agents.
// What they ask a person about counts as denied, as an agent has nobody to ask;
// of permissions that cannot be read nothing is left.
func Permitted(permission string) Definition {
	var r reader
	fields, err := jsonFields(json.RawMessage(`{"permission":` + permission + `}`))
	if err != nil {
		return Definition{Tools: &[]string{}}
	}
	r.read(fields)
	r.limitTools()
	if slices.ContainsFunc(r.findings, isFatal) {
		return Definition{Tools: &[]string{}}
	}
	return r.def
}
