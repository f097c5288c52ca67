package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"flame/core"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// The most frequent queries on records.
const (
	recordByID    = `SELECT value FROM records WHERE kind = ? AND id = ?`
	recordsByKind = `SELECT id, value FROM records WHERE kind = ? AND id >= ? AND id < ? ORDER BY id`
	recordsByID   = `SELECT id, value FROM records WHERE kind = ? AND id IN (SELECT value FROM json_each(?)) ORDER BY id`
)

// deadlineTable keeps deadlines.
var deadlineTable = table[project.Deadline]{"deadlines", "kind, subject", []column[project.Deadline]{
	{"kind", func(d *project.Deadline) any { return &d.Kind }},
	{"subject", func(d *project.Deadline) any { return &d.Subject }},
	{"due", func(d *project.Deadline) any { return &d.Due }},
	{"set_at", func(d *project.Deadline) any { return &d.Set }},
}}

var (
	dueDeadlines = form.Later(func() string {
		return "SELECT " + deadlineTable.read("d") + ` FROM deadlines d WHERE d.due <= ?1 AND (?2 = '' OR d.kind = ?2) AND d.kind <> ?3
		ORDER BY d.due, d.kind, d.subject` + form.AtMost
	})
	deadlineByKey = form.Later(func() string {
		return "SELECT " + deadlineTable.read("d") + " FROM deadlines d WHERE d.kind = ? AND d.subject = ?"
	})
	saveDeadline = form.Later(func() string { return deadlineTable.save() })
)

// DueDeadlines returns the deadlines due at or before now, earliest first: only
// of kind only if given, and not of kind but.
func (t *tx) DueDeadlines(now core.Millis, only, but string, limit int) ([]project.Deadline, error) {
	return collect(t.sql, deadlineTable.scan(), dueDeadlines(), now, form.Clean(only), form.Clean(but), form.LimitOf(limit))
}

// Deadline returns a deadline; ok is false if it is not set.
func (t *tx) Deadline(kind, subject string) (d project.Deadline, ok bool, err error) {
	list, err := collect(t.sql, deadlineTable.scan(), deadlineByKey(), form.Clean(kind), form.Clean(subject))
	if err != nil || len(list) == 0 {
		return d, false, err
	}
	return list[0], true, nil
}

// SetDeadline adds a deadline, or moves it.
func (t *tx) SetDeadline(d project.Deadline) error {
	values, err := deadlineTable.values(t.sql, &d)
	if err == nil {
		_, err = t.sql.exec(saveDeadline(), values...)
	}
	return err
}

// ClearDeadline removes a deadline; a missing one is not an error.
func (t *tx) ClearDeadline(kind, subject string) error {
	_, err := t.sql.exec(`DELETE FROM deadlines WHERE kind = ? AND subject = ?`, form.Clean(kind), form.Clean(subject))
	return err
}

// Record decodes a record into v and reports whether it exists.
func (t *tx) Record(kind, id string, v any) (bool, error) {
	var value []byte
	found, err := t.sql.get([]any{&value}, recordByID, form.Clean(kind), form.Clean(id))
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return true, fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	return true, nil
}

// Records calls f for each of these records of a kind, in order of id.
func (t *tx) Records(kind string, which project.Which, f func(id string, decode func(v any) error) error) error {
	query, args := recordsByKind, []any{form.Clean(kind), form.Clean(which.Prefix), form.Clean(which.Prefix) + string(unicode.MaxRune)}
	if which.IDs != nil {
		query, args = recordsByID, []any{form.Clean(kind), form.JSONOf(form.Cleaned(which.IDs))}
	}
	type record struct {
		id    string
		value []byte
	}
	// All are read before f runs, so that f may use the transaction.
	list, err := collect(t.sql, func(rows *disk.Rows) (r record, err error) {
		return r, rows.Scan(&r.id, &r.value)
	}, query, args...)
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

// recordsOf returns the SQL for the records of a kind by their parent. It
// contains the kind, since an index limited to that kind would not be used
// otherwise.
func recordsOf(kind string) string {
	return `SELECT id FROM records WHERE kind = '` + strings.ReplaceAll(form.Clean(kind), "'", "''") + `'
		AND iif(json_valid(value), json_extract(value, '$.parent'), NULL) = ? ORDER BY id`
}

// RecordsOf returns the ids of the records of a kind whose field parent is
// this.
func (t *tx) RecordsOf(kind, parent string) ([]string, error) {
	return collect(t.sql, scanID, recordsOf(kind), form.Clean(parent))
}

const saveRecord = `INSERT INTO records (kind, id, value) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value`

// SaveRecord writes a record.
func (t *tx) SaveRecord(kind, id string, v any) error {
	value, err := form.JSON(v)
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	_, err = t.sql.exec(saveRecord, form.Clean(kind), form.Clean(id), value)
	return err
}

// DeleteRecord removes a record; a missing one is not an error.
func (t *tx) DeleteRecord(kind, id string) error {
	_, err := t.sql.exec(`DELETE FROM records WHERE kind = ? AND id = ?`, form.Clean(kind), form.Clean(id))
	return err
}
