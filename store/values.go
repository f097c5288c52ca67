package store

import (
	"maps"
	"strings"

	"flame/core"
	"flame/store/form"
)

// repairables returns the columns of frames that may have values that Go cannot
// read, by name. Text that is not a list becomes the only item of one, so that
// nothing is lost.
func repairables() map[string]form.Repairable {
	list := map[string]form.Repairable{}
	for _, c := range frameTable.columns {
		if _, is := c.field(new(core.Frame)).(id); !is {
			list[c.name] = form.Repair(c.name, c.field(new(core.Frame)))
		} else if c.name != frameTable.key { // which SQLite keeps whole
			list[c.name] = form.RepairKey(c.name)
		}
	}
	maps.DeleteFunc(list, func(_ string, r form.Repairable) bool { return r == form.Repairable{} })
	return list
}

// unreadable is SQL for: a frame's row has a value that Go cannot read.
func unreadable() string {
	var tests []string
	for _, column := range repairables() {
		tests = append(tests, column.Broken)
	}
	return strings.Join(tests, " OR ")
}

// readable returns SQL that changes all of these values to readable ones.
func readable() string {
	var sets []string
	for name, column := range repairables() {
		sets = append(sets, name+" = "+column.Mended)
	}
	return strings.Join(sets, ", ")
}
