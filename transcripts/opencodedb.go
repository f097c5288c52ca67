package transcripts

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"

	_ "modernc.org/sqlite" // the driver

	"flame/core"
)

// OpenCodeDB reads the database in which OpenCode keeps all its sessions: the
// given session and those below it, or all if it is empty, each after the one
// that started it. It reads a snapshot and writes nothing, and OpenCode can
// keep using the database.
func OpenCodeDB(ctx context.Context, path, session string) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		err := readOpenCodeDB(ctx, path, session, func(m core.Message) bool { return yield(m, nil) })
		if err != nil {
			yield(core.Message{}, fmt.Errorf("OpenCode's database %s: %w", path, err))
		}
	}
}

// openOpenCodeDB opens read-only. A database in WAL mode is read through its
// log, so OpenCode's latest writes are included.
func openOpenCodeDB(path string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", OmitHost: true, Path: path}
	return sql.Open("sqlite", file.String()+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)")
}

func readOpenCodeDB(ctx context.Context, path, session string, give func(core.Message) bool) error {
	db, err := openOpenCodeDB(path)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil) // one snapshot
	if err != nil {
		return err
	}
	defer tx.Rollback()
	sessions, err := openCodeSessions(ctx, tx, session)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if !give(s) {
			return nil
		}
		if more, err := openCodeMessages(ctx, tx, s.Session, give); err != nil || !more {
			return err
		}
	}
	return nil
}

// openCodeSessions returns what each session says about itself, oldest first.
// Columns are looked up by name, because they differ between versions.
func openCodeSessions(ctx context.Context, tx *sql.Tx, session string) (found []core.Message, err error) {
	rows, err := tx.QueryContext(ctx, `
		WITH RECURSIVE wanted(id) AS (
			SELECT id FROM session WHERE iif(?1 = '', coalesce(parent_id, '') NOT IN (SELECT id FROM session), id = ?1)
			UNION SELECT s.id FROM wanted w JOIN session s ON s.parent_id = w.id)
		SELECT * FROM session WHERE id IN wanted ORDER BY time_created, id`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, name := range columns {
			row[name] = values[i].String
		}
		found = append(found, openCodeRow(row))
	}
	return found, rows.Err()
}

// openCodeRow converts a row of the table session.
func openCodeRow(row map[string]string) core.Message {
	raw, _ := json.Marshal(row) // a map of strings can always be encoded
	s := openCodeSession{ID: row["id"], ParentID: row["parent_id"], Title: row["title"], Agent: row["agent"]}
	for column, into := range map[string]any{"permission": &s.Permission, "model": &s.Model, "time_created": &s.Time.Created} {
		if row[column] != "" {
			loose([]byte(row[column]), into)
		}
	}
	return noted(raw, s.ID, s.note())
}

// openCodeMessages returns a session's messages in order of creation. A message
// has a row for each of its parts.
func openCodeMessages(ctx context.Context, tx *sql.Tx, session string, give func(core.Message) bool) (more bool, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT m.id, m.data, coalesce(p.data, '') FROM message m LEFT JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ? ORDER BY m.time_created, m.id, p.id`, session)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var newest openCodeStored
	for rows.Next() {
		var id string
		var data, part sql.RawBytes
		if err := rows.Scan(&id, &data, &part); err != nil {
			return false, err
		}
		if id != newest.id {
			if !newest.give(session, give) {
				return false, nil
			}
			newest = openCodeStored{id: id, data: append([]byte(nil), data...)}
		}
		newest.add(part)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	return newest.give(session, give), nil
}

// An openCodeStored is a message as stored in the database.
type openCodeStored struct {
	id    string
	data  []byte
	parts []openCodePart
}

func (s *openCodeStored) add(part []byte) {
	var p openCodePart
	if len(part) > 0 && loose(part, &p) {
		s.parts = append(s.parts, p)
	}
}

// give returns the message, if there is one.
func (s *openCodeStored) give(session string, give func(core.Message) bool) bool {
	if s.id == "" {
		return true
	}
	var info openCodeInfo
	if !loose(s.data, &info) || !info.speaks() {
		return give(other(s.data))
	}
	info.ID, info.SessionID = s.id, session
	return give(info.message(s.parts))
}
