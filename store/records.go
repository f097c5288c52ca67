package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"flame/core"
	"flame/project"
	"flame/store/disk"
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
	dueDeadlines = later(func() string {
		return "SELECT " + deadlineTable.read("d") + ` FROM deadlines d WHERE d.due <= ?1 AND (?2 = '' OR d.kind = ?2) AND d.kind <> ?3
		ORDER BY d.due, d.kind, d.subject` + atMost
	})
	deadlineByKey = later(func() string {
		return "SELECT " + deadlineTable.read("d") + " FROM deadlines d WHERE d.kind = ? AND d.subject = ?"
	})
	saveDeadline = later(func() string { return deadlineTable.save() })
)

func (t *tx) DueDeadlines(now core.Millis, only, but string, limit int) ([]project.Deadline, error) {
	return collect(t.sql, deadlineTable.scan(), dueDeadlines(), now, clean(only), clean(but), limitOf(limit))
}

func (t *tx) Deadline(kind, subject string) (d project.Deadline, ok bool, err error) {
	list, err := collect(t.sql, deadlineTable.scan(), deadlineByKey(), clean(kind), clean(subject))
	return append(list, d)[0], len(list) > 0, err
}

func (t *tx) SetDeadline(d project.Deadline) error {
	values, err := deadlineTable.values(t.sql, &d)
	if err == nil {
		_, err = t.sql.exec(saveDeadline(), values...)
	}
	return err
}

func (t *tx) ClearDeadline(kind, subject string) error {
	_, err := t.sql.exec(`DELETE FROM deadlines WHERE kind = ? AND subject = ?`, clean(kind), clean(subject))
	return err
}

// A recordKey names a record.
type recordKey struct{ kind, id string }

// A keptRecord is a record that a transaction has read or written.
type keptRecord struct {
	value  string // JSON
	exists bool
}

// Record decodes a record into v and reports whether it exists. A transaction looks each
// record up once.
func (t *tx) Record(kind, id string, v any) (bool, error) {
	key := recordKey{clean(kind), clean(id)}
	kept, known := t.records[key]
	if !known {
		var err error
		if kept.exists, err = t.sql.get([]any{&kept.value}, recordByID, key.kind, key.id); err != nil {
			return false, err
		}
		t.records[key] = kept
	}
	if !kept.exists {
		return false, nil
	}
	if err := json.Unmarshal([]byte(kept.value), v); err != nil {
		return true, fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	return true, nil
}

func (t *tx) Records(kind string, which project.RecordQuery, f func(id string, decode func(v any) error) error) error {
	query, args := recordsByKind, []any{clean(kind), clean(which.Prefix), clean(which.Prefix) + string(unicode.MaxRune)}
	if which.IDs != nil {
		query, args = recordsByID, []any{clean(kind), jsonOf(cleaned(which.IDs))}
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

// recordsOf returns the SQL for the records of a kind by their parent. It contains the kind,
// because otherwise SQLite would not use an index for that kind.
func recordsOf(kind string) string {
	return `SELECT id FROM records WHERE kind = '` + strings.ReplaceAll(clean(kind), "'", "''") + `'
		AND iif(json_valid(value), json_extract(value, '$.parent'), NULL) = ? ORDER BY id`
}

func (t *tx) RecordsOf(kind, parent string) ([]string, error) {
	return collect(t.sql, scanID, recordsOf(kind), clean(parent))
}

const saveRecord = `INSERT INTO records (kind, id, value) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value`

// SaveRecord writes a record, unless the transaction knows that it already has this value.
func (t *tx) SaveRecord(kind, id string, v any) error {
	value, err := jsonText(v)
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	key, now := recordKey{clean(kind), clean(id)}, keptRecord{value, true}
	if t.records[key] == now {
		return nil
	}
	if _, err = t.sql.exec(saveRecord, key.kind, key.id, value); err == nil {
		t.records[key] = now
	}
	return err
}

func (t *tx) DeleteRecord(kind, id string) error {
	key := recordKey{clean(kind), clean(id)}
	if kept, known := t.records[key]; known && !kept.exists {
		return nil
	}
	_, err := t.sql.exec(`DELETE FROM records WHERE kind = ? AND id = ?`, key.kind, key.id)
	if err == nil {
		t.records[key] = keptRecord{}
	}
	return err
}

// sessionTable keeps sessions.
var sessionTable = table[core.Session]{"sessions", "key", []column[core.Session]{
	{"key", func(s *core.Session) any { return id{&s.ID} }},
	{"parent", func(s *core.Session) any { return id{&s.Parent} }},
	{"root", func(s *core.Session) any { return id{&s.Root} }},
	{"current", func(s *core.Session) any { return id{&s.Current} }},
	{"host", func(s *core.Session) any { return &s.Host }},
	{"title", func(s *core.Session) any { return &s.Title }},
	{"state", func(s *core.Session) any { return &s.State }},
	{"stamped", func(s *core.Session) any { return &s.Stamped }},
	{"tracked", func(s *core.Session) any { return &s.Tracked }},
	{"is_subagent", func(s *core.Session) any { return &s.IsSubagent }},
	{"is_completed", func(s *core.Session) any { return &s.IsCompleted }},
	{"skipped", func(s *core.Session) any { return &s.Skipped }},
	{"message_count", func(s *core.Session) any { return &s.MessageCount }},
	{"created_at", func(s *core.Session) any { return &s.CreatedAt }},
	{"last_activity_at", func(s *core.Session) any { return &s.LastActivityAt }},
}}

var (
	sessionColumns = later(func() string { return sessionTable.read("s") })
	saveSession    = later(func() string { return sessionTable.save() })
)

var sessionByID = later(func() string { return "SELECT " + sessionColumns() + " FROM sessions s WHERE s.key = " + keyOf })

func (t *tx) Session(id string) (core.Session, error) {
	list, err := collect(t.sql, sessionTable.scan(), sessionByID(), clean(id))
	return only(list, err, "session", id)
}

func (t *tx) FindSessions(q project.SessionQuery) ([]core.Session, error) {
	list := listSessions(q)
	return collect(t.sql, sessionTable.scan(), list.query(), list.args...)
}

// listSessions is the SQL of FindSessions.
func listSessions(q project.SessionQuery) *selection {
	list := selected("SELECT " + sessionColumns() + " FROM sessions s WHERE true")
	if q.Tracked {
		list.add(" AND s.tracked")
	}
	if q.Children {
		list.add(" AND (s.tracked OR s.parent IS NOT NULL AND s.root IS NOT NULL)")
	}
	if q.CompletedBefore != 0 {
		list.add(" AND s.is_completed AND s.last_activity_at < ?", q.CompletedBefore)
	}
	if q.Live {
		list.add(" AND s.state <> 'ended' AND s.parent IS NULL")
	}
	list.is("s.parent", q.Parent)
	list.is("s.current", q.Current)
	list.add(" ORDER BY s.last_activity_at DESC, s.key DESC"+atMost, limitOf(q.Limit))
	return list
}

func (t *tx) SaveSession(s core.Session) error {
	if s.ID == "" {
		return core.Invalidf("a session needs an id")
	}
	values, err := sessionTable.values(t.sql, &s)
	if err == nil {
		_, err = t.sql.exec(saveSession(), values...)
	}
	return err
}

func (t *tx) DeleteSession(id string) error {
	_, err := t.sql.exec(`DELETE FROM sessions WHERE key = `+keyOf, clean(id))
	return err
}
