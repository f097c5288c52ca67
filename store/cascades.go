package store

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

func (t *tx) Cascades() ([]project.Cascade, error) {
	v, err := t.voiding()
	if v == nil || err != nil {
		return nil, err
	}
	return lo.Map(v.cascades, func(c cascade, _ int) project.Cascade { return c.Cascade }), nil
}

// begunColumns are the columns set when a cascade begins.
var begunColumns = []string{"frame", "session", "subagent", "at", "reason", "due", "settled"}

var beginCascade = later(func() string {
	return "INSERT INTO cascades (" + cascadeTable.each(itself, begunColumns...) + ", seq, reached) VALUES (" +
		placeholders(len(begunColumns)) + ", (SELECT coalesce(max(seq), 0) + 1 FROM cascades), 0) ON CONFLICT (frame) DO NOTHING"
})

func (t *tx) BeginCascade(c project.Cascade) error {
	values, err := cascadeTable.values(t.sql, &cascade{Cascade: c}, begunColumns...)
	if err != nil {
		return err
	}
	t.voids = nil
	if _, err = t.sql.exec(beginCascade(), values...); err != nil {
		return err
	}
	return t.sql.raiseRevision()
}

func (t *tx) PutOffCascade(frame string, due core.Millis) error {
	t.voids = nil
	_, err := t.sql.exec(`UPDATE cascades SET due = ? WHERE frame = `+keyOf, due, clean(frame))
	return err
}

func (t *tx) EndCascade(frame string) error {
	v, err := t.voiding()
	if v == nil || err != nil {
		return err
	}
	t.voids = nil
	_, err = t.sql.exec(`DELETE FROM cascades WHERE frame = `+keyOf, clean(frame))
	return err
}

// SQL that settles the next frames, whose keys are a JSON array. The plus keeps SQLite from
// searching them among all planned frames.
const (
	plannedChildren = `SELECT key FROM frames INDEXED BY frames_planned WHERE status = 'planned' AND parent = ?` + atMost
	progress        = `UPDATE cascades SET settled = settled + ?, reached = ? WHERE frame = ?`
)

var settle = later(func() string {
	return "UPDATE frames SET " + frameTable.each(func(column string) string { return column + " = ?" }, changedByCascade...) +
		", " + stamp.name + " = " + stamp.value + " WHERE key IN (SELECT value FROM json_each(?)) AND +status = 'planned'"
})

func (t *tx) Settle(frame string, e core.Event, limit int) (ids []string, more bool, err error) {
	v, err := t.voiding()
	if v == nil || err != nil {
		return nil, false, err
	}
	c := v.find(func(c cascade) bool { return c.Frame == frame })
	if c == nil {
		return nil, false, nil
	}
	keys, more, err := v.next(c, limit)
	if err != nil {
		return nil, false, err
	}
	if _, err := t.sql.exec(progress, len(keys), c.reached, c.key); err != nil || len(keys) == 0 {
		return nil, more, err
	}
	c.Settled += len(keys)
	if err := t.sql.raiseRevision(); err != nil { // the frames read as before, but Changed returns stored frames
		return nil, false, err
	}
	if _, err := t.sql.exec(settle(), append(c.changes(), jsonOf(keys))...); err != nil {
		return nil, false, err
	}
	values, err := t.sql.eventValues(&e)
	if err == nil {
		_, err = t.sql.exec(appendAbout(), append(values, jsonOf(keys))...)
	}
	if err != nil {
		return nil, false, err
	}
	ids, err = t.sql.ids(keys)
	return ids, more, err
}

// next returns the keys of at most limit frames that c voids, and advances c.reached. It
// looks at a limited number of other frames too, so there may be more even if it returns
// none.
func (v *voiding) next(c *cascade, limit int) (keys []int64, more bool, err error) {
	parents, err := collect(v.sql, scanKey, plannedParents, c.reached, limit)
	if err == nil {
		err = v.climb(climbing, parents...)
	}
	if err != nil {
		return nil, false, err
	}
	for _, parent := range parents {
		if v.over[parent] == c {
			found, err := collect(v.sql, scanKey, plannedChildren, parent, limit-len(keys))
			if err != nil {
				return nil, false, err
			}
			if keys = append(keys, found...); len(keys) == limit {
				return keys, true, nil
			}
		}
		c.reached = parent
	}
	return keys, len(parents) == limit, nil
}

// unvoided returns a frame about to be saved in the form in which the store keeps it while
// there are cascades: it leaves a status that comes from a cascade for that cascade to
// settle. The cascade also voids a frame moved below its frame.
func unvoided(t *tx, f core.Frame) (core.Frame, error) {
	v, err := t.voiding()
	if v == nil || err != nil {
		return f, err
	}
	c, err := v.cascadeOver(f.Parent)
	if err != nil {
		return f, err
	}
	t.voids = nil // frames may move
	if c == nil {
		return f, nil
	}
	stored, err := collect(t.sql, scanFrame(new(int64)), frameByID(), clean(f.ID))
	if err != nil {
		return f, err
	}
	before := core.Frame{Parent: f.Parent}
	if len(stored) > 0 {
		before = stored[0]
	}
	read := before
	if c.Void(&read) && f.Status == read.Status && f.InvalidatedAt == read.InvalidatedAt && f.InvalidationReason == read.InvalidationReason {
		f.Status, f.EndedAt = before.Status, before.EndedAt
		f.InvalidatedAt, f.InvalidationReason = before.InvalidatedAt, before.InvalidationReason
	}
	if before.Parent != f.Parent || f.Status == core.Planned && before.Status != core.Planned {
		_, err = t.sql.exec(`UPDATE cascades SET reached = 0 WHERE frame = ?`, c.key)
	}
	return f, err
}

// cascadeOver returns the first cascade that voids the planned frames directly below a frame,
// or nil.
func (v *voiding) cascadeOver(parent string) (*cascade, error) {
	key, err := v.sql.known(clean(parent))
	if err == nil {
		err = v.climb(climbing, key)
	}
	return v.over[key], err
}

// lookedAt is how many frames OpenBelow looks at.
const lookedAt = 250

const nextInProgress = `SELECT f.key, coalesce(f.parent, 0), f.archived_at, f.updated_at FROM frames f INDEXED BY frames_status
	WHERE f.status = 'in_progress' AND (f.archived_at, f.updated_at, f.key) < (?, ?, ?)
	ORDER BY f.archived_at DESC, f.updated_at DESC, f.key DESC` + atMost

func (t *tx) OpenBelow(top, from string) (ids []string, next string, err error) {
	at := [3]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64} // archived, updated, key
	if from != "" {
		if err := json.Unmarshal([]byte(from), &at); err != nil {
			return nil, "", err
		}
	}
	var keys, parents []int64
	err = t.sql.each(func(rows *disk.Rows) error {
		var parent int64
		err := rows.Scan(&at[2], &parent, &at[0], &at[1])
		keys, parents = append(keys, at[2]), append(parents, parent)
		return err
	}, nextInProgress, at[0], at[1], at[2], lookedAt)
	if err != nil {
		return nil, "", err
	}
	if len(keys) == lookedAt {
		next = fmt.Sprintf("[%d,%d,%d]", at[0], at[1], at[2])
	}
	ids, err = t.sql.below(top, keys, parents)
	return ids, next, err
}

// below returns the ids of the frames below top, among frames given by their
// keys and their parents' keys.
func (s *statements) below(top string, keys, parents []int64) ([]string, error) {
	key, err := s.known(clean(top))
	if err != nil {
		return nil, err
	}
	all := &voiding{sql: s, over: map[int64]*cascade{}, cascades: []cascade{{key: key}}}
	if err := all.climb(climbingAll, parents...); err != nil {
		return nil, err
	}
	return s.ids(lo.Filter(keys, func(_ int64, i int) bool { return all.over[parents[i]] != nil }))
}
