package store

import (
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

func (t *tx) FindFrames(q project.FrameQuery) ([]core.Frame, error) {
	if q.After != "" && q.Order != project.ByID {
		if _, err := t.Frame(q.After); err != nil {
			return nil, err
		}
	}
	list := listFrames(q)
	return t.sql.frames(list.query(), list.args...)
}

// listFrames returns the SQL of FindFrames.
func listFrames(q project.FrameQuery) *selection {
	list := &selection{}
	for i, part := range parts(q) {
		if i > 0 {
			list.add(" UNION ALL ")
		}
		list.add("SELECT " + frameColumns())
		list.frames(part)
		if q.After != "" && q.Order != project.ByID {
			list.add(" AND (f.created_at, f.key) > (SELECT a.created_at, a.key FROM frames a WHERE a.key = "+keyOf+")", clean(q.After))
		}
	}
	order := orders[q.Order]
	if inOrder, is := textOrders[q.Order]; is && q.Text != "" {
		order = inOrder
	}
	list.add(" ORDER BY "+order+atMost, limitOf(q.Limit))
	return list
}

// parts splits a query for several statuses by last change into a query for each status:
// every part then comes in order from an index, and SQLite merges them.
func parts(q project.FrameQuery) []project.FrameQuery {
	if q.Order != project.RecentFirst || len(q.Statuses) < 2 {
		return []project.FrameQuery{q}
	}
	return lo.Map(lo.Uniq(q.Statuses), func(status core.Status, _ int) project.FrameQuery {
		part := q
		part.Statuses = []core.Status{status}
		return part
	})
}

// orders is the SQL of each order of frames.
var orders = map[project.FrameOrder]string{
	project.OldestFirst: "created_at, key",
	project.NewestFirst: "created_at DESC, key DESC",
	project.RecentFirst: "updated_at DESC, key DESC",
	project.ByID:        "d.id",
}

// textOrders are the orders of a search. The word index returns its matches by key, so that
// SQLite finds the newest of very many without looking at the others.
var textOrders = map[project.FrameOrder]string{
	project.OldestFirst: "d.key",
	project.NewestFirst: "d.key DESC",
}

func (t *tx) CountFrames(q project.FrameQuery) (map[core.Status]int, error) {
	if len(q.Statuses) == 0 {
		q.Statuses = core.Statuses // so that an index by status can be used
	}
	sel := countFrames(q)
	counts := map[core.Status]int{}
	err := t.sql.each(func(rows *disk.Rows) error {
		var status core.Status
		var n int
		err := rows.Scan(&status, &n)
		if n > 0 {
			counts[status] = n
		}
		return err
	}, sel.query(), sel.args...)
	return counts, err
}

// countFrames returns the SQL of CountFrames. For queries that may match very many frames, an
// index has the frames of each status side by side: SQLite counts them in a third of the
// steps that it needs to group them.
func countFrames(q project.FrameQuery) *selection {
	if q.Parent != "" || q.Goal != "" || len(keySets(q)) > 0 {
		count := selected("SELECT f.status, count(*)")
		count.frames(q)
		count.add(" GROUP BY f.status")
		return count
	}
	count := selected("SELECT s.value, (SELECT count(*) FROM frames f INDEXED BY " + index(q) + " WHERE f.status = s.value")
	if q.Roots {
		count.add(" AND f.parent IS NULL")
	}
	if !q.Archived {
		count.add(" AND f.archived_at = 0")
	}
	count.add(") FROM json_each(?) s", jsonOf(core.Words(q.Statuses...)))
	return count
}

// A selection is SQL under construction, with its arguments.
type selection struct {
	sql  strings.Builder
	args []any
}

// selected returns a selection that begins with this SQL.
func selected(sql string, args ...any) *selection {
	s := &selection{args: args}
	s.sql.WriteString(sql)
	return s
}

func (s *selection) query() string { return s.sql.String() }

func (s *selection) add(sql string, args ...any) {
	s.sql.WriteString(sql)
	s.args = append(s.args, args...)
}

// is adds the condition that a column has the key of an id, unless the id is empty.
func (s *selection) is(column, id string) {
	if id != "" {
		s.add(" AND "+column+" = "+keyOf, clean(id))
	}
}

// frames adds FROM and WHERE for q, without order, limit and After.
// The narrowest set comes first, in a CROSS JOIN, which SQLite does not reorder.
func (s *selection) frames(q project.FrameQuery) {
	sets := keySets(q)
	if len(sets) == 0 {
		s.add(" FROM frames f INDEXED BY " + index(q) + " WHERE true")
	} else {
		s.add(" FROM ("+sets[0].query()+") d CROSS JOIN frames f ON f.key = d.key WHERE true", sets[0].args...)
		for _, set := range sets[1:] {
			s.add(" AND f.key IN ("+set.query()+")", set.args...)
		}
	}
	s.is("f.parent", q.Parent)
	if q.Roots {
		s.add(" AND f.parent IS NULL")
	}
	if len(q.Statuses) > 0 {
		s.add(" AND f.status IN ("+placeholders(len(q.Statuses))+")", lo.ToAnySlice(q.Statuses)...)
	}
	if q.Goal != "" {
		s.add(" AND f.goal = ? COLLATE NOCASE", clean(q.Goal))
	}
	if !q.Archived {
		s.add(" AND f.archived_at = 0")
	}
}

// index names the index for q. Without ANALYZE, SQLite does not know the shape of the tree
// and would search the few roots among all frames of a status.
func index(q project.FrameQuery) string {
	below, some := q.Parent != "" || q.Roots, len(q.Statuses) > 0
	switch {
	case below && some:
		return "frames_parent_status"
	case below:
		return "frames_parent"
	case some:
		return "frames_status"
	case q.Order == project.RecentFirst:
		return "frames_updated"
	default:
		return "frames_created"
	}
}

// keySets returns the sets for q's order by id, text, subtree and prefix.
func keySets(q project.FrameQuery) (sets []*selection) {
	if q.Order == project.ByID {
		sets = append(sets, selected("SELECT key, id FROM ids WHERE id > ?", clean(q.After)))
	}
	if q.Text != "" {
		sets = append(sets, textSet(q.Text))
	}
	if q.Under != "" {
		sets = append(sets, selected(under, clean(q.Under)))
	}
	if q.Prefix != "" {
		prefix := clean(q.Prefix)
		sets = append(sets, selected("SELECT key FROM ids WHERE id >= ? AND id < ?", prefix, prefix+string(unicode.MaxRune)))
	}
	return sets
}

// under walks down from a frame, which it includes. UNION ends a cycle.
const under = `WITH RECURSIVE down (key) AS (
	SELECT key FROM ids WHERE id = ?
	UNION
	SELECT f.key FROM down CROSS JOIN frames f ON f.parent = down.key
) SELECT key FROM down`

// textSet returns the set of frames that contain every word of a user's text; an empty set if
// the text has no words.
func textSet(text string) *selection {
	match := matching(text)
	if match == "" {
		return selected("SELECT NULL AS key WHERE false")
	}
	return selected("SELECT rowid AS key FROM frames_text WHERE frames_text MATCH ?", match)
}
