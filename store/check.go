package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"flame/core"
	"flame/core/outline"
	"flame/store/disk"
)

// Check examines the data folder dir for `flame doctor` and changes nothing. It reads the
// whole database, in about a second for 100,000 frames.
func Check(ctx context.Context, dir string) []core.Finding {
	return disk.Check(ctx, absolute(dir), look)
}

// look looks at all rows of a database.
func look(ctx context.Context, c *disk.Conn) (disk.CheckResult, error) {
	in := &inspection{sql: &statements{ctx: ctx, c: c, keys: map[string]int64{}}}
	err := c.Transact(ctx, disk.BeginView, in.look)
	return in.CheckResult, err
}

// A rule holds for the rows of every sound database.
type rule struct {
	thing string        // kind of the rows: frame or session
	flaw  string        // describes the rows that break the rule
	note  bool          // flame works despite such rows
	find  string        // SQL that selects the keys of these rows; empty if they have a fault
	fault outline.Fault // of their links
}

// rules returns all rules. The first are about the values in one row, then come the tree,
// references to missing frames, and the index of words.
func rules() []rule {
	list := []rule{{
		thing: "frame", flaw: "with a value that cannot be read", find: "SELECT key FROM frames NOT INDEXED WHERE " + unreadable(),
	}, {
		thing: "frame", flaw: "without an id",
		find: "SELECT f.key FROM frames f NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM ids i WHERE i.key = f.key AND i.id <> '')",
	}, {
		thing: "frame", flaw: "of an unknown status",
		find: "SELECT key FROM frames NOT INDEXED WHERE status NOT IN ('" + strings.Join(core.Words(core.Statuses...), "', '") + "')",
	}, {
		thing: "frame", flaw: "with itself as parent", fault: outline.OwnParent,
	}, {
		thing: "frame", flaw: "in a cycle of parents", fault: outline.InCycle,
	}, {
		thing: "frame", flaw: "with a missing parent", fault: outline.NoParent,
	}, {
		thing: "frame", flaw: "with missing planned children", note: true,
		find: `SELECT DISTINCT f.key FROM frames f NOT INDEXED,
				json_each(iif(json_valid(f.planned_children), f.planned_children, '[]')) j
			WHERE f.planned_children <> '[]' AND NOT EXISTS (SELECT 1 FROM ids i JOIN frames c ON c.key = i.key WHERE i.id = j.value)
			ORDER BY f.key`,
	}}
	for _, column := range []string{"root", "current"} {
		list = append(list, rule{thing: "session", flaw: "with a missing " + column + " frame", note: true, find: fmt.Sprintf(
			"SELECT key FROM sessions NOT INDEXED WHERE %[1]s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM frames WHERE frames.key = %[1]s)", column)})
	}
	return append(list, rule{
		thing: "frame", flaw: "missing from the index of words",
		find: "SELECT key FROM frames NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM frames_text_docsize d WHERE d.id = key)",
	}, rule{
		thing: "frame", flaw: "only in the index of words",
		find: "SELECT id FROM frames_text_docsize WHERE NOT EXISTS (SELECT 1 FROM frames f WHERE f.key = id)",
	})
}

// unreadable returns the SQL of a test for rows of frames with values that Go cannot read.
func unreadable() string {
	var tests []string
	for _, c := range frameTable.columns {
		if test := misfit(c.field(new(core.Frame))); test != "" && c.name != frameTable.key { // SQLite keeps that whole
			tests = append(tests, fmt.Sprintf(test, c.name))
		}
	}
	return strings.Join(tests, " OR ")
}

// misfit returns the SQL of a test for values in the column of a field that Go cannot read
// into it; empty if Go can read every value that SQLite may have there.
func misfit(field any) string {
	switch field.(type) {
	case id:
		return "typeof(%[1]s) NOT IN ('integer', 'null')"
	case *bool:
		return "%[1]s NOT IN (0, 1)"
	case *float64:
		return "typeof(%[1]s) NOT IN ('real', 'integer')"
	case **float64:
		return "typeof(%[1]s) NOT IN ('real', 'integer', 'null')"
	case *core.Millis, *int64, *int:
		return "typeof(%[1]s) <> 'integer'"
	case *[]string:
		return `(%[1]s <> '[]' AND iif(json_valid(%[1]s),
			json_type(%[1]s) <> 'array' OR EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE type <> 'text'), true))`
	}
	return ""
}

// An inspection is one pass over all rows.
type inspection struct {
	disk.CheckResult
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
	for _, place := range outline.Order(links) {
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
		in.Found = append(in.Found, core.Finding{What: what, Hint: disk.RowsHint, Broken: !r.note})
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
