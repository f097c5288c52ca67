package store

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// around reads the frames around one. It walks up from that frame, which is
// level 0, and looks on each level for what ended below: children on level 0,
// siblings on level 1, uncles above. The level above a root has no key, and the
// other roots below it. In a cycle the walk continues to its limit.
var around = `WITH RECURSIVE up (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT up.level + 1, f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE up.level < ?2
) SELECT d.part, d.level, f.key, ` + toldTable.read("f") + ` FROM (
	SELECT 0 AS part, level, key FROM up WHERE level > 0
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow("up") + ` LIMIT +?3) WHERE up.level < 2
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow("up") + ` LIMIT +?4)
		WHERE up.level BETWEEN 2 AND 1 + ?5 AND up.key IS NOT NULL
	UNION ALL
	SELECT 2, 0, key FROM (SELECT key FROM frames
		WHERE parent = ` + keyOf1 + ` AND status = 'planned' AND archived_at = 0 ORDER BY created_at, key LIMIT +?3) d
) d CROSS JOIN frames f ON f.key = d.key`

// toldTable has the columns that contexts show of a frame.
var toldTable = table[core.Frame]{frameTable.name, frameTable.key, frameTable.some([]string{
	"key", "parent", "session", "status", "created_at", "updated_at", "archived_at",
	"goal", "success_criteria", "artifacts", "decisions", "summary", "log_path",
})}

// The parts of around.
const (
	partAncestors = iota
	partEnded
	partPlanned
)

// endedBelow returns the SQL for the keys of the frames that ended below the key of a row,
// the latest change first: each status comes in order from an index, and SQLite
// merges them.
func endedBelow(row string) string {
	var parts []string
	for _, status := range core.Statuses {
		if status.Ended() {
			parts = append(parts, `SELECT key, updated_at FROM frames INDEXED BY frames_parent_status
				WHERE parent IS `+row+`.key AND status = '`+string(status)+`' AND archived_at = 0`)
		}
	}
	return "SELECT key FROM (" + strings.Join(parts, " UNION ALL ") + " ORDER BY updated_at DESC, key DESC) d"
}

// A nearFrame is a row of around.
type nearFrame struct {
	part, level int
	key         int64
	frame       core.Frame
}

// Surroundings returns what surrounds frame id, at most so many of each kind.
func (t *tx) Surroundings(id string, most project.Most) (s core.Surroundings, err error) {
	near, err := t.sql.near(clean(id), max(most.Ancestors, 1+most.Tiers), most.Near, most.Uncles, most.Tiers)
	if err != nil {
		return s, err
	}
	way := wayUp(id, near)
	all := make([]core.Frame, 0, len(near)) // what the lists of s are parts of
	for _, n := range near {
		if n.part == partAncestors && n.level >= min(len(way), 1+most.Ancestors) || n.isOn(way) {
			continue
		}
		list := n.list(&s)
		all = append(all, n.frame)
		*list = all[len(all)-1-len(*list) : len(all) : len(all)]
	}
	if err := t.void(s.Ancestors); err != nil {
		return s, err
	}
	err = t.void(s.Planned)
	if len(s.Planned) > 0 && s.Planned[0].Status != core.Planned {
		s.Planned = nil // they have one parent, so that a cascade voids all or none
	}
	return s, err
}

// near returns the rows of around by part and level, and each part in its order.
func (s *statements) near(args ...any) ([]*nearFrame, error) {
	var row nearFrame
	scan := toldTable.scan(&row.part, &row.level, &row.key)
	near, err := collect(s, func(rows *sql.Rows) (*nearFrame, error) {
		frame, err := scan(rows)
		return &nearFrame{row.part, row.level, row.key, frame}, err
	}, around, args...)
	slices.SortFunc(near, func(a, b *nearFrame) int {
		byTime := cmp.Or(cmp.Compare(b.frame.UpdatedAt, a.frame.UpdatedAt), cmp.Compare(b.key, a.key))
		if a.part == partPlanned {
			byTime = cmp.Or(cmp.Compare(a.frame.CreatedAt, b.frame.CreatedAt), cmp.Compare(a.key, b.key))
		}
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.level, b.level), byTime)
	})
	return near, err
}

// wayUp returns the ids of frame id and its ancestors, parent first, up to the first
// that the walk met before.
func wayUp(id string, near []*nearFrame) []string {
	way := []string{id}
	for _, n := range near {
		if n.part != partAncestors || slices.Contains(way, n.frame.ID) {
			break
		}
		way = append(way, n.frame.ID)
	}
	return way
}

// isOn reports whether n lies beside a frame of the way up and is that frame, or
// beside none of them.
func (n *nearFrame) isOn(way []string) bool {
	return n.part == partEnded && n.level > 0 && (n.level > len(way) || n.frame.ID == way[n.level-1])
}

// list returns the list of s that n belongs to.
func (n *nearFrame) list(s *core.Surroundings) *[]core.Frame {
	switch n.part {
	case partAncestors:
		return &s.Ancestors
	case partPlanned:
		return &s.Planned
	}
	return []*[]core.Frame{&s.Children, &s.Siblings, &s.Uncles}[min(n.level, 2)]
}

// outcomes reads what ended below frames, whose ids are a JSON list, level by level, and
// below those of them that have no summary.
var outcomes = `WITH RECURSIVE below (level, key, bare) AS (
	SELECT 0, i.key, true FROM json_each(?1) k CROSS JOIN ids i ON i.id = k.value
	UNION ALL
	SELECT below.level + 1, f.key, f.summary = '' FROM below CROSS JOIN frames f ON f.key IN (` + endedBelow("below") + ` LIMIT +?2)
		WHERE below.bare AND below.level < ?3
	LIMIT +?4
) SELECT ` + toldTable.read("f") + ` FROM below CROSS JOIN frames f ON f.key = below.key WHERE below.level > 0`

// Outcomes returns what ended below each of these frames, at most limit frames. In a
// cycle some of them occur more than once.
func (t *tx) Outcomes(ids []string, limit int) (core.Outcomes, error) {
	found := core.Outcomes{}
	scan := toldTable.scan()
	err := t.sql.each(func(rows *sql.Rows) error {
		f, err := scan(rows)
		found[f.Parent] = append(found[f.Parent], f)
		return err
	}, outcomes, jsonOf(ids), core.OutcomesEach+1, core.OutcomeLevels, limit+len(ids))
	return found, err
}
