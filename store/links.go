package store

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"

	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// Links returns the links of the frames that q describes, in the order in which
// they were made, or in that of each parent's children. A file whose index has
// them in another order, or one twice, is damaged: reading on might never end.
func (t *tx) Links(q project.FrameQuery) (links []outline.Link, err error) {
	list := listLinks(q)
	last := linkRow{group: math.MinInt64, created: math.MinInt64, key: math.MinInt64}
	err = t.sql.each(func(rows *disk.Rows) error {
		var row linkRow
		var parent sql.NullInt64
		if err := rows.Scan(&row.key, &parent, &row.group, &row.created); err != nil {
			return err
		}
		if last.compare(row) >= 0 {
			return fmt.Errorf("%w: its index of frames is out of order", disk.ErrDamaged)
		}
		last = row
		links = append(links, outline.Link{Key: row.key, Parent: parent.Int64})
		return nil
	}, list.query(), list.args...)
	return links, err
}

// A linkRow is the sort position of a row of Links.
type linkRow struct{ group, created, key int64 }

func (r linkRow) compare(other linkRow) int {
	return cmp.Or(cmp.Compare(r.group, other.group), cmp.Compare(r.created, other.created), cmp.Compare(r.key, other.key))
}

// listLinks returns the SQL of Links. Without a subtree an index alone
// suffices; roots come first in it.
func listLinks(q project.FrameQuery) *selection {
	list := &selection{}
	if q.Under != "" {
		list.add("SELECT f.key, f.parent, 0, f.created_at FROM ("+under+") d CROSS JOIN frames f ON f.key = d.key WHERE true",
			form.Clean(q.Under))
	} else {
		list.add("SELECT f.key, f.parent, ifnull(f.parent, ?), f.created_at FROM frames f INDEXED BY frames_parent WHERE true",
			int64(math.MinInt64))
	}
	if q.Roots {
		list.add(" AND f.parent IS NULL")
	}
	switch {
	case q.Archived:
	case q.Under != "":
		list.add(" AND f.archived_at = 0")
	default:
		list.add(" AND f.key NOT IN (SELECT a.key FROM frames a INDEXED BY frames_status WHERE a.status IN ("+
			form.Placeholders(len(core.Statuses))+") AND a.archived_at > 0)", form.Args(core.Statuses)...)
	}
	order := "f.parent, f.created_at, f.key"
	if q.Under != "" {
		order = "f.created_at, f.key"
	}
	list.add(" ORDER BY "+order+form.AtMost, form.LimitOf(q.Limit))
	return list
}

// framesAt is the SQL of FramesAt: its keys are a JSON list.
var framesAt = form.Later(func() string {
	return "SELECT " + frameColumns() + " FROM json_each(?) k CROSS JOIN frames f ON f.key = k.value"
})

// FramesAt returns the frames that have these keys, without missing ones.
func (t *tx) FramesAt(keys []int64) (map[int64]core.Frame, error) {
	var found []int64
	var key int64
	scan := scanFrame(&key)
	list, err := collect(t.sql, func(rows *disk.Rows) (core.Frame, error) {
		frame, err := scan(rows)
		found = append(found, key)
		return frame, err
	}, framesAt(), form.JSONOf(keys))
	if err == nil {
		err = void(t, list)
	}
	frames := make(map[int64]core.Frame, len(list))
	for i, key := range found {
		frames[key] = list[i]
	}
	return frames, err
}
