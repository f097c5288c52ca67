package definition

import (
	"cmp"
	"fmt"
	"path/filepath"

	"flame/core"
)

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
)

// Shipped reports whether the definition comes with the repository.
func (d Definition) Shipped() bool { return d.Source.Kind == Project }

// Origin says which file of the project's folder a shipped definition is, and whose
// place it takes; empty for others.
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

// File is where the definition stands, as seen from a folder.
func (d Definition) File(from string) string {
	file, err := filepath.Rel(from, d.Source.File)
	if err != nil || !filepath.IsLocal(file) {
		file = d.Source.File
	}
	return core.OneLine(file, maxPath)
}
