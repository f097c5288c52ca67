package briefing

import (
	"errors"

	"flame/project"
)

// RecordInserted, by session, is what flame adds to its conversation that is not in its
// host's history.
const RecordInserted project.Kind[Inserted] = "inserted"

// An Insert is text that accompanies a message of the user's whenever that is sent to
// the model.
type Insert struct {
	Message string `json:"message"` // the host's id of it
	Text    string `json:"text"`
}

// Inserted is the record of a session's inserts.
type Inserted struct {
	Prompt  string   `json:"prompt"`            // id of the last message of the user's that was decided on
	Summary string   `json:"summary,omitempty"` // id of the compaction after which the context was last inserted
	Inserts []Insert `json:"inserts,omitempty"` // oldest first
}

// Forget drops the inserts and notices of a session.
func Forget(tx project.Tx, session string) error {
	return errors.Join(RecordInserted.Delete(tx, session), recordNotice.Delete(tx, session))
}
