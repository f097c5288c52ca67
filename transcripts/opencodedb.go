package transcripts

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"flame/core"
)

// OpenCodeDB reads OpenCode's database with all its sessions: the given session and those below
// it, or all sessions for an empty one, each after its parent. It reads a snapshot and writes
// nothing. OpenCode can use the database at the same time.
func OpenCodeDB(ctx context.Context, path, session string) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		give := func(m core.Message) bool { return yield(m, nil) }
		err := inOpenCodeDB(ctx, path, func(tx *sql.Tx) error {
			sessions, err := openCodeSessions(ctx, tx, session)
			for more := true; more && err == nil && len(sessions) > 0; sessions = sessions[1:] {
				if more = give(sessions[0]); more {
					more, err = openCodeMessages(ctx, tx, sessions[0].Session, ownAfter(sessions[0], give))
				}
			}
			return err
		})
		if err != nil {
			yield(core.Message{}, fmt.Errorf("%s, read as OpenCode's database: %w", path, err))
		}
	}
}

// OpenCodeNewest returns the session, no subagent's, that changed last in a folder, and when. A
// database that does not exist has none.
func OpenCodeNewest(ctx context.Context, path, folder string) (session string, at time.Time, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", at, nil
	}
	var updated int64
	err = inOpenCodeDB(ctx, path, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT id, time_updated FROM session WHERE directory = ? AND coalesce(parent_id, '') = ''
			ORDER BY time_updated DESC LIMIT 1`, folder).Scan(&session, &updated)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", at, nil
	}
	return session, time.UnixMilli(updated), err
}

// inOpenCodeDB calls read with a snapshot of a database. With its write-ahead log it includes
// OpenCode's latest writes.
func inOpenCodeDB(ctx context.Context, path string, read func(*sql.Tx) error) error {
	try := func(how string) error {
		file := url.URL{Scheme: "file", OmitHost: true, Path: path}
		db, err := sql.Open("sqlite", file.String()+"?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"+how)
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := openCodeTables(ctx, tx); err != nil {
			return err
		}
		return read(tx)
	}
	err := try("")
	switch codeOf(err) {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY: // SQLite makes a file beside such a database, also to read it
		if log, failed := os.Stat(path + "-wal"); failed == nil && log.Size() > 0 {
			return core.Unavailablef(err, "it has a write-ahead log, which SQLite reads only where it may make files").
				WithHint("copy %s and %s-wal to a folder of yours, and name the copy", path, path)
		}
		err = try("&immutable=1") // nothing writes: there is no write-ahead log
	}
	switch codeOf(err) {
	case sqlite3.SQLITE_ERROR:
		return core.Invalidf("its tables have not the columns that flame reads").WithHint(exports)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return core.Invalidf("it is damaged").WithHint("`sqlite3 FILE .recover` saves what can be read")
	}
	return err
}

// exports says how flame can read a session of which it cannot read the database.
const exports = "`opencode export SESSION` writes a session in a form that flame reads; a newer flame may read the database"

// codeOf returns SQLite's code of an error; 0 for another error.
func codeOf(err error) int {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return sqlite3.SQLITE_OK
	}
	return failed.Code() & 0xff
}

// openCodeTables refuses a database without the tables that flame reads.
func openCodeTables(ctx context.Context, tx *sql.Tx) error {
	var sessions, messages, others int
	err := tx.QueryRowContext(ctx, `SELECT total(name = 'session'), total(name IN ('message', 'part')), total(name = 'session_message')
		FROM sqlite_schema WHERE type IN ('table', 'view')`).Scan(&sessions, &messages, &others)
	switch {
	case err != nil:
		return err
	case sessions == 0 || messages+others == 0:
		return core.Invalidf("it is a database of another program: it lacks the tables session and message")
	case messages < 2:
		return core.Invalidf("its messages are not in the tables message and part, but in one that flame cannot read yet").WithHint(exports)
	}
	return nil
}

// openCodeSessions returns the sessions' notes about themselves, oldest first. It finds columns
// by name, because versions of OpenCode have different columns.
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
			DecodeLenient([]byte(row[column]), into)
		}
	}
	return AgentMessage(raw, s.ID, s.note())
}

// openCodeMessages returns a session's messages in the order of their creation. A message has a
// row for each of its parts.
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

// An openCodeStored is a message in the database.
type openCodeStored struct {
	id    string
	data  []byte
	parts []openCodePart
	media []byte // the parts with files, each behind a comma
}

func (s *openCodeStored) add(part []byte) {
	var p openCodePart
	if len(part) > 0 && DecodeLenient(part, &p) {
		s.parts = append(s.parts, p)
	}
	if bytes.Contains(part, []byte(";base64,")) {
		s.media = append(append(s.media, ","...), part...)
	}
}

// give returns the message, if there is one.
func (s *openCodeStored) give(session string, give func(core.Message) bool) bool {
	if s.id == "" {
		return true
	}
	var info openCodeInfo
	if !DecodeLenient(s.data, &info) || !info.speaks() {
		return give(OtherMessage(s.data))
	}
	info.ID, info.SessionID = s.id, session
	m := info.message(s.parts)
	m.Media = append(append([]byte(`["files"`), s.media...), ']')
	return give(m)
}

// openCodeRunLine reads one line of the output of `opencode run --format json`:
// a part of an answer in the root session, a message here. What its subagents
// say is not included. Tokens come at the end of the step; each step is an
// answer of its own.
func openCodeRunLine(text []byte) core.Message {
	var l struct {
		Type      string        `json:"type"`
		Timestamp core.Millis   `json:"timestamp"`
		SessionID string        `json:"sessionID"`
		Part      openCodePart  `json:"part"`
		Error     openCodeError `json:"error"`
	}
	if !DecodeLenient(text, &l) || l.Type == "" {
		return MarkIrrelevant(OtherMessage(text), true) // words of others in the same terminal
	}
	if l.SessionID == "" {
		return OtherMessage(text)
	}
	m := core.Message{ID: l.Part.MessageID, Role: core.RoleAssistant, Session: l.SessionID, Time: l.Timestamp}
	switch l.Type {
	case "text", "reasoning", "tool_use":
		if l.Part.Tool != "" {
			l.Part.Type = "tool" // some lines lack it
		}
		if l.Part.Synthetic { // the client asks the model to continue
			m.Role = core.RoleUser
		}
		l.Part.addTo(&m)
		if refused(l.Part.State.Error) {
			m.Notes = []core.AgentInfo{{ID: l.SessionID, Refused: []string{l.Part.Tool}}}
		}
	case "step_finish":
		m.Final = finalReason(l.Part.Reason)
		m.Usage = l.Part.Tokens.usage(l.Part.Cost)
		n := core.AgentInfo{ID: l.SessionID, Thinking: l.Part.Tokens.Reasoning}
		if m.Final {
			n.State = core.AgentCompleted
		}
		if n.Thinking > 0 || m.Final {
			m.Notes = []core.AgentInfo{n}
		}
	case "error":
		m.Error = l.Error.text()
		m.Notes = []core.AgentInfo{{ID: l.SessionID, State: l.Error.state(), Error: m.Error}}
	case "step_start":
		return AgentMessage(text, l.SessionID, core.AgentInfo{ID: l.SessionID, State: core.AgentActive})
	default:
		return OtherMessage(text)
	}
	return m
}

// refused reports whether a tool's error says that a rule or a person did not let the agent use
// it.
func refused(err string) bool {
	return strings.HasPrefix(err, "The user rejected permission to use") || strings.HasPrefix(err, "The user has specified a rule which prevents")
}
