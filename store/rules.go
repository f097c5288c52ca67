package store

import (
	"database/sql"
	"fmt"
	"strings"

	"flame/core"
	"flame/core/outline"
	"flame/store/disk"
)

// A rule holds for the rows of every sound database. Repair can repair the rows that break
// it, one by one or with the indexes.
type rule struct {
	thing string        // kind of the rows: frame or session
	flaw  string        // describes the rows that break the rule
	note  bool          // flame works despite such rows
	find  string        // SQL that selects the keys of these rows; empty if they have a fault
	fault outline.Fault // of their links

	todo  string // describes the repair
	mend  string // SQL that repairs the row with the key ?1 at the time ?2; empty if the indexes or name repair it
	name  bool   // a new id repairs the row
	field string // of the frame that the repair changes
}

// rules returns all rules in the order of repair: each relies on the rules before it. The first
// are about the values in one row, then come the tree, references to missing frames, and the
// index of words, which Repair rebuilds in any case.
func rules() []rule {
	const (
		toRoot  = "UPDATE frames SET parent = NULL, updated_at = ?2 WHERE key = ?1 AND parent IS NOT NULL"
		root    = "make it a root"
		missing = `NOT EXISTS (SELECT 1 FROM ids i JOIN frames c ON c.key = i.key WHERE i.id = j.value)`
		words   = "rebuild the index of words"
	)
	broken, mended := unreadable()
	unknown := "status NOT IN ('" + strings.Join(core.Words(core.Statuses...), "', '") + "')"
	list := []rule{{
		thing: "frame", flaw: "with a value that cannot be read", find: "SELECT key FROM frames NOT INDEXED WHERE " + broken,
		todo: "bring it to its type", field: "values", mend: "UPDATE frames SET " + mended + " WHERE key = ?1",
	}, {
		thing: "frame", flaw: "without an id", todo: "give it a new id", field: "id", name: true,
		find: "SELECT f.key FROM frames f NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM ids i WHERE i.key = f.key AND i.id <> '')",
	}, {
		thing: "frame", flaw: "of an unknown status", find: "SELECT key FROM frames NOT INDEXED WHERE " + unknown,
		todo: "call it blocked", field: "status",
		mend: `UPDATE frames SET status = 'blocked', ended_at = CASE ended_at WHEN 0 THEN ?2 ELSE ended_at END, updated_at = ?2
			WHERE key = ?1 AND ` + unknown,
	}, {
		thing: "frame", flaw: "with itself as parent", fault: outline.OwnParent, todo: root, field: "parent", mend: toRoot,
	}, {
		thing: "frame", flaw: "in a cycle of parents", fault: outline.InCycle, todo: root, field: "parent", mend: toRoot,
	}, {
		thing: "frame", flaw: "with a missing parent", fault: outline.NoParent, todo: root, field: "parent", mend: toRoot,
	}, {
		thing: "frame", flaw: "with missing planned children", note: true,
		find: `SELECT DISTINCT f.key FROM frames f NOT INDEXED,
				json_each(iif(json_valid(f.planned_children), f.planned_children, '[]')) j
			WHERE f.planned_children <> '[]' AND ` + missing + ` ORDER BY f.key`,
		todo: "take them off its list", field: "plannedChildren",
		mend: `UPDATE frames SET updated_at = ?2, planned_children =
			(SELECT json_group_array(j.value) FROM json_each(planned_children) j WHERE NOT ` + missing + `) WHERE key = ?1`,
	}}
	for _, column := range []string{"root", "current"} {
		gone := fmt.Sprintf("%[1]s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM frames WHERE frames.key = %[1]s)", column)
		list = append(list, rule{
			thing: "session", flaw: "with a missing " + column + " frame", note: true, find: "SELECT key FROM sessions NOT INDEXED WHERE " + gone,
			todo: "let it have none", mend: "UPDATE sessions SET " + column + " = NULL WHERE key = ?1 AND " + gone,
		})
	}
	return append(list, rule{
		thing: "frame", flaw: "missing from the index of words", todo: words,
		find: "SELECT key FROM frames NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM frames_text_docsize d WHERE d.id = key)",
	}, rule{
		thing: "frame", flaw: "only in the index of words", todo: words,
		find: "SELECT id FROM frames_text_docsize WHERE NOT EXISTS (SELECT 1 FROM frames f WHERE f.key = id)",
	})
}

// An inspection is one pass over all rows.
type inspection struct {
	disk.Census
	sql    *statements
	faults map[outline.Fault][]int64 // keys of frames by the fault of their link; nil until find reads the links
}

// find returns the keys of the rows that break a rule. It reads links from the table, because
// an index may differ.
func (in *inspection) find(r rule) ([]int64, error) {
	if r.find != "" {
		return collect(in.sql, scanKey, r.find)
	}
	if in.faults != nil {
		return in.faults[r.fault], nil
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
	return in.faults[r.fault], nil
}

// look counts the rows and finds those that break the rules.
func (in *inspection) look() error {
	const count = "SELECT (SELECT count(*) FROM frames NOT INDEXED), (SELECT count(*) FROM events)"
	if _, err := in.sql.get([]any{&in.Frames, &in.Events}, count); err != nil {
		return err
	}
	for _, r := range rules() {
		keys, err := in.find(r)
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
		in.Found = append(in.Found, core.Finding{What: what, Hint: disk.MendHint, Broken: !r.note, Mend: r.todo})
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

// mend repairs the row with this key, and reports whether it still broke the rule.
func (m *mender) mend(r rule, key int64) (bool, error) {
	if r.name {
		return m.name(key)
	}
	args := []any{key}
	if strings.Contains(r.mend, "?2") {
		args = append(args, m.now)
	}
	changed, err := m.tx.sql.exec(r.mend, args...)
	return changed > 0, err
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

// unreadable returns the SQL of a test for rows of frames with values that Go cannot read,
// and SQL that makes such values readable.
func unreadable() (broken, mended string) {
	var tests, sets []string
	for _, c := range frameTable.columns {
		if test, value := repair(c.name, c.field(new(core.Frame))); test != "" && c.name != frameTable.key { // SQLite keeps that whole
			tests, sets = append(tests, test), append(sets, c.name+" = "+value)
		}
	}
	return strings.Join(tests, " OR "), strings.Join(sets, ", ")
}

// repair returns SQL for the column of a field: a test for values that Go cannot read, and
// the value to replace them. Both are empty if Go can read every value that SQLite may have
// there. Text that is not a list becomes the only item of a list, so that nothing is lost.
func repair(name string, field any) (test, value string) {
	switch field.(type) {
	case id:
		test, value = "typeof(%[1]s) NOT IN ('integer', 'null')", "CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s END"
	case *bool:
		test, value = "%[1]s NOT IN (0, 1)", "(CAST(%[1]s AS INTEGER) <> 0)"
	case *float64:
		test, value = "typeof(%[1]s) NOT IN ('real', 'integer')", "CAST(%[1]s AS REAL)"
	case **float64:
		test, value = "typeof(%[1]s) NOT IN ('real', 'integer', 'null')", "CASE WHEN typeof(%[1]s) IN ('real', 'integer') THEN %[1]s END"
	case *core.Millis, *int64, *int:
		test, value = "typeof(%[1]s) <> 'integer'", "CAST(%[1]s AS INTEGER)"
	case *[]string:
		test = `(%[1]s <> '[]' AND CASE WHEN json_valid(%[1]s) THEN
			json_type(%[1]s) <> 'array' OR EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE type <> 'text') ELSE true END)`
		value = "CASE WHEN " + test + " THEN json_array(CAST(%[1]s AS TEXT)) ELSE %[1]s END"
	default:
		return "", ""
	}
	return fmt.Sprintf(test, name), fmt.Sprintf(value, name)
}
