package store

import (
	"flame/core"
	"flame/project"
	"flame/store/form"
)

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
	sessionColumns = form.Later(func() string { return sessionTable.read("s") })
	saveSession    = form.Later(func() string { return sessionTable.save() })
)

var sessionByID = form.Later(func() string { return "SELECT " + sessionColumns() + " FROM sessions s WHERE s.key = " + form.KeyOf })

// Session returns one session, or core.ErrNotFound.
func (t *tx) Session(id string) (core.Session, error) {
	list, err := collect(t.sql, sessionTable.scan(), sessionByID(), form.Clean(id))
	return only(list, err, "session", id)
}

// FindSessions returns the sessions that q describes, latest activity first.
func (t *tx) FindSessions(q project.SessionQuery) ([]core.Session, error) {
	list := listSessions(q)
	return collect(t.sql, sessionTable.scan(), list.query(), list.args...)
}

// listSessions is the SQL of FindSessions.
func listSessions(q project.SessionQuery) *selection {
	list := &selection{}
	list.add("SELECT " + sessionColumns() + " FROM sessions s WHERE true")
	if q.Tracked {
		list.add(" AND s.tracked")
	}
	if q.CompletedBefore != 0 {
		list.add(" AND s.is_completed AND s.last_activity_at < ?", q.CompletedBefore)
	}
	if q.Live {
		list.add(" AND s.state <> 'ended' AND s.parent IS NULL")
	}
	if q.Parent != "" {
		list.add(" AND s.parent = "+form.KeyOf, form.Clean(q.Parent))
	}
	if q.Current != "" {
		list.add(" AND s.current = "+form.KeyOf, form.Clean(q.Current))
	}
	list.add(" ORDER BY s.last_activity_at DESC, s.key DESC"+form.AtMost, form.LimitOf(q.Limit))
	return list
}

// SaveSession writes a new session, or all fields of one that exists.
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

// DeleteSession forgets a session; its frames and events stay.
func (t *tx) DeleteSession(id string) error {
	_, err := t.sql.exec(`DELETE FROM sessions WHERE key = `+form.KeyOf, form.Clean(id))
	return err
}
