package store

import (
	"database/sql"
	"encoding/json"
	"slices"

	"flame/core"
	"flame/project"
)

// A frame is voided while it is stored as planned but reads as invalidated, as it lies
// below the frame of a cascade (see project.Cascades). Nearly always there are no
// cascades; then queries are not changed, and nothing here costs anything.

// A voiding is what a transaction knows of the cascades under way.
type voiding struct {
	cascades []cascade          // the first begun first
	over     map[int64]*cascade // by key of a frame: the first cascade of it or of a frame above it; nil without one
	parents  []int64            // keys of all frames with planned children; nil until asked for
}

// voiding returns what is known of the cascades under way, without any nil.
func (t *tx) voiding() (*voiding, error) {
	if t.voids == nil {
		cascades, err := t.underWay()
		if err != nil {
			return nil, err
		}
		t.voids = &voiding{cascades: cascades, over: map[int64]*cascade{}}
	}
	if len(t.voids.cascades) == 0 {
		return nil, nil
	}
	return t.voids, nil
}

// underWay returns the cascades, the first begun first. It asks first whether there
// are any: that is the shorter statement, which each process has to compile.
func (t *tx) underWay() ([]cascade, error) {
	if t.older {
		return nil, nil
	}
	var one int
	some, err := t.get([]any{&one}, "SELECT 1 FROM cascades LIMIT 1")
	if err != nil || !some {
		return nil, err
	}
	return collect(t, scanCascade, cascadesUnderWay)
}

// withCascades is the first version of the schema that has them.
const withCascades = 3

// readFrames returns the frames of a query as they read.
func (t *tx) readFrames(query string, args ...any) ([]core.Frame, error) {
	frames, err := collect(t, scanFrame, query, args...)
	if err != nil {
		return nil, err
	}
	return frames, t.void(frames)
}

// void brings frames from what is stored to what they read as.
func (t *tx) void(frames []core.Frame) error {
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
			if parents[i], err = t.known(f.Parent); err != nil {
				return err
			}
		}
	}
	if err := t.climb(v, climbing, parents...); err != nil {
		return err
	}
	for i := range frames {
		if c := v.over[parents[i]]; c != nil {
			c.Void(&frames[i])
		}
	}
	return nil
}

// mayBeVoided reports whether a frame as it is stored could be voided.
func mayBeVoided(f core.Frame) bool { return f.Status == core.Planned && f.Parent != "" }

// Walks up from frames, whose keys are a JSON array: each frame that is met, its
// parent or 0, and the cascade that settled it or 0. UNION drops what was met, which
// ends a cycle and keeps the walk as long as the tree is large.
const (
	climbingAll = `WITH RECURSIVE up (key) AS (
		SELECT value FROM json_each(?)
		UNION
		SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL
	) SELECT f.key, coalesce(f.parent, 0), 0 FROM up CROSS JOIN frames f ON f.key = up.key`

	// It ends at what a cascade under way has settled: below that is the same
	// cascade. Else each batch of a long chain would climb all of it.
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

// climb sees to it that v knows what is over these frames; 0 is none of them.
func (t *tx) climb(v *voiding, walk string, keys ...int64) error {
	unknown := slices.DeleteFunc(slices.Clone(keys), func(key int64) bool {
		_, known := v.over[key]
		return known || key == 0
	})
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	met := map[int64]climbed{}
	err := t.each(func(rows *sql.Rows) error {
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

// learn notes what is over a frame and those above it, which were met.
func (v *voiding) learn(key int64, met map[int64]climbed) {
	var way []int64
	var found *cascade
	for at := key; ; {
		known, is := v.over[at]
		if known == onTheWay { // a cycle: what is over one frame of it is over all
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
			found = v.bySeq(frame.settledBy)
			break
		}
		at = frame.parent
	}
	for _, key := range slices.Backward(way) {
		found = first(found, v.of(key))
		v.over[key] = found
	}
}

// onTheWay stands for what learn does not know yet.
var onTheWay = &cascade{}

// first returns the one of two cascades that was begun first; nil is none.
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

func (v *voiding) bySeq(seq int64) *cascade {
	return v.find(func(c cascade) bool { return c.seq == seq })
}

func (v *voiding) find(is func(cascade) bool) *cascade {
	if i := slices.IndexFunc(v.cascades, is); i >= 0 {
		return &v.cascades[i]
	}
	return nil
}

// A voidedSet is all frames that one cascade voids directly below some others.
type voidedSet struct {
	cascade *cascade
	parents []int64 // keys of those others
}

// voidedFor returns those that matter to which frames q finds, or in which order, and
// not only to how each of them reads.
func (t *tx) voidedFor(q project.FrameQuery) ([]voidedSet, error) {
	planned := wants(q, core.Planned)
	if planned == wants(q, core.Invalidated) && !(planned && q.Order == project.RecentFirst) {
		return nil, nil
	}
	return t.voidedIn(q)
}

// wants reports whether q asks for frames of a status.
func wants(q project.FrameQuery, s core.Status) bool {
	return len(q.Statuses) == 0 || slices.Contains(q.Statuses, s)
}

// voidedIn returns the sets of voided frames among which are all that q describes.
func (t *tx) voidedIn(q project.FrameQuery) (sets []voidedSet, err error) {
	v, err := t.voiding()
	if v == nil || err != nil || q.Roots {
		return nil, err
	}
	parents, err := t.parentsFor(v, q)
	if err == nil {
		err = t.climb(v, climbing, parents...)
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

// plannedParents returns the keys of frames with planned children from one key on. It
// leaps from each to the next, however many children there are.
const plannedParents = `WITH RECURSIVE parents (key) AS (
	SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > ?
	UNION ALL
	SELECT (SELECT min(parent) FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent > parents.key)
	FROM parents WHERE parents.key IS NOT NULL
) SELECT key FROM parents WHERE key IS NOT NULL` + atMost

func scanKey(rows *sql.Rows) (key int64, err error) { return key, rows.Scan(&key) }

// parentsFor returns the keys of the frames whose planned children q may describe.
func (t *tx) parentsFor(v *voiding, q project.FrameQuery) (keys []int64, err error) {
	if q.Parent != "" {
		key, err := t.known(clean(q.Parent))
		return []int64{key}, err
	}
	if v.parents == nil {
		v.parents, err = collect(t, scanKey, plannedParents, 0, limitOf(0))
	}
	return v.parents, err
}

// within is q for the frames of the set: all of them read as invalidated.
func (set voidedSet) within(q project.FrameQuery) (project.FrameQuery, keySet) {
	q.Statuses = nil
	return q, keySet{`SELECT f.key FROM json_each(?) v CROSS JOIN frames f INDEXED BY frames_planned
		ON f.parent = v.value AND f.status = 'planned'`, []any{jsonOf(set.parents)}}
}

// without leaves the frames of these sets out.
func (s *selection) without(sets []voidedSet) {
	for _, set := range sets {
		s.add(" AND NOT (f.status = 'planned' AND coalesce(f.parent, 0) IN (SELECT value FROM json_each(?)))", jsonOf(set.parents))
	}
}

// moveVoided brings counts of the frames that q describes from what is stored to
// what they read as.
func (t *tx) moveVoided(q project.FrameQuery, counts map[core.Status]int) error {
	if !wants(q, core.Planned) && !wants(q, core.Invalidated) {
		return nil
	}
	sets, err := t.voidedIn(q)
	for _, set := range sets {
		count := &selection{}
		count.add("SELECT count(*)")
		count.frames(set.within(q))
		var n int
		if _, err := t.get([]any{&n}, count.query(), count.args...); err != nil {
			return err
		}
		move(counts, q, core.Planned, -n)
		move(counts, q, core.Invalidated, n)
	}
	return err
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

// jsonOf returns keys as a JSON array.
func jsonOf(keys []int64) string {
	text, _ := json.Marshal(keys) // numbers always can be
	return string(text)
}
