package hosts

import (
	"slices"

	"github.com/samber/lo"
)

// A Key is a key of agent definitions that only its host understands.
type Key struct {
	Name     string
	Passed   bool // Launch passes it on
	Commands bool // it makes the host run commands, or may: it is passed on only from the user's own definitions
}

// Key returns the key of a name, or the zero value if the host has no such key.
func (h Host) Key(name string) Key {
	key, _ := lo.Find(h.Keys, func(k Key) bool { return k.Name == name })
	return key
}

// A Folder is a folder in which a host looks for definitions of agents.
type Folder struct {
	Path   string // absolute; otherwise the folder is ignored
	Scope  Scope
	Nested bool // subfolders count, and name what they contain
}

// Understands reports whether some host understands a key of definitions.
func (r Registry) Understands(key string) bool {
	return slices.ContainsFunc(r, func(h Host) bool { return h.Key(key).Name != "" })
}

// Applies returns the host that has a permission not tied to a tool, and
// whether there is one.
func (r Registry) Applies(permission string) (Host, bool) {
	return lo.Find(r, func(h Host) bool { return slices.Contains(h.Rules, permission) })
}

// Sharing returns the tools that a permission covers: in some hosts those that
// change files share one.
func (r Registry) Sharing(permission string) []string {
	for _, h := range r {
		if h.Shared && slices.Contains(h.Tools.Names(Edits), permission) {
			return h.Tools.Current().Names(Edits)
		}
	}
	return []string{permission}
}

// Definitions returns where the hosts look for definitions of a scope, in
// ascending precedence.
func (r Registry) Definitions(m Machine, scope Scope) (folders []Folder) {
	for _, h := range r {
		if h.Definitions != nil {
			folders = append(folders, lo.Filter(h.Definitions(m), func(f Folder, _ int) bool { return f.Scope == scope })...)
		}
	}
	return folders
}
