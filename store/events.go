package store

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// eventTable keeps events.
var eventTable = table[core.Event]{"events", "seq", []column[core.Event]{
	{name: "seq", field: func(e *core.Event) any { return &e.Seq }},
	{name: "frame", field: func(e *core.Event) any { return id{&e.Frame} }},
	{name: "v", field: func(e *core.Event) any { return &e.V }},
	{name: "ts", field: func(e *core.Event) any { return &e.TS }},
	{name: "event", field: func(e *core.Event) any { return &e.Event }},
	{name: "session", field: func(e *core.Event) any { return id{&e.Session} }},
	{name: "parent_session", field: func(e *core.Event) any { return id{&e.ParentSession} }},
	{name: "subagent", field: func(e *core.Event) any { return id{&e.SubagentID} }},
	{name: "depth", field: func(e *core.Event) any { return &e.Depth }},
	{name: "host", field: func(e *core.Event) any { return &e.Host }},
	{name: "data", field: func(e *core.Event) any { return &e.Data }},
}}

// SQL to read and append events. SQLite assigns seq. The last argument of appendAbout is a
// list of keys of frames, for events about these.
var (
	eventColumns = later(func() string { return eventTable.read("e") })
	newEvent     = table[core.Event]{columns: eventTable.columns[1:]}
	appended     = later(func() string { return "INTO events (" + newEvent.each(itself) + ") " })
	appendAbout  = later(func() string {
		return "INSERT " + appended() + "SELECT coalesce(?, v.value), " + placeholders(len(newEvent.columns)-1) + " FROM json_each(?) v"
	})
	atOnce = []int{32, 8, 1} // how many events one statement writes: few sizes, because each is prepared
)

// appendEvents returns the SQL that writes n events, for the sizes in atOnce. The statement
// does not undo the rows before a failing row: FTS5 writes out its index for statements that
// can.
func appendEvents(n int) string {
	rows := slices.Repeat([]string{placeholders(len(newEvent.columns))}, n)
	return "INSERT OR FAIL " + appended() + "VALUES (" + strings.Join(rows, "), (") + ")"
}

func (t *tx) AppendEvent(e core.Event, more ...core.Event) (seq int64, err error) {
	list := append([]core.Event{e}, more...)
	for _, n := range atOnce {
		for ; len(list) >= n && err == nil; list = list[n:] {
			seq, err = t.sql.appendEvents(list[:n])
		}
	}
	return seq, err
}

// appendEvents writes as many events as one statement can, and returns the Seq of the last.
func (s *statements) appendEvents(list []core.Event) (seq int64, err error) {
	values := make([]any, 0, len(list)*len(newEvent.columns))
	for i := range list {
		row, err := s.eventValues(&list[i])
		if err != nil {
			return 0, err
		}
		values = append(values, row...)
	}
	return s.insert(appendEvents(len(list)), values...)
}

// eventValues returns the values for the columns of newEvent.
func (s *statements) eventValues(e *core.Event) ([]any, error) {
	if len(e.Data) > 0 && !json.Valid(e.Data) {
		return nil, core.Invalidf("the data of event %s is not JSON", e.Event)
	}
	return newEvent.values(s, e)
}

func (t *tx) FindEvents(q project.EventQuery) ([]core.Event, error) {
	list := listEvents(q)
	events, err := collect(t.sql, eventTable.scan(), list.query(), list.args...)
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

// eventParts splits a query for a session and the sessions below it, or a query for several
// kinds and nothing else, into one query for each: every part then comes in order from an
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
	return lo.Map(lo.Uniq(q.Kinds), func(kind string, _ int) project.EventQuery {
		part := q
		part.Kinds = []string{kind}
		return part
	})
}

const eventsByKind = "INDEXED BY events_event"

// eventIndex names the index for q; without an index, SQLite follows the sequence itself.
func eventIndex(q project.EventQuery) string {
	switch {
	case q.Frame != "":
		return "INDEXED BY events_frame"
	case q.SubagentID != "":
		return "INDEXED BY events_subagent"
	case q.Session != "":
		return "INDEXED BY events_session"
	case q.Below != "":
		return "" // events_parent, if the file has it
	case len(q.Kinds) > 0:
		return eventsByKind
	}
	return "NOT INDEXED"
}

// events adds SELECT, FROM and WHERE for what q describes.
func (s *selection) events(q project.EventQuery) {
	s.add("SELECT "+eventColumns()+" FROM events e "+eventIndex(q)+" WHERE e.seq > ?", q.AfterSeq)
	if q.Since != 0 {
		s.add(" AND e.ts >= ?", q.Since)
	}
	s.is("e.frame", q.Frame)
	s.is("e.session", q.Session)
	s.is("e.parent_session", q.Below)
	s.is("e.subagent", q.SubagentID)
	if len(q.Kinds) > 0 {
		s.add(" AND e.event IN ("+placeholders(len(q.Kinds))+")", lo.ToAnySlice(q.Kinds)...)
	}
}

const deleteEvents = `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE ts < ? ORDER BY ts` + atMost + `)`

func (t *tx) DeleteEventsBefore(before core.Millis, limit int) (int, error) {
	n, err := t.sql.exec(deleteEvents, before, limit)
	return int(n), err
}
