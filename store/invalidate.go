package store

import (
	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// cascadeTable has the columns of a frame that change when it is invalidated with a frame above it.
var cascadeTable = frameTable.of(cascaded)

// SQL that finds the frames below one, which is among them, and that invalidates frames, whose
// keys are a JSON list.
const statusesUnder = "SELECT f.key, coalesce(f.parent, 0), f.status FROM (" + under + ") d CROSS JOIN frames f ON f.key = d.key ORDER BY f.created_at, f.key"

var invalidateAll = later(func() string {
	return "UPDATE frames SET " + cascadeTable.each(func(column string) string { return column + " = ?" }) +
		", " + stamp.name + " = " + stamp.value + " WHERE key IN (SELECT value FROM json_each(?))"
})

func (t *tx) InvalidateBelow(top string, c core.Cascade, e core.Event) (below project.Invalidation, err error) {
	if below, err = t.sql.affectedBelow(top); err != nil || len(below.Planned) == 0 {
		return below, err
	}
	if err := t.sql.raiseRevision(); err != nil {
		return below, err
	}
	clear(t.frames)
	f := core.Frame{Status: core.Planned}
	c.Invalidate(&f)
	values, err := cascadeTable.values(t.sql, &f)
	if err != nil {
		return below, err
	}
	keys := jsonOf(below.Planned)
	if _, err := t.sql.exec(invalidateAll(), append(values, keys)...); err != nil {
		return below, err
	}
	if values, err = t.sql.eventValues(&e); err == nil {
		_, err = t.sql.exec(appendAbout(), append(values, keys)...)
	}
	return below, err
}

// A statusRow is a row of statusesUnder.
type statusRow struct {
	key, parent int64
	status      core.Status
}

// affectedBelow returns the frames that the invalidation of top affects.
func (s *statements) affectedBelow(top string) (below project.Invalidation, err error) {
	key, err := s.known(clean(top))
	if err != nil {
		return below, err
	}
	children := map[int64][]statusRow{}
	err = s.each(func(rows *disk.Rows) error {
		var row statusRow
		err := rows.Scan(&row.key, &row.parent, (*string)(&row.status))
		children[row.parent] = append(children[row.parent], row)
		return err
	}, statusesUnder, clean(top))
	if err != nil {
		return below, err
	}
	keyOf := func(row statusRow) int64 { return row.key }
	for row := range core.Descendants(key, keyOf, func(key int64) []statusRow { return children[key] }) {
		switch row.status {
		case core.Planned:
			below.Planned = append(below.Planned, row.key)
		case core.InProgress:
			below.InProgress = append(below.InProgress, row.key)
		}
	}
	return below, nil
}
