package hosts

import (
	"slices"

	"github.com/samber/lo"
)

// A Key is one of definitions of agents that only its host understands.
type Key struct {
	Name     string
	Passed   bool // Launch hands it on
	Commands bool // it has the host run commands, or may: it is passed on from the user's own definitions only
}

// Key returns the key of a name; the zero value where the host has none of it.
func (h Host) Key(name string) Key {
	key, _ := lo.Find(h.Keys, func(k Key) bool { return k.Name == name })
	return key
}

// A Folder is one in which a host looks for definitions of agents.
type Folder struct {
	Path   string // absolute, or it is none
	Scope  Scope
	Nested bool // subfolders count, and name what is in them
}

// Understands reports whether a key of definitions is one that some host understands.
func (r Registry) Understands(key string) bool {
	return slices.ContainsFunc(r, func(h Host) bool { return h.Key(key).Name != "" })
}

// Applies returns the host that has a permission which is about no tool, and whether
// there is one.
func (r Registry) Applies(permission string) (Host, bool) {
	return lo.Find(r, func(h Host) bool { return slices.Contains(h.Rules, permission) })
}

// Sharing returns the tools that a permission is about: those that change files share
// one in some hosts.
func (r Registry) Sharing(permission string) []string {
	for _, h := range r {
		if h.Shared && slices.Contains(h.Tools.Names(Edits), permission) {
			return h.Tools.Current().Names(Edits)
		}
	}
	return []string{permission}
}

// Definitions returns where the hosts look for definitions of a scope, from the lowest
// precedence to the highest.
func (r Registry) Definitions(m Machine, scope Scope) (folders []Folder) {
	for _, h := range r {
		if h.Definitions != nil {
			folders = append(folders, lo.Filter(h.Definitions(m), func(f Folder, _ int) bool { return f.Scope == scope })...)
		}
	}
	return folders
}
