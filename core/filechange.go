package core

// ChangeKind says what became of a file.
type ChangeKind string

// What becomes of files.
const (
	FileAdded    ChangeKind = "added"
	FileModified ChangeKind = "modified"
	FileDeleted  ChangeKind = "deleted"
)

// A FileChange is what one call of a tool did to one file, as its host tells it.
type FileChange struct {
	Path    string     `json:"path"`           // as the host has it, mostly absolute
	From    string     `json:"from,omitempty"` // where it lay before the call moved it
	Kind    ChangeKind `json:"kind"`           //
	Added   int        `json:"added"`          // lines
	Removed int        `json:"removed"`        // lines
	// Patch has the hunks of a unified diff. One whose place in the file is not known
	// begins with "@@ @@".
	Patch   string `json:"patch,omitempty"`
	Cut     bool   `json:"cut,omitempty"`     // the patch was too long and lacks its end; the numbers of lines are exact all the same
	Inexact bool   `json:"inexact,omitempty"` // the host tells what was written, but not all that this took the place of
}

// Then returns what became of a file that k happened to and later became of.
func (k ChangeKind) Then(later ChangeKind) ChangeKind {
	switch {
	case k == FileAdded && later == FileModified:
		return FileAdded
	case k == FileDeleted && later == FileAdded:
		return FileModified
	}
	return later
}
