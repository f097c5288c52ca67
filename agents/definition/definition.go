// Package definition reads the files in which people define agents, in the hosts' dialects. It
// knows their places, and which of several definitions of a name is effective. Other packages
// decide what an agent gets from its definition.
package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	"flame/core"
	"flame/hosts"
)

// A Definition says what an agent is for, its instructions, and its limits. Fields that it
// leaves open come from the call and from the caller.
type Definition struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Prompt      string    `json:"prompt"`              // its instructions
	Model       string    `json:"model,omitempty"`     // empty: the host's choice
	Effort      string    `json:"effort,omitempty"`    // empty: the host's choice
	Type        string    `json:"type,omitempty"`      // builder, tester, analyzer or retriever; empty: none of them
	Host        string    `json:"host,omitempty"`      // the host that runs it; empty: the caller's
	Isolation   Isolation `json:"isolation,omitempty"` // empty: not said

	Tools           *[]string  `json:"tools,omitempty"` // tools that it may use; nil: all of its caller's; empty: none; "*" means any
	DisallowedTools []string   `json:"disallowedTools,omitempty"`
	PermissionMode  hosts.Mode `json:"permissionMode,omitempty"` // empty: by Type and caller
	DelegateGrants  []string   `json:"delegateGrants,omitempty"` // tools that its children may have although it may not, if a person agrees

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

// The values of Isolation.
const (
	Worktree    Isolation = "worktree" // its own
	NoIsolation Isolation = "none"     // the folder that it was started for
)

// Values lists the values of Isolation.
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

// FromRepo reports whether the definition comes with the repository.
func (d Definition) FromRepo() bool { return d.Source.Kind == Project }

// Origin names the file of a shipped definition in the project's folder, and the definition
// that it replaces; it is empty for other definitions.
func (d Definition) Origin(project string) string {
	if !d.FromRepo() {
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

// A Dir is a folder that may hold definitions.
type Dir struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`             // User or Project
	Nested bool   `json:"nested,omitempty"` // subfolders count, and prefix the names of what they contain
	Within string `json:"within,omitempty"` // of a project's: the folder that no link may lead out of; empty: Path
}

// Dirs returns the folders to search, in ascending precedence, each once: the hosts', which may follow variables of their own, and
// flame's. Without a home or a project those folders are missing. A project
// that contains the home folder counts as the user's own.
func Dirs(known hosts.Registry, m hosts.Machine) []Dir {
	var dirs []Dir
	add := func(kind string, folders ...hosts.Folder) {
		for _, f := range folders {
			if !filepath.IsAbs(f.Path) {
				continue
			}
			dir := Dir{Path: f.Path, Kind: kind, Nested: f.Nested}
			if kind == Project && !holds(m.ProjectDir, m.Home) {
				dir.Within = m.ProjectDir
			} else {
				dir.Kind = User
			}
			dirs = slices.DeleteFunc(dirs, func(d Dir) bool { return d.Path == dir.Path })
			dirs = append(dirs, dir)
		}
	}
	add(User, known.Definitions(m, hosts.ScopeUser)...)
	add(User, hosts.Folder{Path: filepath.Join(m.ConfigHome(), "flame", "agents")})
	add(Project, known.Definitions(m, hosts.ScopeProject)...)
	add(Project, hosts.Folder{Path: filepath.Join(m.ProjectDir, ".flame", "agents")})
	return dirs
}

func holds(dir, folder string) bool {
	inside, err := filepath.Rel(dir, folder)
	return err == nil && filepath.IsLocal(inside)
}

// A Catalog is all definitions at one time.
type Catalog struct {
	Definitions []Definition // by name; of the same name, the effective one first
	Issues      []Issue      // in the order of the folders and files
	Dirs        []Dir        // that were searched
	broken      map[string]Issue
	doubtful    map[string]bool // names for which some file is broken, effective or not
}

// Available returns the usable definitions, by name.
func (c Catalog) Available() []Definition {
	var available []Definition
	for _, def := range c.Definitions {
		if def.ShadowedBy == "" && !def.Disabled {
			available = append(available, def)
		}
	}
	return available
}

// Find returns the definition with exactly this name. It never falls back: a
// file that is broken or disabled keeps a definition of lower precedence, which
// may be wider, from replacing it.
func (c Catalog) Find(name string) (Definition, error) {
	if finding, broken := c.broken[name]; broken {
		return Definition{}, core.Invalidf("the definition of agent %q is broken: %s", name, finding).
			WithHint("repair or remove that file; no other definition replaces it")
	}
	for _, def := range c.Definitions {
		if def.Name != name || def.ShadowedBy != "" {
			continue
		}
		if def.Disabled {
			return Definition{}, core.Invalidf("agent %q is disabled by %s", name, def.Source.File).
				WithHint("remove disable from that file, or use another agent: %s", c.names())
		}
		return def, nil
	}
	problem := core.NotFoundf("no agent found matching %q; available agents: %s; searched: %s", name, c.names(), c.searched())
	if near := c.nearest(name); near != "" {
		return Definition{}, problem.WithHint("did you mean %q? Names must match exactly", near)
	}
	return Definition{}, problem.WithHint("use one of the available agents, or write NAME.md into one of these folders")
}

// Role returns the tools of a host's own agent of this name, and whether they are known. Flame
// reads more folders than any single host, so the host may have taken another definition than
// the effective one here. The result therefore exceeds no definition of that name, and all of
// them must be readable.
func (c Catalog) Role(name string) (role hosts.ToolSet, known bool) {
	if _, err := c.Find(name); err != nil || c.doubtful[name] {
		return role, false
	}
	for _, def := range c.Definitions {
		if def.Name == name && def.Source.Kind != Builtin && !def.Disabled {
			role, known = role.Within(def.ToolSet()), true
		}
	}
	return role, known
}

// listed is how many names an error lists.
const listed = 60

func (c Catalog) names() core.List {
	var names []string
	for _, def := range c.Available() {
		if !def.Hidden {
			names = append(names, def.Name)
		}
	}
	if more := len(names) - listed; more > 0 {
		names = append(names[:listed], fmt.Sprintf("and %d more", more))
	}
	if names == nil {
		names = []string{"none"}
	}
	return names
}

func (c Catalog) searched() core.List {
	if len(c.Dirs) == 0 {
		return core.List{"no folder"}
	}
	paths := make([]string, len(c.Dirs))
	for i, dir := range c.Dirs {
		paths[i] = dir.Path
	}
	return paths
}

// nearest returns the name that differs from name in at most a third of its
// letters, or "".
func (c Catalog) nearest(name string) (near string) {
	least := max(2, len(name)/3) + 1
	for _, def := range c.Available() {
		// A name from a model may be of any length.
		if len(name) > len(def.Name)+least {
			continue
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(def.Name)); d < least {
			near, least = def.Name, d
		}
	}
	return near
}

// An Issue is something wrong with a definition's file or a folder.
type Issue struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`  // from 1; 0 if it concerns the whole
	Agent  string `json:"agent,omitempty"` // name of the definition, as far as it is known
	Reason string `json:"reason"`
	Fatal  bool   `json:"fatal"` // the file defines no agent
}

// maxPath bounds a path in a sentence, in characters.
const maxPath = 300

// String returns file, line and reason as compilers do, in one line.
func (f Issue) String() string {
	file := core.OneLine(f.File, maxPath)
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", file, f.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", file, f.Line, f.Reason)
}
