package store

import (
	"maps"

	"flame/core"
	"flame/store/form"
)

// repairables returns the columns of frames that may have values that Go cannot
// read, by name. Text that is not a list becomes the only item of one, so that
// nothing is lost.
func repairables() form.Repairables {
	list := form.Repairables{}
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
