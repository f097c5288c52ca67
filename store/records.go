package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// deadlineTable keeps deadlines.
var deadlineTable = table[project.Deadline]{"deadlines", "kind, subject", []column[project.Deadline]{
	{name: "kind", field: func(d *project.Deadline) any { return &d.Kind }},
	{name: "subject", field: func(d *project.Deadline) any { return &d.Subject }},
	{name: "due", field: func(d *project.Deadline) any { return &d.Due }},
	{name: "set_at", field: func(d *project.Deadline) any { return &d.Set }},
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

// tables are the tables of the kinds of records that are found by more than their ids. All others
// are in the table records.
var tables = map[string]string{
	"agent": "agents", "handoff": "handoffs", "convergence": "convergences", "agent_grant": "grants", "spawn": "spawns",
}

// recordsOf returns the SQL for the records of a kind, which is its first parameter.
func recordsOf(kind string) string {
	if table, own := tables[kind]; own {
		return table + " WHERE true"
	}
	return "records WHERE kind = ?1"
}

// The queries on records.
func recordByID(kind string) string { return "SELECT value FROM " + recordsOf(kind) + " AND id = ?2" }

func recordsByColumn(kind, part, column string) string {
	return partOf(part) + recordsOf(kind) + " AND " + column + " BETWEEN ?2 AND ?3 ORDER BY " + column
}

func recordsByID(kind, part string) string {
	return partOf(part) + recordsOf(kind) + " AND id IN (SELECT value FROM json_each(?2)) ORDER BY id"
}

// partOf begins a query for records, or for a part of each; null where a record lacks it.
func partOf(part string) string {
	if part == "" {
		return "SELECT id, value FROM "
	}
	return "SELECT id, value -> '" + part + "' FROM "
}

// A recordKey names a record.
type recordKey struct{ kind, id string }

// A record is one that a transaction has read or written. Its parts are written together, before
// the next query on several records and at the end of the transaction.
type record struct {
	value  string // JSON, as it is in the database
	exists bool
	parts  map[string]json.RawMessage // of value and later changes; nil until one of them is needed
}

// keyOfRecord returns the key of a record and the part of it that kind names; empty if that is all of it.
func keyOfRecord(kind, id string) (key recordKey, part string) {
	key.id = clean(id)
	key.kind, part, _ = strings.Cut(clean(kind), ".")
	return key, part
}

// record returns a record, which a transaction looks up once.
func (t *tx) record(key recordKey) (*record, error) {
	if r, known := t.records[key]; known {
		return r, nil
	}
	r := &record{}
	var err error
	if r.exists, err = t.sql.get([]any{&r.value}, recordByID(key.kind), key.kind, key.id); err == nil {
		t.records[key] = r
	}
	return r, err
}

// partsOf returns the parts of a record, to be read or changed.
func (t *tx) partsOf(key recordKey) (map[string]json.RawMessage, error) {
	r, err := t.record(key)
	if err != nil || r.parts != nil {
		return r.parts, err
	}
	var parts map[string]json.RawMessage
	if r.exists {
		if err := json.Unmarshal([]byte(r.value), &parts); err != nil {
			return nil, fmt.Errorf("record %s %s: %w", key.kind, key.id, err)
		}
	}
	if parts == nil { // a null has none either
		parts = map[string]json.RawMessage{}
	}
	r.parts = parts
	return parts, nil
}

// Record decodes a record, or a part of one, into v and reports whether it exists.
func (t *tx) Record(kind, id string, v any) (exists bool, err error) {
	key, part := keyOfRecord(kind, id)
	var value []byte
	if part == "" {
		if t.changed[key] {
			if err := t.writeParts(); err != nil {
				return false, err
			}
		}
		r, err := t.record(key)
		if err != nil {
			return false, err
		}
		value, exists = []byte(r.value), r.exists
	} else {
		parts, err := t.partsOf(key)
		if err != nil {
			return false, err
		}
		value, exists = parts[part]
	}
	if exists {
		if err = json.Unmarshal(value, v); err != nil {
			err = fmt.Errorf("record %s %s: %w", kind, id, err)
		}
	}
	return exists, err
}

func (t *tx) Records(kind string, which project.RecordQuery, f func(id string, decode func(v any) error) error) error {
	if err := t.writeParts(); err != nil {
		return err
	}
	of, part := keyOfRecord(kind, "")
	var query string
	var args []any
	switch {
	case which.IDs != nil:
		query, args = recordsByID(of.kind, part), []any{of.kind, jsonOf(cleaned(which.IDs))}
	case which.Column != "":
		query, args = recordsByColumn(of.kind, part, which.Column), []any{of.kind, which.From, which.To}
	default:
		query = recordsByColumn(of.kind, part, "id")
		args = []any{of.kind, clean(which.Prefix), clean(which.Prefix) + string(unicode.MaxRune)}
	}
	type row struct {
		id    string
		value []byte
	}
	// All are read before f runs, so that f may use the transaction.
	list, err := collect(t.sql, func(rows *disk.Rows) (r row, err error) {
		return r, rows.Scan(&r.id, &r.value)
	}, query, args...)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.value == nil {
			continue
		}
		if err := f(r.id, func(v any) error { return json.Unmarshal(r.value, v) }); err != nil {
			return err
		}
	}
	return nil
}

// SaveRecord writes a record, unless the transaction knows that it already has this value.
func (t *tx) SaveRecord(kind, id string, v any) error {
	value, err := jsonText(v)
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	key, part := keyOfRecord(kind, id)
	if part == "" {
		return t.write(key, value)
	}
	parts, err := t.partsOf(key)
	if err == nil {
		parts[part] = json.RawMessage(value)
		t.changed[key] = true
	}
	return err
}

// write writes a whole record.
func (t *tx) write(key recordKey, value string) error {
	if r := t.records[key]; r != nil && r.exists && r.value == value {
		return nil
	}
	insert := "records (kind, id, value) VALUES (?1, ?2, ?3) ON CONFLICT (kind, id)"
	if table, own := tables[key.kind]; own {
		insert = table + " (id, value) VALUES (?2, ?3) ON CONFLICT (id)"
	}
	_, err := t.sql.exec("INSERT INTO "+insert+" DO UPDATE SET value = excluded.value", key.kind, key.id, value)
	if err == nil {
		t.records[key] = &record{value: value, exists: true}
	}
	return err
}

func (t *tx) DeleteRecord(kind, id string) error {
	key, part := keyOfRecord(kind, id)
	if part != "" {
		parts, err := t.partsOf(key)
		if _, exists := parts[part]; exists {
			delete(parts, part)
			t.changed[key] = true
		}
		return err
	}
	if r := t.records[key]; r != nil && !r.exists && r.parts == nil {
		return nil
	}
	_, err := t.sql.exec("DELETE FROM "+recordsOf(key.kind)+" AND id = ?2", key.kind, key.id)
	if err == nil {
		t.records[key] = &record{}
		delete(t.changed, key)
	}
	return err
}

// writeParts writes the records of which parts were changed. One without parts goes.
func (t *tx) writeParts() error {
	if len(t.changed) == 0 {
		return nil
	}
	inOrder := func(a, b recordKey) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) }
	for _, key := range slices.SortedFunc(maps.Keys(t.changed), inOrder) {
		parts, err := t.partsOf(key)
		var value string
		if err == nil {
			value, err = jsonText(parts)
		}
		switch {
		case err != nil:
		case len(parts) == 0:
			err = t.DeleteRecord(key.kind, key.id)
		default:
			err = t.write(key, value)
		}
		if err != nil {
			return err
		}
		t.records[key].parts = parts
	}
	clear(t.changed)
	return nil
}

// sessionTable keeps sessions.
var sessionTable = table[core.Session]{"sessions", "key", []column[core.Session]{
	{name: "key", field: func(s *core.Session) any { return id{&s.ID} }},
	{name: "parent", field: func(s *core.Session) any { return id{&s.Parent} }},
	{name: "root", field: func(s *core.Session) any { return id{&s.Root} }},
	{name: "current", field: func(s *core.Session) any { return id{&s.Current} }},
	{name: "host", field: func(s *core.Session) any { return &s.Host }},
	{name: "title", field: func(s *core.Session) any { return &s.Title }},
	{name: "state", field: func(s *core.Session) any { return &s.State }},
	{name: "stamped", field: func(s *core.Session) any { return &s.Stamped }},
	{name: "tracked", field: func(s *core.Session) any { return &s.Tracked }},
	{name: "is_subagent", field: func(s *core.Session) any { return &s.IsSubagent }},
	{name: "is_completed", field: func(s *core.Session) any { return &s.IsCompleted }},
	{name: "skipped", field: func(s *core.Session) any { return &s.Skipped }},
	{name: "message_count", field: func(s *core.Session) any { return &s.MessageCount }},
	{name: "created_at", field: func(s *core.Session) any { return &s.CreatedAt }},
	{name: "last_activity_at", field: func(s *core.Session) any { return &s.LastActivityAt }},
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
