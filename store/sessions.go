package store

import (
	"database/sql"
	"strings"

	"flame/core"
	"flame/project"
)

// sessionColumns are what scanSession reads, of the session s.
var sessionColumns = strings.Join([]string{
	idOf("s.key"), idOf("s.parent"), idOf("s.root"), idOf("s.current"),
	"s.host", "s.title", "s.state", "s.stamped", "s.tracked", "s.is_subagent", "s.is_completed",
	"s.skipped", "s.message_count", "s.created_at", "s.last_activity_at",
}, ", ")

func scanSession(rows *sql.Rows) (core.Session, error) {
	var s core.Session
	err := rows.Scan(&s.ID, &s.Parent, &s.Root, &s.Current,
		&s.Host, &s.Title, &s.State, &s.Stamped, &s.Tracked, &s.IsSubagent, &s.IsCompleted,
		&s.Skipped, &s.MessageCount, &s.CreatedAt, &s.LastActivityAt)
	return s, err
}

// saveSession writes one session; its columns stand in the order of
// SaveSession's arguments.
var saveSession = upsert("sessions", "key", "key", "parent", "root", "current",
	"host", "title", "state", "stamped", "tracked", "is_subagent", "is_completed",
	"skipped", "message_count", "created_at", "last_activity_at")

var sessionByID = "SELECT " + sessionColumns + " FROM sessions s WHERE s.key = " + keyOf

// Session returns one session, or core.ErrNotFound.
func (t *tx) Session(id string) (core.Session, error) {
	list, err := collect(t.sql, scanSession, sessionByID, clean(id))
	switch {
	case err != nil:
		return core.Session{}, err
	case len(list) == 0:
		return core.Session{}, core.NotFoundf("session %s not found", id)
	}
	return list[0], nil
}

// FindSessions returns the sessions that q describes, latest activity first.
func (t *tx) FindSessions(q project.SessionQuery) ([]core.Session, error) {
	list := listSessions(q)
	return collect(t.sql, scanSession, list.query(), list.args...)
}

// listSessions is the SQL of FindSessions.
func listSessions(q project.SessionQuery) *selection {
	list := &selection{}
	list.add("SELECT " + sessionColumns + " FROM sessions s WHERE true")
	if q.Tracked {
		list.add(" AND s.tracked")
	}
	if q.Current != "" {
		list.add(" AND s.current = "+keyOf, clean(q.Current))
	}
	list.add(" ORDER BY s.last_activity_at DESC, s.key DESC"+atMost, limitOf(q.Limit))
	return list
}

// SaveSession writes a new session, or all fields of one that exists.
func (t *tx) SaveSession(s core.Session) error {
	if s.ID == "" {
		return core.Invalidf("a session needs an id")
	}
	keys, err := t.sql.keysOf(s.ID, s.Parent, s.Root, s.Current)
	if err != nil {
		return err
	}
	_, err = t.sql.exec(saveSession, append(keys,
		clean(s.Host), clean(s.Title), string(s.State), s.Stamped, s.Tracked, s.IsSubagent, s.IsCompleted,
		s.Skipped, s.MessageCount, s.CreatedAt, s.LastActivityAt)...)
	return err
}

// DeleteSession forgets a session; its frames and events stay.
func (t *tx) DeleteSession(id string) error {
	_, err := t.sql.exec(`DELETE FROM sessions WHERE key = `+keyOf, clean(id))
	return err
}
