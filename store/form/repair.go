package form

import (
	"fmt"
	"strings"

	"flame/core"
)

// A Repairable column has values that Go cannot read.
type Repairable struct {
	Broken string // SQL for: it has such a value
	Mended string // SQL for what to put in its place
}

// RepairKey returns the SQL for a column of keys.
func RepairKey(name string) Repairable {
	return Repairable{"typeof(" + name + ") NOT IN ('integer', 'null')", fmt.Sprintf("CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s END", name)}
}

// Repair returns the SQL for the column that keeps a field; none if Go can read all that
// SQLite may have there. Text that is not a list becomes the only item of one, so that
// nothing is lost.
func Repair(name string, field any) Repairable {
	switch field.(type) {
	case *bool:
		return Repairable{name + " NOT IN (0, 1)", "(CAST(" + name + " AS INTEGER) <> 0)"}
	case *float64:
		return Repairable{"typeof(" + name + ") NOT IN ('real', 'integer')", "CAST(" + name + " AS REAL)"}
	case **float64:
		return Repairable{"typeof(" + name + ") NOT IN ('real', 'integer', 'null')",
			fmt.Sprintf("CASE WHEN typeof(%[1]s) IN ('real', 'integer') THEN %[1]s END", name)}
	case *core.Millis, *int64, *int:
		return Repairable{"typeof(" + name + ") <> 'integer'", "CAST(" + name + " AS INTEGER)"}
	case *[]string:
		return Repairable{IsNoList(name), fmt.Sprintf("CASE WHEN %[2]s THEN json_array(CAST(%[1]s AS TEXT)) ELSE %[1]s END", name, IsNoList(name))}
	}
	return Repairable{}
}

// Repairables are the columns of a table that have values which Go cannot read, by name.
type Repairables map[string]Repairable

// Broken returns SQL for: a row has a value that Go cannot read.
func (r Repairables) Broken() string {
	var tests []string
	for _, column := range r {
		tests = append(tests, column.Broken)
	}
	return strings.Join(tests, " OR ")
}

// Mended returns SQL that changes all of these values to readable ones.
func (r Repairables) Mended() string {
	var sets []string
	for name, column := range r {
		sets = append(sets, name+" = "+column.Mended)
	}
	return strings.Join(sets, ", ")
}
