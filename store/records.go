package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"flame/core"
	"flame/project"
)

// What is asked most.
const (
	dueDeadlines = `SELECT kind, subject, due, set_at FROM deadlines WHERE due <= ?1 AND (?2 = '' OR kind = ?2) AND kind <> ?3
		ORDER BY due, kind, subject` + atMost
	deadlineByKey = `SELECT due, set_at FROM deadlines WHERE kind = ? AND subject = ?`
	recordByID    = `SELECT value FROM records WHERE kind = ? AND id = ?`
	recordsByKind = `SELECT id, value FROM records WHERE kind = ? ORDER BY id`
)

// DueDeadlines returns those due at or before now, earliest first: only of one kind,
// but of another.
func (t *tx) DueDeadlines(now core.Millis, only, but string, limit int) ([]project.Deadline, error) {
	return collect(t.sql, func(rows *sql.Rows) (d project.Deadline, err error) {
		return d, rows.Scan(&d.Kind, &d.Subject, &d.Due, &d.Set)
	}, dueDeadlines, now, clean(only), clean(but), limitOf(limit))
}

// Deadline returns one; ok is false where it is not set.
func (t *tx) Deadline(kind, subject string) (d project.Deadline, ok bool, err error) {
	d.Kind, d.Subject = kind, subject
	ok, err = t.sql.get([]any{&d.Due, &d.Set}, deadlineByKey, clean(kind), clean(subject))
	return d, ok, err
}

var saveDeadline = upsert("deadlines", "kind, subject", "kind", "subject", "due", "set_at")

// SetDeadline adds a deadline, or moves it.
func (t *tx) SetDeadline(d project.Deadline) error {
	_, err := t.sql.exec(saveDeadline, clean(d.Kind), clean(d.Subject), d.Due, d.Set)
	return err
}

// ClearDeadline removes one; clearing none is no error.
func (t *tx) ClearDeadline(kind, subject string) error {
	_, err := t.sql.exec(`DELETE FROM deadlines WHERE kind = ? AND subject = ?`, clean(kind), clean(subject))
	return err
}

// Record decodes one into v and reports whether it exists.
func (t *tx) Record(kind, id string, v any) (bool, error) {
	var value []byte
	found, err := t.sql.get([]any{&value}, recordByID, clean(kind), clean(id))
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return true, fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	return true, nil
}

// Records calls f for each of a kind in order of id.
func (t *tx) Records(kind string, f func(id string, decode func(v any) error) error) error {
	type record struct {
		id    string
		value []byte
	}
	// All are read before f runs, so that f may use the transaction.
	list, err := collect(t.sql, func(rows *sql.Rows) (r record, err error) {
		return r, rows.Scan(&r.id, &r.value)
	}, recordsByKind, clean(kind))
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := f(r.id, func(v any) error { return json.Unmarshal(r.value, v) }); err != nil {
			return err
		}
	}
	return nil
}

var saveRecord = upsert("records", "kind, id", "kind", "id", "value")

// SaveRecord writes one.
func (t *tx) SaveRecord(kind, id string, v any) error {
	value, err := asJSON(v)
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	_, err = t.sql.exec(saveRecord, clean(kind), clean(id), value)
	return err
}

// DeleteRecord removes one; removing none is no error.
func (t *tx) DeleteRecord(kind, id string) error {
	_, err := t.sql.exec(`DELETE FROM records WHERE kind = ? AND id = ?`, clean(kind), clean(id))
	return err
}
