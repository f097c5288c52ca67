package briefing

import (
	"errors"
	"flame/project"
)

// RecordInserted, by session, is what stands in its conversation by flame's doing
// but not in its host's history.
const RecordInserted project.Kind[Inserted] = "inserted"

// An Insert is text that belongs to a message of the user's, wherever that is
// sent to the model.
type Insert struct {
	Message string `json:"message"` // the host's id of it
	Text    string `json:"text"`
}

// Inserted is the record of a session's inserts.
type Inserted struct {
	Prompt  string   `json:"prompt"`            // message of the user's that was last decided on
	Summary string   `json:"summary,omitempty"` // compaction that the context was last given after
	Inserts []Insert `json:"inserts,omitempty"` // oldest first
}

// Forget drops what was kept of what a session's agent was told, or still is
// to be told.
func Forget(tx project.Tx, session string) error {
	return errors.Join(RecordInserted.Delete(tx, session), recordNotice.Delete(tx, session))
}
