package definition

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"flame/core"
	"flame/hosts"
)

// A Dir is a folder that may hold definitions.
type Dir struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`             // User or Project
	Nested bool   `json:"nested,omitempty"` // subfolders count, and prefix the names of what they contain
	Within string `json:"within,omitempty"` // of a project's: the folder that no link may lead out of; empty: Path
}

// Dirs returns the folders to search, in ascending precedence (spec: agents
// §1.7), each once: the hosts', which may follow variables of their own, and
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
	add(User, known.Definitions(m, hosts.User)...)
	add(User, hosts.Folder{Path: filepath.Join(m.ConfigHome(), "flame", "agents")})
	add(Project, known.Definitions(m, hosts.Project)...)
	add(Project, hosts.Folder{Path: filepath.Join(m.ProjectDir, ".flame", "agents")})
	return dirs
}

// holds reports whether a folder is dir or inside it.
func holds(dir, folder string) bool {
	inside, err := filepath.Rel(dir, folder)
	return err == nil && filepath.IsLocal(inside)
}

// A Catalog is all definitions at one time.
type Catalog struct {
	Definitions []Definition // by name; of the same name, the effective one first
	Findings    []Flaw       // in the order of the folders and files
	Dirs        []Dir        // that were searched
	broken      map[string]Flaw
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

// Role returns the tools left to a host's own agent of this name, and whether
// that is known. Flame looks into more folders than any one host, so the
// effective definition here need not be the one that the host took: none of
// that name may be exceeded, and none may be unreadable.
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
