package store

import (
	"fmt"
	"strings"

	"flame/core"
	"flame/store/form"
)

// A repairable column has values that Go cannot read.
type repairable struct {
	broken string // SQL for: it has such a value
	mended string // SQL for what to put in its place
}

// repairables returns the columns of frames that may have values that Go cannot
// read, by name. Text that is not a list becomes the only item of one, so that
// nothing is lost.
func repairables() map[string]repairable {
	list := map[string]repairable{}
	for _, c := range frameTable.columns {
		name := c.name
		switch c.field(new(core.Frame)).(type) {
		case id:
			if name != frameTable.key { // which SQLite keeps whole
				list[name] = repairable{"typeof(" + name + ") NOT IN ('integer', 'null')",
					fmt.Sprintf("CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s END", name)}
			}
		case *bool:
			list[name] = repairable{name + " NOT IN (0, 1)", "(CAST(" + name + " AS INTEGER) <> 0)"}
		case *float64:
			list[name] = repairable{"typeof(" + name + ") NOT IN ('real', 'integer')", "CAST(" + name + " AS REAL)"}
		case **float64:
			list[name] = repairable{"typeof(" + name + ") NOT IN ('real', 'integer', 'null')",
				fmt.Sprintf("CASE WHEN typeof(%[1]s) IN ('real', 'integer') THEN %[1]s END", name)}
		case *core.Millis, *int64, *int:
			list[name] = repairable{"typeof(" + name + ") <> 'integer'", "CAST(" + name + " AS INTEGER)"}
		case *[]string:
			list[name] = repairable{form.IsNoList(name),
				fmt.Sprintf("CASE WHEN %[2]s THEN json_array(CAST(%[1]s AS TEXT)) ELSE %[1]s END", name, form.IsNoList(name))}
		}
	}
	return list
}

// unreadable is SQL for: a frame's row has a value that Go cannot read.
func unreadable() string {
	var tests []string
	for _, column := range repairables() {
		tests = append(tests, column.broken)
	}
	return strings.Join(tests, " OR ")
}

// readable returns SQL that changes all of these values to readable ones.
func readable() string {
	var sets []string
	for name, column := range repairables() {
		sets = append(sets, name+" = "+column.mended)
	}
	return strings.Join(sets, ", ")
}
