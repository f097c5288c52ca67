package core

// A Finding is one thing that `flame doctor` found.
type Finding struct {
	What   string `json:"what"`           // without a full stop
	Hint   string `json:"hint,omitempty"` // what to do about it; empty if there is nothing to do
	Broken bool   `json:"broken"`         // flame does not work, or not correctly, because of it; otherwise it is a note
	Mend   string `json:"mend,omitempty"` // what doctor --repair does about it; empty if it can do nothing
}

// Repaired is the result of repairing the store.
type Repaired struct {
	Copy   string   // path of the database as it was; empty if there was nothing to do
	Mended []string // in words
}
