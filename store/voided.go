package store

import (
	"slices"

	"flame/core"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// A frame is voided while it is stored as planned but reads as invalidated,
// because it is below the frame of a cascade (see project.Cascades). There are
// hardly ever cascades; without them queries are unchanged, and nothing here
// costs anything.

// A cascade is a project.Cascade with what only the store needs.
type cascade struct {
	project.Cascade
	seq     int64 // the oldest has the lowest
	key     int64 // of its frame
	reached int64 // nothing is left to settle among the children of frames with keys up to this
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

var cascadesUnderWay = form.Later(func() string {
	return "SELECT c.frame, " + cascadeTable.read("c") + " FROM cascades c ORDER BY c.seq, c.frame"
})

// scanCascade returns what reads a cascade with its key.
func scanCascade() func(*disk.Rows) (cascade, error) {
	var key int64
	scan := cascadeTable.scan(&key)
	return func(rows *disk.Rows) (cascade, error) {
		c, err := scan(rows)
		c.key = key
		return c, err
	}
}

// changes returns the values that the cascade gives a planned frame, in the
// columns that it changes.
func (c *cascade) changes() []any {
	f := core.Frame{Status: core.Planned}
	c.Void(&f)
	values, _ := frameTable.values(nil, &f, changedByCascade...) // no key of an id is looked up for them
	return values
}

// A voiding is what a transaction knows of the cascades in progress.
type voiding struct {
	sql      *statements
	cascades []cascade          // oldest first
	over     map[int64]*cascade // by key of a frame: the first cascade of it or of a frame above it, or nil
	parents  []int64            // keys of all frames with planned children; nil until asked for
}

// voiding returns what is known of the cascades in progress, or nil if there
// are none.
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

// underWay returns the cascades, oldest first. It asks first whether there are
// any: that is the shorter statement, which each process has to compile.
func (s *statements) underWay() ([]cascade, error) {
	var one int
	some, err := s.get([]any{&one}, "SELECT 1 FROM cascades LIMIT 1")
	if err != nil || !some {
		return nil, err
	}
	return collect(s, scanCascade(), cascadesUnderWay())
}

// withCascades is the first version of the schema that has them.
const withCascades = 3

// void turns frames from their stored form into what they read as.
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

// mayBeVoided reports whether a frame as it is stored could be voided.
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

	// It ends at what a cascade in progress has settled: below that the cascade
	// is the same. Otherwise each batch of a long chain would climb all of it.
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

// climb lets v learn which cascades are over these frames, by keys; 0 means
// none.
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
	}, walk, form.JSONOf(slices.Compact(unknown)))
	if err != nil {
		return err
	}
	for _, key := range unknown {
		v.learn(key, met)
	}
	return nil
}

// learn records the cascade over a frame and over the visited ones above it.
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

// onTheWay marks what learn does not know yet.
var onTheWay = &cascade{}

// first returns the older of two cascades; nil is none.
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
