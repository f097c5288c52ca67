package store

import (
	"database/sql"
	"slices"
	"strings"
	"unicode"

	"flame/core"
	"flame/project"
)

// FindFrames returns the frames that q describes. An After that does not exist is
// core.ErrNotFound.
func (t *tx) FindFrames(q project.FrameQuery) ([]core.Frame, error) {
	var after core.Frame
	if q.After != "" && q.Order != project.ByID {
		var err error
		if after, err = t.Frame(q.After); err != nil {
			return nil, err
		}
	}
	v, err := t.voidingOf(q)
	if err != nil {
		return nil, err
	}
	list := listFrames(q, after, nil)
	if v == nil {
		return t.readFrames(list.query(), list.args...)
	}
	if q.Order == project.RecentFirst && q.Limit > 0 {
		frames, err := t.readFrames(list.query(), list.args...)
		if err != nil || len(frames) == q.Limit && v.before(frames) {
			return frames, err
		}
	}
	voided, err := t.voidedIn(v, q)
	if err != nil {
		return nil, err
	}
	list = listFrames(q, after, voided)
	return t.readFrames(list.query(), list.args...)
}

// listFrames is the SQL of FindFrames: frames as they are stored, and then those of
// the voided ones that q describes as they read.
func listFrames(q project.FrameQuery, after core.Frame, voided []voidedSet) *selection {
	list := &selection{}
	for i, part := range parts(q) {
		if i > 0 {
			list.add(" UNION ALL ")
		}
		list.add("SELECT " + frameColumns)
		list.frames(part)
		list.without(voided)
		list.after(q, after)
	}
	for _, set := range voided {
		if wants(q, core.Invalidated) {
			list.add(" UNION ALL SELECT "+voidedColumns, set.cascade.changes()...)
			list.frames(set.within(q))
			list.after(q, after)
		}
	}
	order := orders[q.Order]
	if inOrder, is := textOrders[q.Order]; is && q.Text != "" && len(voided) == 0 {
		order = inOrder
	}
	list.add(" ORDER BY "+order+atMost, limitOf(q.Limit))
	return list
}

// after adds q's After, which is the frame given.
func (s *selection) after(q project.FrameQuery, frame core.Frame) {
	if q.After != "" && q.Order != project.ByID {
		s.add(" AND (f.created_at, f.key) > (?, "+keyOf+")", frame.CreatedAt, frame.ID)
	}
}

// parts splits a query for several statuses by last change into one for each:
// every part then comes in order from an index, and SQLite merges them.
func parts(q project.FrameQuery) []project.FrameQuery {
	if q.Order != project.RecentFirst || len(q.Statuses) < 2 {
		return []project.FrameQuery{q}
	}
	statuses := unique(q.Statuses)
	list := make([]project.FrameQuery, len(statuses))
	for i, status := range statuses {
		list[i] = q
		list[i].Statuses = []core.Status{status}
	}
	return list
}

// orders is the SQL of each order of frames.
var orders = map[project.FrameOrder]string{
	project.OldestFirst: "created_at, key",
	project.NewestFirst: "created_at DESC, key DESC",
	project.RecentFirst: "updated_at DESC, key DESC",
	project.ByID:        "d.id",
}

// textOrders are those of a search: the index of words gives its matches by key,
// so that the newest of very many are found without a look at the others.
var textOrders = map[project.FrameOrder]string{
	project.OldestFirst: "d.key",
	project.NewestFirst: "d.key DESC",
}

// CountFrames counts the frames that q describes, by status.
func (t *tx) CountFrames(q project.FrameQuery) (map[core.Status]int, error) {
	sel := countFrames(q)
	counts := map[core.Status]int{}
	err := t.each(func(rows *sql.Rows) error {
		var status core.Status
		var n int
		err := rows.Scan(&status, &n)
		counts[status] = n
		return err
	}, sel.query(), sel.args...)
	if err != nil {
		return nil, err
	}
	return counts, t.moveVoided(q, counts)
}

// countFrames is the SQL of CountFrames.
func countFrames(q project.FrameQuery) *selection {
	if len(q.Statuses) == 0 {
		q.Statuses = core.Statuses // so that an index by status serves
	}
	count := &selection{}
	count.add("SELECT f.status, count(*)")
	count.frames(q)
	count.add(" GROUP BY f.status")
	return count
}

// CountChildren counts the children of each of these frames by status.
func (t *tx) CountChildren(parents []string) (map[string]map[core.Status]int, error) {
	counts := map[string]map[core.Status]int{}
	for _, parent := range parents {
		if parent == "" {
			continue // no frame is below it; as a query it would not restrict
		}
		byStatus, err := t.CountFrames(project.FrameQuery{Parent: parent})
		if err != nil {
			return nil, err
		}
		if len(byStatus) > 0 {
			counts[parent] = byStatus
		}
	}
	return counts, nil
}

// A selection is SQL in the making, with its arguments.
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

// frames adds FROM and WHERE for what q describes, within the sets given, all but
// order, limit and After. What narrows most leads, by a CROSS JOIN, which SQLite does
// not turn round.
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
		s.add(" AND f.parent = "+keyOf, clean(q.Parent))
	}
	if q.Roots {
		s.add(" AND f.parent IS NULL")
	}
	if len(q.Statuses) > 0 {
		s.add(" AND f.status IN ("+placeholders(len(q.Statuses))+")", anyOf(q.Statuses)...)
	}
	if !q.Archived {
		s.add(" AND f.archived_at = 0")
	}
}

// index names the one that leads to what q describes. SQLite knows nothing of the
// tree's shape before ANALYZE and would look for the few roots among all frames
// of a status.
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

// keySets returns the sets that q's order by id, text, subtree and prefix stand for.
func keySets(q project.FrameQuery) (sets []keySet) {
	if q.Order == project.ByID {
		sets = append(sets, keySet{"SELECT key, id FROM ids WHERE id > ?", []any{clean(q.After)}})
	}
	if q.Text != "" {
		sets = append(sets, textSet(q.Text))
	}
	if q.Under != "" {
		sets = append(sets, keySet{under, []any{clean(q.Under)}})
	}
	if q.Prefix != "" {
		prefix := clean(q.Prefix)
		sets = append(sets, keySet{"SELECT key FROM ids WHERE id >= ? AND id < ?",
			[]any{prefix, prefix + string(unicode.MaxRune)}})
	}
	return sets
}

// under walks down from a frame, which it contains. UNION ends a cycle.
const under = `WITH RECURSIVE down (key) AS (
	SELECT key FROM ids WHERE id = ?
	UNION
	SELECT f.key FROM down CROSS JOIN frames f ON f.parent = down.key
) SELECT key FROM down`

// textSet returns the frames that hold every word of a user's text. Each word is
// quoted, which leaves nothing of FTS5's syntax; no words are in no frame.
func textSet(text string) keySet {
	var words []string
	for _, word := range strings.FieldsFunc(clean(text), func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
		if strings.ContainsFunc(word, isLetterOrNumber) && len(words) < maxWords {
			words = append(words, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		}
	}
	if len(words) == 0 {
		return keySet{sql: "SELECT NULL AS key WHERE false"}
	}
	return keySet{"SELECT rowid AS key FROM frames_text WHERE frames_text MATCH ?",
		[]any{strings.Join(words, " ")}}
}

// maxWords bounds a search; FTS5 refuses expressions deeper than 256.
const maxWords = 100

func isLetterOrNumber(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// unique returns a list without repeats, which a UNION ALL would repeat.
func unique[S ~string](list []S) []S {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// anyOf returns a list of strings as arguments.
func anyOf[S ~string](list []S) []any {
	args := make([]any, len(list))
	for i, s := range list {
		args[i] = string(s)
	}
	return args
}
