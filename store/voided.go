package store

import (
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// A frame is voided while it is stored as planned but reads as invalidated, because it is
// below the frame of a cascade (see project.Cascades). Cascades are rare. Without them
// queries are unchanged, and the code here costs nothing.

// A cascade is a project.Cascade with data that only the store needs.
type cascade struct {
	project.Cascade
	seq     int64 // the oldest cascade has the lowest
	key     int64 // of its frame
	reached int64 // the children of frames with keys up to this are settled
}

// cascadeTable keeps cascades.
var cascadeTable = table[cascade]{"cascades", "frame", []column[cascade]{
	{"frame", func(c *cascade) any { return id{&c.Frame} }},
	{"session", func(c *cascade) any { return id{&c.Session} }},
	{"subagent", func(c *cascade) any { return id{&c.Agent} }},
	{"at", func(c *cascade) any { return &c.At }},
	{"reason", func(c *cascade) any { return &c.Reason }},
	{"due", func(c *cascade) any { return &c.Due }},
	{"settled", func(c *cascade) any { return &c.Settled }},
	{"seq", func(c *cascade) any { return &c.seq }},
	{"reached", func(c *cascade) any { return &c.reached }},
}}

var cascadesUnderWay = later(func() string {
	return "SELECT c.frame, " + cascadeTable.read("c") + " FROM cascades c ORDER BY c.seq, c.frame"
})

// changes returns the values that the cascade gives a planned frame, in the
// columns that it changes.
func (c *cascade) changes() []any {
	f := core.Frame{Status: core.Planned}
	c.Void(&f)
	values, _ := frameTable.values(nil, &f, changedByCascade...) // these columns have no ids, so no statements are needed
	return values
}

// A voiding is what a transaction knows about the cascades in progress.
type voiding struct {
	sql      *statements
	cascades []cascade          // oldest first
	over     map[int64]*cascade // by key of a frame: the first cascade of it or of a frame above it, or nil
	parents  []int64            // keys of all frames with planned children; nil until read
}

// voiding returns the voiding of the transaction, or nil if there are no cascades.
func (t *tx) voiding() (*voiding, error) {
	if t.older {
		return nil, nil
	}
	if t.voids == nil {
		cascades, err := t.sql.underWay()
		if err != nil {
			return nil, err
		}
		t.voids = &voiding{sql: t.sql, cascades: cascades, over: map[int64]*cascade{}}
	}
	if len(t.voids.cascades) == 0 {
		return nil, nil
	}
	return t.voids, nil
}

// underWay returns the cascades, oldest first. It first asks whether there are any: each
// process has to compile its statements, and this one is shorter.
func (s *statements) underWay() ([]cascade, error) {
	var one int
	some, err := s.get([]any{&one}, "SELECT 1 FROM cascades LIMIT 1")
	if err != nil || !some {
		return nil, err
	}
	var key int64
	scan := cascadeTable.scan(&key)
	return collect(s, func(rows *disk.Rows) (cascade, error) {
		c, err := scan(rows)
		c.key = key
		return c, err
	}, cascadesUnderWay())
}

// withCascades is the first version of the schema that has cascades.
const withCascades = 3

// void applies the effects of cascades to stored frames.
func void(t *tx, frames []core.Frame) error {
	if !slices.ContainsFunc(frames, mayBeVoided) {
		return nil
	}
	v, err := t.voiding()
	if v == nil || err != nil {
		return err
	}
	parents := make([]int64, len(frames))
	for i, f := range frames {
		if mayBeVoided(f) {
			if parents[i], err = t.sql.known(f.Parent); err != nil {
				return err
			}
		}
	}
	if err := v.climb(climbing, parents...); err != nil {
		return err
	}
	for i := range frames {
		if c := v.over[parents[i]]; c != nil {
			c.Void(&frames[i])
		}
	}
	return nil
}

// mayBeVoided reports whether a cascade could void a stored frame.
func mayBeVoided(f core.Frame) bool { return f.Status == core.Planned && f.Parent != "" }

// Walks up from frames, whose keys are a JSON array: each visited frame, its
// parent or 0, and the cascade that settled it or 0. UNION drops repeated rows,
// so that each frame is visited once, even in a cycle.
const (
	climbingAll = `WITH RECURSIVE up (key) AS (
		SELECT value FROM json_each(?)
		UNION
		SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL
	) SELECT f.key, coalesce(f.parent, 0), 0 FROM up CROSS JOIN frames f ON f.key = up.key`

	// It ends at a frame that a cascade in progress has settled: that cascade applies below
	// it. Otherwise each batch of a long chain would climb all of it.
	climbing = `WITH RECURSIVE up (key) AS (
		SELECT value FROM json_each(?)
		UNION
		SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL AND ` + settledBy + ` = 0
	) SELECT f.key, coalesce(f.parent, 0), ` + settledBy + ` FROM up CROSS JOIN frames f ON f.key = up.key`

	settledBy = `CASE f.status WHEN 'invalidated' THEN coalesce((SELECT min(c.seq) FROM cascades c
		WHERE c.at = f.invalidated_at AND c.reason = f.invalidation_reason), 0) ELSE 0 END`
)

// A climbed is a frame that a walk up met.
type climbed struct{ key, parent, settledBy int64 }

// climb lets v learn which cascades apply to the frames with these keys; key 0 means no frame.
func (v *voiding) climb(walk string, keys ...int64) error {
	unknown := slices.DeleteFunc(slices.Clone(keys), func(key int64) bool {
		_, known := v.over[key]
		return known || key == 0
	})
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	met := map[int64]climbed{}
	err := v.sql.each(func(rows *disk.Rows) error {
		var c climbed
		err := rows.Scan(&c.key, &c.parent, &c.settledBy)
		met[c.key] = c
		return err
	}, walk, jsonOf(slices.Compact(unknown)))
	if err != nil {
		return err
	}
	for _, key := range unknown {
		v.learn(key, met)
	}
	return nil
}

// learn records the cascade over a frame and over the visited frames above it.
func (v *voiding) learn(key int64, met map[int64]climbed) {
	var way []int64
	var found *cascade
	for at := key; ; {
		known, is := v.over[at]
		if known == onTheWay { // a cycle: a cascade over one of its frames is over all of them
			for _, key := range way[slices.Index(way, at):] {
				found = first(found, v.of(key))
			}
			break
		}
		frame, there := met[at]
		if is || !there {
			found = known
			break
		}
		v.over[at] = onTheWay
		way = append(way, at)
		if frame.settledBy != 0 {
			found = v.find(func(c cascade) bool { return c.seq == frame.settledBy })
			break
		}
		at = frame.parent
	}
	for _, key := range slices.Backward(way) {
		found = first(found, v.of(key))
		v.over[key] = found
	}
}

// onTheWay marks frames whose cascade learn does not know yet.
var onTheWay = &cascade{}

// first returns the older of two cascades; either may be nil.
func first(a, b *cascade) *cascade {
	if a == nil || b != nil && b.seq < a.seq {
		return b
	}
	return a
}

// of returns the cascade of a frame, nil without one.
func (v *voiding) of(key int64) *cascade {
	return v.find(func(c cascade) bool { return c.key == key })
}

func (v *voiding) find(is func(cascade) bool) *cascade {
	if i := slices.IndexFunc(v.cascades, is); i >= 0 {
		return &v.cascades[i]
	}
	return nil
}

// Queries that ask for statuses, or for the latest changes, need the effects of cascades on
// voided frames: they leave out the stored frames and add them again with these effects.

// A voidedSet is all frames that one cascade voids directly below some parents.
type voidedSet struct {
	cascade *cascade
	parents []int64 // keys
}

// cascadesMatter reports whether cascades affect which frames q finds, or their
// order, and not only how each of them reads.
func cascadesMatter(q project.FrameQuery) bool {
	planned := wants(q, core.Planned)
	return !q.Roots && (planned != wants(q, core.Invalidated) || planned && q.Order == project.RecentFirst)
}

// before reports whether all cascades began before the last change of any of these frames:
// then no cascade voids one of them, or an older frame.
func (v *voiding) before(frames []core.Frame) bool {
	return lo.EveryBy(frames, func(f core.Frame) bool {
		return lo.EveryBy(v.cascades, func(c cascade) bool { return c.At < f.UpdatedAt })
	})
}

// wants reports whether q asks for frames of a status.
func wants(q project.FrameQuery, s core.Status) bool {
	return len(q.Statuses) == 0 || slices.Contains(q.Statuses, s)
}

// voidedIn returns sets of voided frames that include all voided frames that q describes.
func (v *voiding) voidedIn(q project.FrameQuery) (sets []voidedSet, err error) {
	parents, err := v.parentsFor(q)
	if err == nil {
		err = v.climb(climbing, parents...)
	}
	for i := range v.cascades {
		c := &v.cascades[i]
		if below := lo.Filter(parents, func(key int64, _ int) bool { return v.over[key] == c }); len(below) > 0 {
			sets = append(sets, voidedSet{c, below})
		}
	}
	return sets, err
}

// plannedParents selects the keys of frames with planned children after a key. It jumps from
// each to the next, so that the number of children does not matter.
const plannedParents = `WITH RECURSIVE parents (key) AS (
	SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > ?
	UNION ALL
	SELECT (SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > parents.key)
	FROM parents WHERE parents.key IS NOT NULL
) SELECT key FROM parents WHERE key IS NOT NULL` + atMost

// parentsFor returns the keys of the frames whose planned children q may describe.
func (v *voiding) parentsFor(q project.FrameQuery) (keys []int64, err error) {
	if q.Parent != "" {
		key, err := v.sql.known(clean(q.Parent))
		return []int64{key}, err
	}
	if v.parents == nil {
		v.parents, err = collect(v.sql, scanKey, plannedParents, 0, limitOf(0))
	}
	return v.parents, err
}

// keySet returns the frames of the set that q may describe. If q asks for a number of the
// latest, it returns only the last ones: all frames of a set changed at the same time.
func (set voidedSet) keySet(q project.FrameQuery) *selection {
	keys := selected(`SELECT f.key FROM json_each(?) v CROSS JOIN frames f INDEXED BY frames_planned
		ON f.parent = v.value AND f.status = 'planned'`, jsonOf(set.parents))
	if !q.Archived {
		keys.add(" AND f.archived_at = 0")
	}
	if q.Order == project.RecentFirst && q.Limit > 0 && q.After == "" && len(keySets(q)) == 0 {
		keys.add(" ORDER BY f.key DESC"+atMost, q.Limit)
	}
	return keys
}

// within returns q for the frames of the set: all of them read as invalidated.
func (set voidedSet) within(q project.FrameQuery) (project.FrameQuery, *selection) {
	keys := set.keySet(q)
	q.Statuses = nil
	return q, keys
}

// without leaves the frames of these sets out.
func (s *selection) without(sets []voidedSet) {
	for _, set := range sets {
		s.add(" AND NOT (f.status = 'planned' AND coalesce(f.parent, 0) IN (SELECT value FROM json_each(?)))", jsonOf(set.parents))
	}
}

// moveVoided moves the voided frames that q describes from planned to invalidated in counts.
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

// countVoided returns the SQL that counts the frames of a set that q describes. An index is
// enough if q asks only for their place in the tree.
func countVoided(q project.FrameQuery, set voidedSet) *selection {
	if len(keySets(q)) == 0 {
		keys := set.keySet(q)
		return selected("SELECT count(*) FROM ("+keys.query()+")", keys.args...)
	}
	count := selected("SELECT count(*)")
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
