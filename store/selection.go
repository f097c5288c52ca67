package store

import (
	"strings"
	"unicode"

	"flame/project"
	"flame/store/form"
)

// A selection is SQL under construction, with its arguments.
type selection struct {
	sql  strings.Builder
	args []any
}

func (s *selection) query() string { return s.sql.String() }

func (s *selection) add(sql string, args ...any) {
	s.sql.WriteString(sql)
	s.args = append(s.args, args...)
}

// A keySet is SQL for a set of keys of frames.
type keySet struct {
	sql  string
	args []any
}

// frames adds FROM and WHERE for what q describes, within the given sets, all
// but order, limit and After. The narrowest set comes first, by a CROSS JOIN,
// which SQLite does not reorder.
func (s *selection) frames(q project.FrameQuery, within ...keySet) {
	sets := append(within, keySets(q)...)
	if len(sets) == 0 {
		s.add(" FROM frames f INDEXED BY " + index(q) + " WHERE true")
	} else {
		s.add(" FROM ("+sets[0].sql+") d CROSS JOIN frames f ON f.key = d.key WHERE true", sets[0].args...)
		for _, set := range sets[1:] {
			s.add(" AND f.key IN ("+set.sql+")", set.args...)
		}
	}
	if q.Parent != "" {
		s.add(" AND f.parent = "+form.KeyOf, form.Clean(q.Parent))
	}
	if q.Roots {
		s.add(" AND f.parent IS NULL")
	}
	if len(q.Statuses) > 0 {
		s.add(" AND f.status IN ("+form.Placeholders(len(q.Statuses))+")", form.Args(q.Statuses)...)
	}
	if !q.Archived {
		s.add(" AND f.archived_at = 0")
	}
}

// index names the index for q. Before ANALYZE SQLite does not know the tree's
// shape and would search the few roots among all frames of a status.
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
func keySets(q project.FrameQuery) (sets []keySet) {
	if q.Order == project.ByID {
		sets = append(sets, keySet{"SELECT key, id FROM ids WHERE id > ?", []any{form.Clean(q.After)}})
	}
	if q.Text != "" {
		sets = append(sets, textSet(q.Text))
	}
	if q.Under != "" {
		sets = append(sets, keySet{under, []any{form.Clean(q.Under)}})
	}
	if q.Prefix != "" {
		prefix := form.Clean(q.Prefix)
		sets = append(sets, keySet{"SELECT key FROM ids WHERE id >= ? AND id < ?",
			[]any{prefix, prefix + string(unicode.MaxRune)}})
	}
	return sets
}

// under walks down from a frame, which it includes. UNION ends a cycle.
const under = `WITH RECURSIVE down (key) AS (
	SELECT key FROM ids WHERE id = ?
	UNION
	SELECT f.key FROM down CROSS JOIN frames f ON f.parent = down.key
) SELECT key FROM down`

// textSet returns the frames that contain every word of a user's text; without words there
// are none.
func textSet(text string) keySet {
	match := form.Match(text)
	if match == "" {
		return keySet{sql: "SELECT NULL AS key WHERE false"}
	}
	return keySet{"SELECT rowid AS key FROM frames_text WHERE frames_text MATCH ?", []any{match}}
}
