package store

import (
	"slices"

	"flame/core"
	"flame/project"
	"flame/store/form"
)

// How queries that ask for statuses, or for the latest changes, treat voided
// frames as what they read as: they leave them out and add them again.

// A voidedSet is all frames that one cascade voids directly below some others.
type voidedSet struct {
	cascade *cascade
	parents []int64 // keys of those others
}

// cascadesMatter reports whether cascades affect which frames q finds, or their
// order, and not only how each of them reads.
func cascadesMatter(q project.FrameQuery) bool {
	planned := wants(q, core.Planned)
	return !q.Roots && (planned != wants(q, core.Invalidated) || planned && q.Order == project.RecentFirst)
}

// before reports whether all cascades began before the last change of any of
// these frames: then none of them, and none older, is voided.
func (v *voiding) before(frames []core.Frame) bool {
	for _, f := range frames {
		if slices.ContainsFunc(v.cascades, func(c cascade) bool { return c.At >= f.UpdatedAt }) {
			return false
		}
	}
	return true
}

// wants reports whether q asks for frames of a status.
func wants(q project.FrameQuery, s core.Status) bool {
	return len(q.Statuses) == 0 || slices.Contains(q.Statuses, s)
}

// voidedIn returns sets of voided frames that include all that q describes.
func (v *voiding) voidedIn(q project.FrameQuery) (sets []voidedSet, err error) {
	parents, err := v.parentsFor(q)
	if err == nil {
		err = v.climb(climbing, parents...)
	}
	for i := range v.cascades {
		set := voidedSet{cascade: &v.cascades[i]}
		for _, key := range parents {
			if v.over[key] == set.cascade {
				set.parents = append(set.parents, key)
			}
		}
		if len(set.parents) > 0 {
			sets = append(sets, set)
		}
	}
	return sets, err
}

// plannedParents returns the keys of frames with planned children from one key
// on. It jumps from each to the next, however many children there are.
const plannedParents = `WITH RECURSIVE parents (key) AS (
	SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > ?
	UNION ALL
	SELECT (SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > parents.key)
	FROM parents WHERE parents.key IS NOT NULL
) SELECT key FROM parents WHERE key IS NOT NULL` + form.AtMost

// parentsFor returns the keys of the frames whose planned children q may describe.
func (v *voiding) parentsFor(q project.FrameQuery) (keys []int64, err error) {
	if q.Parent != "" {
		key, err := v.sql.known(form.Clean(q.Parent))
		return []int64{key}, err
	}
	if v.parents == nil {
		v.parents, err = collect(v.sql, scanKey, plannedParents, 0, form.LimitOf(0))
	}
	return v.parents, err
}

// keySet returns the frames of the set that q may describe; only the last ones
// if q asks for that many of the latest: all of a set changed at the same time.
func (set voidedSet) keySet(q project.FrameQuery) keySet {
	keys := keySet{`SELECT f.key FROM json_each(?) v CROSS JOIN frames f INDEXED BY frames_planned
		ON f.parent = v.value AND f.status = 'planned'`, []any{form.JSONOf(set.parents)}}
	if !q.Archived {
		keys.sql += " AND f.archived_at = 0"
	}
	if q.Order == project.RecentFirst && q.Limit > 0 && q.After == "" && len(keySets(q)) == 0 {
		keys.sql += " ORDER BY f.key DESC" + form.AtMost
		keys.args = append(keys.args, q.Limit)
	}
	return keys
}

// within returns q for the frames of the set: all of them read as invalidated.
func (set voidedSet) within(q project.FrameQuery) (project.FrameQuery, keySet) {
	keys := set.keySet(q)
	q.Statuses = nil
	return q, keys
}

// without leaves the frames of these sets out.
func (s *selection) without(sets []voidedSet) {
	for _, set := range sets {
		s.add(" AND NOT (f.status = 'planned' AND coalesce(f.parent, 0) IN (SELECT value FROM json_each(?)))", form.JSONOf(set.parents))
	}
}

// moveVoided changes counts of the frames that q describes from their stored
// status to what they read as.
func (v *voiding) moveVoided(q project.FrameQuery, counts map[core.Status]int) error {
	q.Limit = 0
	sets, err := v.voidedIn(q)
	for _, set := range sets {
		count := countVoided(q, set)
		var n int
		if _, err := v.sql.get([]any{&n}, count.query(), count.args...); err != nil {
			return err
		}
		move(counts, q, core.Planned, -n)
		move(counts, q, core.Invalidated, n)
	}
	return err
}

// countVoided returns the SQL that counts the frames of a set that q describes.
// An index alone suffices unless q looks at more than their place.
func countVoided(q project.FrameQuery, set voidedSet) *selection {
	count := &selection{}
	if len(keySets(q)) == 0 {
		keys := set.keySet(q)
		count.add("SELECT count(*) FROM ("+keys.sql+")", keys.args...)
		return count
	}
	count.add("SELECT count(*)")
	count.frames(set.within(q))
	return count
}

// move adds n to the count of a status that q asks for. Counts of 0 are absent.
func move(counts map[core.Status]int, q project.FrameQuery, s core.Status, n int) {
	if !wants(q, s) {
		return
	}
	if counts[s] += n; counts[s] == 0 {
		delete(counts, s)
	}
}
