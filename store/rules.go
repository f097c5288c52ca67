package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"flame/core"
	"flame/core/outline"
	"flame/store/disk"
	"flame/store/health"
)

// A rule is true of the rows of every sound database. What breaks it can be
// repaired row by row, or with the indexes.
type rule struct {
	thing string // what the rows are: frames or sessions
	flaw  string // what is wrong with those that break it
	note  bool   // flame works despite it
	find  func(*inspection) (keys []int64, err error)

	todo  string // what Repair does about them, in words
	mend  func(m *mender, key int64) (changed bool, err error)
	field string // of the frame that it changes
}

// rules returns all rules in the order of repair: each relies on those before
// it.
func rules() []rule {
	return slices.Concat(valueRules(), linkRules(), referenceRules(), wordRules())
}

// valueRules are about the values in one row.
func valueRules() []rule {
	unknown := "status NOT IN ('" + strings.Join(core.Words(core.Statuses...), "', '") + "')"
	return []rule{{
		thing: "frame", flaw: "with a value that cannot be read",
		find: findSQL("SELECT key FROM frames NOT INDEXED WHERE " + repairables().Broken()),
		todo: "bring it to its type", field: "values",
		mend: mendSQL("UPDATE frames SET " + repairables().Mended() + " WHERE key = ?1"),
	}, {
		thing: "frame", flaw: "without an id",
		find: findSQL("SELECT f.key FROM frames f NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM ids i WHERE i.key = f.key AND i.id <> '')"),
		todo: "give it a new id", field: "id", mend: (*mender).name,
	}, {
		thing: "frame", flaw: "of an unknown status",
		find: findSQL("SELECT key FROM frames NOT INDEXED WHERE " + unknown),
		todo: "call it blocked", field: "status",
		mend: mendSQL(`UPDATE frames SET status = 'blocked', ended_at = CASE ended_at WHEN 0 THEN ?2 ELSE ended_at END, updated_at = ?2
			WHERE key = ?1 AND ` + unknown),
	}}
}

// linkRules are about the tree.
func linkRules() (list []rule) {
	for _, about := range []struct {
		fault outline.Fault
		flaw  string
	}{
		{outline.OwnParent, "with itself as parent"}, {outline.InCycle, "in a cycle of parents"}, {outline.NoParent, "with a missing parent"},
	} {
		list = append(list, rule{
			thing: "frame", flaw: about.flaw,
			find: func(in *inspection) ([]int64, error) { return in.faulty(about.fault) },
			todo: "make it a root", field: "parent",
			mend: mendSQL("UPDATE frames SET parent = NULL, updated_at = ?2 WHERE key = ?1 AND parent IS NOT NULL"),
		})
	}
	return list
}

// referenceRules are about references to missing frames.
func referenceRules() []rule {
	const missing = `NOT EXISTS (SELECT 1 FROM ids i JOIN frames c ON c.key = i.key WHERE i.id = j.value)`
	list := []rule{{
		thing: "frame", flaw: "with missing planned children", note: true,
		find: findSQL(`SELECT DISTINCT f.key FROM frames f NOT INDEXED,
				json_each(iif(json_valid(f.planned_children), f.planned_children, '[]')) j
			WHERE f.planned_children <> '[]' AND ` + missing + ` ORDER BY f.key`),
		todo: "take them off its list", field: "plannedChildren",
		mend: mendSQL(`UPDATE frames SET updated_at = ?2, planned_children =
			(SELECT json_group_array(j.value) FROM json_each(planned_children) j WHERE NOT ` + missing + `) WHERE key = ?1`),
	}}
	for _, column := range []string{"root", "current"} {
		gone := fmt.Sprintf("%[1]s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM frames WHERE frames.key = %[1]s)", column)
		list = append(list, rule{
			thing: "session", flaw: "with a missing " + column + " frame", note: true,
			find: findSQL("SELECT key FROM sessions NOT INDEXED WHERE " + gone),
			todo: "let it have none",
			mend: mendSQL("UPDATE sessions SET " + column + " = NULL WHERE key = ?1 AND " + gone),
		})
	}
	return list
}

// wordRules are about the word index, which is rebuilt in any case.
func wordRules() []rule {
	const todo = "rebuild the index of words"
	return []rule{{
		thing: "frame", flaw: "missing from the index of words", todo: todo,
		find: findSQL("SELECT key FROM frames NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM frames_text_docsize d WHERE d.id = key)"),
	}, {
		thing: "frame", flaw: "only in the index of words", todo: todo,
		find: findSQL("SELECT id FROM frames_text_docsize WHERE NOT EXISTS (SELECT 1 FROM frames f WHERE f.key = id)"),
	}}
}

// findSQL returns a function that finds the keys that a query selects.
func findSQL(query string) func(*inspection) ([]int64, error) {
	return func(in *inspection) ([]int64, error) {
		return collect(in.sql, func(rows *disk.Rows) (key int64, err error) { return key, rows.Scan(&key) }, query)
	}
}

// An inspection is one pass over all rows.
type inspection struct {
	health.Rows
	sql    *statements
	faults map[outline.Fault][]int64 // of links, by fault; nil until they are looked at
}

// faulty returns the keys of the frames whose link has this fault. It reads the
// table rather than an index, which may differ.
func (in *inspection) faulty(fault outline.Fault) ([]int64, error) {
	if in.faults != nil {
		return in.faults[fault], nil
	}
	links, err := collect(in.sql, func(rows *disk.Rows) (l outline.Link, err error) {
		var parent sql.NullInt64
		err = rows.Scan(&l.Key, &parent)
		l.Parent = parent.Int64
		return l, err
	}, "SELECT key, CASE typeof(parent) WHEN 'integer' THEN parent END FROM frames NOT INDEXED")
	if err != nil {
		return nil, err
	}
	in.faults = map[outline.Fault][]int64{}
	for _, place := range outline.Of(links) {
		if place.Fault != outline.NoFault {
			in.faults[place.Fault] = append(in.faults[place.Fault], place.Key)
		}
	}
	return in.faults[fault], nil
}

// look counts the rows and finds what breaks the rules.
func (in *inspection) look() error {
	const count = "SELECT (SELECT count(*) FROM frames NOT INDEXED), (SELECT count(*) FROM events)"
	if _, err := in.sql.get([]any{&in.Frames, &in.Events}, count); err != nil {
		return err
	}
	for _, r := range rules() {
		keys, err := r.find(in)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			continue
		}
		what, err := in.sql.describe(r, keys)
		if err != nil {
			return err
		}
		in.Found = append(in.Found, core.Finding{What: what, Hint: health.MendHint, Broken: !r.note, Mend: r.todo})
	}
	return nil
}

// maxNamed is how many rows a finding names.
const maxNamed = 5

// describe says how many rows break a rule, and names some.
func (s *statements) describe(r rule, keys []int64) (string, error) {
	var names []string
	for _, key := range keys[:min(len(keys), maxNamed)] {
		var id string
		if _, err := s.get([]any{&id}, "SELECT id FROM ids WHERE key = ?", key); err != nil {
			return "", err
		}
		if id == "" {
			id = fmt.Sprintf("row %d", key)
		}
		names = append(names, core.OneLine(id, maxName))
	}
	things := r.thing + "s"
	if len(keys) == 1 {
		things = r.thing
	}
	text := fmt.Sprintf("%d %s %s: %s", len(keys), things, r.flaw, strings.Join(names, ", "))
	if more := len(keys) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text, nil
}

// maxName is the length in characters to which a finding cuts an id.
const maxName = 100

// A mender repairs rows in one transaction.
type mender struct {
	tx    *tx
	newID func(kind string) string
	now   core.Millis
}

// mendSQL repairs a row by one statement; ?1 is its key and ?2 the time.
func mendSQL(query string) func(*mender, int64) (bool, error) {
	return func(m *mender, key int64) (bool, error) {
		args := []any{key}
		if strings.Contains(query, "?2") {
			args = append(args, m.now)
		}
		changed, err := m.tx.sql.exec(query, args...)
		return changed > 0, err
	}
}

// name gives an id to a frame without one.
func (m *mender) name(key int64) (bool, error) {
	id := m.newID("frame")
	for taken := 0; ; id = m.newID("frame") {
		if _, err := m.tx.sql.get([]any{&taken}, "SELECT count(*) FROM ids WHERE id = ?", id); err != nil {
			return false, err
		}
		if taken == 0 {
			break
		}
	}
	changed, err := m.tx.sql.exec(`INSERT INTO ids (key, id) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET id = excluded.id WHERE id = ''`, key, id)
	return changed > 0, err
}
