// Package definition holds what an agent is: the files in which people describe
// agents, in the hosts' dialects, where they are found, and which one of a name
// is effective. What an agent gets from its definition, it leaves to others.
package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"flame/core"
	"flame/hosts"
)

// A Definition says what an agent is for, its instructions, and its limits.
// What it leaves open comes from the call and from the caller.
type Definition struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Prompt      string    `json:"prompt"`              // its instructions
	Model       string    `json:"model,omitempty"`     // empty: the host's choice
	Effort      string    `json:"effort,omitempty"`    // empty: the host's choice
	Type        string    `json:"type,omitempty"`      // builder, tester, analyzer or retriever; empty: none of them
	Host        string    `json:"host,omitempty"`      // host that it runs in; empty: the caller's
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
	Context      string          `json:"context,omitempty"`      // how much of its frame's context its prompt has: none, goal, frame or full; empty: full
	ResultSchema json.RawMessage `json:"resultSchema,omitempty"` // JSON schema of its answer; nil: free text

	Hidden     bool                       `json:"hidden,omitempty"`   // not offered in lists
	Disabled   bool                       `json:"disabled,omitempty"` // switched off, along with those it shadows
	HostKeys   map[string]json.RawMessage `json:"hostKeys,omitempty"` // keys that only a host understands, to be passed on; objects keep their order
	Source     Source                     `json:"source"`
	ShadowedBy string                     `json:"shadowedBy,omitempty"` // file of the definition that replaces it; empty: this one is effective
	Replaces   *Source                    `json:"replaces,omitempty"`   // a project's: the built-in or user's definition that it replaces

	digest string // of the original text, from before tools were translated for a host
}

// Digest is equal for definitions that say the same, wherever they are and
// whatever host they were translated For.
func (d Definition) Digest() string {
	if d.digest != "" {
		return d.digest
	}
	d.Source, d.ShadowedBy, d.Replaces = Source{}, "", nil
	raw, err := json.Marshal(d)
	if err != nil {
		return "" // which matches nothing
	}
	// Use the whole sum: with half of it somebody could make two definitions
	// with the same digest, and request permission with the tame one.
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// ToolSet returns the tools that the definition leaves an agent.
func (d Definition) ToolSet() hosts.ToolSet {
	return hosts.ToolSet{}.Only(d.Tools).Without(d.DisallowedTools...)
}

// Isolation says whether an agent gets its own git worktree.
type Isolation string

// The ways.
const (
	Worktree    Isolation = "worktree" // its own
	NoIsolation Isolation = "none"     // the folder that it was started for
)

// Values lists the ways.
func (Isolation) Values() []string { return core.Words(Worktree, NoIsolation) }

// A Source is where a definition comes from.
type Source struct {
	Kind string `json:"kind"`           // Builtin, User, Project or Call
	File string `json:"file,omitempty"` // empty for built-in ones and those of a call
}

// String names the source for people.
func (s Source) String() string { return cmp.Or(s.File, s.Kind) }

// Where definitions come from, from the lowest precedence to the highest.
const (
	Builtin = "builtin" // flame itself
	User    = "user"    // a folder for all projects of this user
	Project = "project" // a folder of this project
	Call    = "call"    // written into the call
	Machine = "machine" // another machine, which asked for the agent
)

// Shipped reports whether the definition comes with the repository.
func (d Definition) Shipped() bool { return d.Source.Kind == Project }

// Origin says which file of the project's folder a shipped definition is, and
// what it replaces; it is empty for others.
func (d Definition) Origin(project string) string {
	if !d.Shipped() {
		return ""
	}
	text := fmt.Sprintf("%s is this project's %s", d.Name, d.File(project))
	switch {
	case d.Replaces == nil:
		return text
	case d.Replaces.Kind == Builtin:
		return text + ", not the built-in one"
	}
	return text + ", not your own " + core.OneLine(d.Replaces.File, maxPath)
}

// File returns the definition's path relative to a folder.
func (d Definition) File(from string) string {
	file, err := filepath.Rel(from, d.Source.File)
	if err != nil || !filepath.IsLocal(file) {
		file = d.Source.File
	}
	return core.OneLine(file, maxPath)
}
