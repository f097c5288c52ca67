package store

import (
	"encoding/json"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
	"flame/store/form"
)

// eventTable keeps events.
var eventTable = table[core.Event]{"events", "seq", []column[core.Event]{
	{"seq", func(e *core.Event) any { return &e.Seq }},
	{"v", func(e *core.Event) any { return &e.V }},
	{"ts", func(e *core.Event) any { return &e.TS }},
	{"event", func(e *core.Event) any { return &e.Event }},
	{"session", func(e *core.Event) any { return id{&e.Session} }},
	{"parent_session", func(e *core.Event) any { return id{&e.ParentSession} }},
	{"frame", func(e *core.Event) any { return id{&e.Frame} }},
	{"subagent", func(e *core.Event) any { return id{&e.SubagentID} }},
	{"depth", func(e *core.Event) any { return &e.Depth }},
	{"host", func(e *core.Event) any { return &e.Host }},
	{"data", func(e *core.Event) any { return &e.Data }},
}}

// What is read and appended: SQLite assigns seq. A list of the frames' keys ends appendAbout.
var (
	eventColumns = form.Later(func() string { return eventTable.read("e") })
	newEvent     = table[core.Event]{columns: slices.Concat(eventTable.some([]string{"frame"}), eventTable.but("seq", "frame"))}
	appended     = form.Later(func() string { return "INTO events (" + newEvent.each(itself) + ") " })
	appendAbout  = form.Later(func() string {
		return "INSERT " + appended() + "SELECT coalesce(?, v.value), " + form.Placeholders(len(newEvent.columns)-1) + " FROM json_each(?) v"
	})
	atOnce = []int{32, 8, 1} // how many events one statement writes: few numbers, as each is prepared
)

// appendEvents is the SQL that writes a number of events, for those of atOnce. It would not
// undo rows before one that fails: for a statement that could, FTS5 writes out its index.
func appendEvents(n int) string {
	rows := slices.Repeat([]string{form.Placeholders(len(newEvent.columns))}, n)
	return "INSERT OR FAIL " + appended() + "VALUES (" + strings.Join(rows, "), (") + ")"
}

// AppendEvent writes e, and then more, each with the next Seq, and returns the last.
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

// FindEvents returns the events that q describes, oldest first.
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
	list.add(" ORDER BY "+order+form.AtMost, form.LimitOf(q.Limit))
	return list
}

// eventParts splits a query for a session and what is below it, or one for
// several kinds and nothing else, into one for each: every part then comes in
// order from an index, and SQLite merges them.
func eventParts(q project.EventQuery) []project.EventQuery {
	if q.Session != "" && q.Below != "" {
		own, below := q, q
		own.Below, below.Session = "", ""
		return []project.EventQuery{own, below}
	}
	if len(q.Kinds) < 2 || eventIndex(q) != eventsByKind {
		return []project.EventQuery{q}
	}
	kinds := form.Unique(q.Kinds)
	list := make([]project.EventQuery, len(kinds))
	for i, kind := range kinds {
		list[i] = q
		list[i].Kinds = []string{kind}
	}
	return list
}

const eventsByKind = "INDEXED BY events_event"

// eventIndex names the index for q; without one, the sequence itself serves.
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
	for _, of := range []struct{ column, id string }{
		{"e.frame", q.Frame}, {"e.session", q.Session}, {"e.parent_session", q.Below}, {"e.subagent", q.SubagentID},
	} {
		if of.id != "" {
			s.add(" AND "+of.column+" = "+form.KeyOf, form.Clean(of.id))
		}
	}
	if len(q.Kinds) > 0 {
		s.add(" AND e.event IN ("+form.Placeholders(len(q.Kinds))+")", form.Args(q.Kinds)...)
	}
}

const deleteEvents = `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE ts < ? ORDER BY ts` + form.AtMost + `)`

// DeleteEventsBefore removes at most limit events older than before, the oldest
// first, and returns their number.
func (t *tx) DeleteEventsBefore(before core.Millis, limit int) (int, error) {
	n, err := t.sql.exec(deleteEvents, before, limit)
	return int(n), err
}
