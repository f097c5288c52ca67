package store

import (
	"flame/core"
	"flame/store/disk"
	"flame/store/form"
)

// Every write of a frame raises the revision and stamps the frame with it, so that an
// index leads to what was written since. Flames older than the stamps go on writing the
// same file: they raise the revision and leave the stamps, and repairs do too. What they
// wrote cannot be told from the rest, so that whoever asks for changes gets all frames.

// raiseRevision raises the revision to that with which frames are then written. It
// changes one row by its key, as a statement that may change several would have FTS5
// write out its index.
func (s *statements) raiseRevision() error {
	_, err := s.exec(`UPDATE meta SET value = value + 1, stamped = value + 1,
		unstamped = iif(value = stamped, unstamped, value) WHERE name = 'revision'`)
	return err
}

// raiseUnstamped raises the revision for frames that are written without it.
func (s *statements) raiseUnstamped() error {
	_, err := s.exec(`UPDATE meta SET value = value + 1 WHERE name = 'revision'`)
	return err
}

// stamp is the column of a frame for the revision at which it is written.
var stamp = own{"revision", "(SELECT value FROM meta WHERE name = 'revision')"}

const revision = `SELECT value,
	coalesce((SELECT updated_at FROM frames ORDER BY updated_at DESC LIMIT 1), 0)
	FROM meta WHERE name = 'revision'`

// Revision returns a number that every Update that wrote a frame raises, and the
// newest UpdatedAt of any frame.
func (t *tx) Revision() (number int64, newest core.Millis, err error) {
	_, err = t.sql.get([]any{&number, &newest}, revision)
	return number, newest, err
}

// sketchTable has the columns of a frame that stand before its longer texts in a row, so
// that reading them leaves alone the further pages of a long row.
var sketchTable = table[core.Frame]{frameTable.name, frameTable.key, frameTable.but(
	"planned_children", "success_criteria", "artifacts", "decisions", "summary", "results")}

// What Changed reads: all frames, or those written after a revision. Stamps are the last
// in a row, but it is their index that knows them.
var (
	allSketches     = form.Later(func() string { return "SELECT " + sketchTable.read("f") + " FROM frames f NOT INDEXED" })
	changedSketches = form.Later(func() string {
		return "SELECT " + sketchTable.read("f") + " FROM frames f INDEXED BY frames_revision WHERE f.revision > ?"
	})
)

// unstamped reads the revision, and the last one that was raised by one who leaves no stamps.
const unstamped = `SELECT value, iif(value = stamped, unstamped, value) FROM meta WHERE name = 'revision'`

// Changed returns the frames that were written after a revision, in any order and
// without their longer texts.
func (t *tx) Changed(after int64) ([]core.Frame, error) {
	query, args := allSketches(), []any(nil)
	if after > 0 && !t.older {
		var now, unknown int64
		if _, err := t.sql.get([]any{&now, &unknown}, unstamped); err != nil {
			return nil, err
		}
		if unknown <= after && after <= now {
			query, args = changedSketches(), []any{after}
		}
	}
	frames, err := collect(t.sql, sketchTable.scan(), query, args...)
	if err != nil {
		return nil, err
	}
	return frames, void(t, frames)
}

// frameIDs reads no row of a frame: an index has all keys.
const frameIDs = "SELECT i.id FROM frames f INDEXED BY frames_created CROSS JOIN ids i ON i.key = f.key"

// FrameIDs returns the ids of all frames, in any order.
func (t *tx) FrameIDs() ([]string, error) {
	return collect(t.sql, func(rows *disk.Rows) (id string, err error) { return id, rows.Scan(&id) }, frameIDs)
}
