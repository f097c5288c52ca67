package store

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// eventColumns are what scanEvent reads, of the event e.
var eventColumns = strings.Join([]string{
	"e.seq AS seq", "e.v", "e.ts", "e.event",
	idOf("e.session"), idOf("e.parent_session"), idOf("e.frame"), idOf("e.subagent"),
	"e.depth", "e.host", "e.data",
}, ", ")

func scanEvent(rows *sql.Rows) (core.Event, error) {
	var e core.Event
	var data []byte
	err := rows.Scan(&e.Seq, &e.V, &e.TS, &e.Event,
		&e.Session, &e.ParentSession, &e.Frame, &e.SubagentID,
		&e.Depth, &e.Host, &data)
	e.Data = data
	return e, err
}

// AppendEvent writes e with the next Seq and returns that.
func (t *tx) AppendEvent(e core.Event) (seq int64, err error) {
	frame, err := t.sql.key(e.Frame)
	if err != nil {
		return 0, err
	}
	values, err := t.sql.eventValues(e)
	if err != nil {
		return 0, err
	}
	return t.sql.insert(`INSERT INTO events (`+eventValues+`, frame) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append(values, frame)...)
}

// appendEvents writes e about each of these frames, in their order.
func (s *statements) appendEvents(e core.Event, frames []int64) error {
	values, err := s.eventValues(e)
	if err != nil {
		return err
	}
	_, err = s.exec(`INSERT INTO events (`+eventValues+`, frame) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, v.value FROM json_each(?) v`,
		append(values, jsonOf(frames))...)
	return err
}

// eventValues are the columns of an event beside its frame; the method returns what
// goes into them.
const eventValues = "v, ts, event, session, parent_session, subagent, depth, host, data"

func (s *statements) eventValues(e core.Event) ([]any, error) {
	if len(e.Data) > 0 && !json.Valid(e.Data) {
		return nil, core.Invalidf("the data of event %s is not JSON", e.Event)
	}
	keys, err := s.keysOf(e.Session, e.ParentSession, e.SubagentID)
	if err != nil {
		return nil, err
	}
	data := sql.NullString{String: clean(string(e.Data)), Valid: len(e.Data) > 0}
	return append([]any{e.V, e.TS, clean(e.Event)}, append(keys, e.Depth, clean(e.Host), data)...), nil
}

// FindEvents returns the events that q describes, oldest first.
func (t *tx) FindEvents(q project.EventQuery) ([]core.Event, error) {
	list := listEvents(q)
	events, err := collect(t.sql, scanEvent, list.query(), list.args...)
	if lastOf(q) {
		slices.Reverse(events)
	}
	return events, err
}

func lastOf(q project.EventQuery) bool { return q.Last && q.Limit > 0 }

// listEvents is the SQL of FindEvents.
func listEvents(q project.EventQuery) *selection {
	list := &selection{}
	for i, part := range eventParts(q) {
		if i > 0 {
			list.add(" UNION ALL ")
		}
		list.events(part)
	}
	order := "seq"
	if lastOf(q) {
		order = "seq DESC"
	}
	list.add(" ORDER BY "+order+atMost, limitOf(q.Limit))
	return list
}

// eventParts splits a query for a session and what is below it, and one for several
// kinds and nothing else, into one for each: every part then comes in order from an
// index, and SQLite merges them.
func eventParts(q project.EventQuery) []project.EventQuery {
	if q.Session != "" && q.Below != "" {
		own, below := q, q
		own.Below, below.Session = "", ""
		return []project.EventQuery{own, below}
	}
	if len(q.Kinds) < 2 || eventIndex(q) != eventsByKind {
		return []project.EventQuery{q}
	}
	kinds := unique(q.Kinds)
	list := make([]project.EventQuery, len(kinds))
	for i, kind := range kinds {
		list[i] = q
		list[i].Kinds = []string{kind}
	}
	return list
}

const eventsByKind = "INDEXED BY events_event"

// eventIndex says which index leads to what q describes; without any, the
// sequence itself does.
func eventIndex(q project.EventQuery) string {
	switch {
	case q.Frame != "":
		return "INDEXED BY events_frame"
	case q.SubagentID != "":
		return "INDEXED BY events_subagent"
	case q.Session != "":
		return "INDEXED BY events_session"
	case q.Below != "":
		return "" // events_parent, where the file has it
	case len(q.Kinds) > 0:
		return eventsByKind
	}
	return "NOT INDEXED"
}

// events adds SELECT, FROM and WHERE for what q describes.
func (s *selection) events(q project.EventQuery) {
	s.add("SELECT "+eventColumns+" FROM events e "+eventIndex(q)+" WHERE e.seq > ?", q.AfterSeq)
	if q.Since != 0 {
		s.add(" AND e.ts >= ?", q.Since)
	}
	for _, of := range []struct{ column, id string }{
		{"e.frame", q.Frame}, {"e.session", q.Session}, {"e.parent_session", q.Below}, {"e.subagent", q.SubagentID},
	} {
		if of.id != "" {
			s.add(" AND "+of.column+" = "+keyOf, clean(of.id))
		}
	}
	if len(q.Kinds) > 0 {
		s.add(" AND e.event IN ("+placeholders(len(q.Kinds))+")", anyOf(q.Kinds)...)
	}
}

const deleteEvents = `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE ts < ? ORDER BY ts` + atMost + `)`

// DeleteEventsBefore removes at most limit of those older than before, the oldest
// first, and returns their number.
func (t *tx) DeleteEventsBefore(before core.Millis, limit int) (int, error) {
	n, err := t.sql.exec(deleteEvents, before, limit)
	return int(n), err
}
