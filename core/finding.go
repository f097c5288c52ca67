package core

// A Finding is one thing that `flame doctor` found.
type Finding struct {
	What   string `json:"what"`           // without a full stop
	Hint   string `json:"hint,omitempty"` // what to do about it; empty if there is nothing to do
	Broken bool   `json:"broken"`         // flame does not work, or not rightly, as it is; otherwise it is a note
	Mend   string `json:"mend,omitempty"` // what doctor --repair does about it; empty where it can do nothing
}

// Repaired is what a repair of the store did.
type Repaired struct {
	Copy   string   // path of the database as it was; empty if there was nothing to do
	Mended []string // in words
}
