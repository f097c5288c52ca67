package store

import (
	"cmp"
	"fmt"
	"math"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/store/disk"
)

// Links returns the links of the frames that q describes, in the order of their creation, or
// by parent and creation. If the index has them in another order, or one twice, the file is
// damaged, and Links stops: reading might never end.
func (t *tx) Links(q project.FrameQuery) (links []outline.Link, err error) {
	list := listLinks(q)
	last := linkRow{group: math.MinInt64, created: math.MinInt64, key: math.MinInt64}
	err = t.sql.each(func(rows *disk.Rows) error {
		var row linkRow
		var parent int64
		var numbers bool
		if err := rows.ScanAny(&row.key, &parent, &row.group, &row.created, &numbers); err != nil {
			return err
		}
		links = append(links, outline.Link{Key: row.key, Parent: parent})
		if !numbers {
			return nil
		}
		if cmp.Or(cmp.Compare(last.group, row.group), cmp.Compare(last.created, row.created), cmp.Compare(last.key, row.key)) >= 0 {
			return fmt.Errorf("%w: its index of frames is out of order", disk.ErrDamaged)
		}
		last = row
		return nil
	}, list.query(), list.args...)
	return links, err
}

// numbers tells whether the columns that order a row are what they should be.
const numbers = "typeof(f.parent) IN ('integer', 'null') AND typeof(f.created_at) = 'integer'"

// A linkRow is the sort position of a row of Links.
type linkRow struct{ group, created, key int64 }

// listLinks returns the SQL of Links. Without a subtree an index alone
// suffices; roots come first in it.
func listLinks(q project.FrameQuery) *selection {
	list := &selection{}
	if q.Under != "" {
		list.add("SELECT f.key, f.parent, 0, f.created_at, "+numbers+" FROM ("+under+") d CROSS JOIN frames f ON f.key = d.key WHERE true",
			clean(q.Under))
	} else {
		list.add("SELECT f.key, f.parent, ifnull(f.parent, ?), f.created_at, "+numbers+" FROM frames f INDEXED BY frames_parent WHERE true",
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
			placeholders(len(core.Statuses))+") AND a.archived_at > 0)", lo.ToAnySlice(core.Statuses)...)
	}
	order := "f.parent, f.created_at, f.key"
	if q.Under != "" {
		order = "f.created_at, f.key"
	}
	list.add(" ORDER BY "+order+atMost, limitOf(q.Limit))
	return list
}

// framesAt is the SQL of FramesAt: its keys are a JSON list.
var framesAt = later(func() string {
	return "SELECT " + frameColumns() + " FROM json_each(?) k CROSS JOIN frames f ON f.key = k.value"
})

func (t *tx) FramesAt(keys []int64) (map[int64]core.Frame, error) {
	var found []int64
	var key int64
	scan := scanFrame(&key)
	list, err := collect(t.sql, func(rows *disk.Rows) (core.Frame, error) {
		frame, err := scan(rows)
		found = append(found, key)
		return frame, err
	}, framesAt(), jsonOf(keys))
	frames := make(map[int64]core.Frame, len(list))
	for i, key := range found {
		frames[key] = list[i]
	}
	return frames, err
}

// raiseRevision raises the revision for the frames written next, which are stamped with it, so that
// an index leads to the frames written since a revision. It changes one row by its key: for a
// statement that may change several rows, FTS5 would write out its index.
func (s *statements) raiseRevision() error {
	_, err := s.exec(`UPDATE meta SET value = value + 1 WHERE name = 'revision'`)
	return err
}

// stamp is the column of a frame for the revision at which it is written.
var stamp = own{"revision", "(SELECT value FROM meta WHERE name = 'revision')"}

const revision = `SELECT value,
	coalesce((SELECT updated_at FROM frames ORDER BY updated_at DESC LIMIT 1), 0)
	FROM meta WHERE name = 'revision'`

func (t *tx) Revision() (number int64, newest core.Millis, err error) {
	_, err = t.sql.get([]any{&number, &newest}, revision)
	return number, newest, err
}

// sketchTable has the columns of a frame that come before its longer texts in a row, so that
// SQLite need not read the further pages of a long row.
var sketchTable = frameTable.without(long)

// SQL of Changed: all frames, or those written after a revision. The stamp is the last column
// of a row, but its index has it too.
var (
	allSketches     = later(func() string { return "SELECT " + sketchTable.read("f") + " FROM frames f NOT INDEXED" })
	changedSketches = later(func() string {
		return "SELECT " + sketchTable.read("f") + " FROM frames f INDEXED BY frames_revision WHERE f.revision > ?"
	})
)

func (t *tx) FramesChangedSince(after int64) ([]core.Frame, error) {
	query, args := allSketches(), []any(nil)
	if after > 0 {
		var now int64
		if _, err := t.sql.get([]any{&now}, "SELECT value FROM meta WHERE name = 'revision'"); err != nil {
			return nil, err
		}
		if after <= now {
			query, args = changedSketches(), []any{after}
		}
	}
	return collect(t.sql, sketchTable.scan(), query, args...)
}

// frameIDs reads no row of a frame: an index has all keys.
const frameIDs = "SELECT i.id FROM frames f INDEXED BY frames_created CROSS JOIN ids i ON i.key = f.key"

func (t *tx) FrameIDs() ([]string, error) {
	return collect(t.sql, scanID, frameIDs)
}
