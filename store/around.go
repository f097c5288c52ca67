package store

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// around reads the frames around one. It walks up from that, which is level 0, and looks
// on each level for what ended below: children on level 0, siblings on level 1, uncles
// above. The level above a root has no key, and the other roots below it. In a cycle the
// walk goes on until its limit.
var around = `WITH RECURSIVE up (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT up.level + 1, f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE up.level < ?2
) SELECT d.part, d.level, f.key, ` + toldTable.read("f") + ` FROM (
	SELECT 0 AS part, level, key FROM up WHERE level > 0
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow + ` LIMIT +?3) WHERE up.level < 2
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow + ` LIMIT +?4)
		WHERE up.level BETWEEN 2 AND 1 + ?5 AND up.key IS NOT NULL
	UNION ALL
	SELECT 2, 0, key FROM (SELECT key FROM frames INDEXED BY frames_parent_status
		WHERE parent = ` + keyOf1 + ` AND status = 'planned' AND archived_at = 0 ORDER BY created_at, key LIMIT +?3) d
) d CROSS JOIN frames f ON f.key = d.key`

// toldTable has what contexts tell of a frame.
var toldTable = table[core.Frame]{frameTable.name, frameTable.key, frameTable.some([]string{
	"key", "parent", "session", "status", "created_at", "updated_at", "archived_at",
	"goal", "success_criteria", "artifacts", "summary", "log_path",
})}

// The parts of around.
const (
	partAncestors = iota
	partEnded
	partPlanned
)

// endedBelow is the SQL for the keys of the frames that ended below up.key, the latest
// change first: each status comes in order from an index, and SQLite merges them.
var endedBelow = func() string {
	var parts []string
	for _, status := range core.Statuses {
		if status.Ended() {
			parts = append(parts, `SELECT key, updated_at FROM frames INDEXED BY frames_parent_status
				WHERE parent IS up.key AND status = '`+string(status)+`' AND archived_at = 0`)
		}
	}
	return "SELECT key FROM (" + strings.Join(parts, " UNION ALL ") + " ORDER BY updated_at DESC, key DESC) d"
}()

// A nearFrame is a row of around.
type nearFrame struct {
	part, level int
	key         int64
	frame       core.Frame
}

// Surroundings returns what lies around frame id, at most so many of each.
func (t *tx) Surroundings(id string, most project.Most) (s core.Surroundings, err error) {
	levels := max(most.Ancestors, 1+most.Tiers)
	near, err := t.sql.near(clean(id), levels, most.Near, most.Uncles, most.Tiers)
	if err != nil {
		return s, err
	}
	s.Ancestors = ancestorsIn(id, near)
	for _, n := range near {
		switch {
		case n.part == partPlanned:
			s.Planned = append(s.Planned, n.frame)
		case n.part == partEnded && n.level == 0:
			s.Children = append(s.Children, n.frame)
		case n.part == partEnded && n.level == 1 && n.frame.ID != id:
			s.Siblings = append(s.Siblings, n.frame)
		case n.part == partEnded && n.level > 1 && n.level-2 < len(s.Ancestors) && n.frame.ID != s.Ancestors[n.level-2].ID:
			s.Uncles = append(s.Uncles, n.frame)
		}
	}
	s.Ancestors = s.Ancestors[:min(len(s.Ancestors), most.Ancestors)]
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
func (s *statements) near(args ...any) ([]nearFrame, error) {
	var n nearFrame
	scan := toldTable.scan(&n.part, &n.level, &n.key)
	near, err := collect(s, func(rows *sql.Rows) (nearFrame, error) {
		var err error
		n.frame, err = scan(rows)
		return n, err
	}, around, args...)
	slices.SortFunc(near, func(a, b nearFrame) int {
		byTime := cmp.Or(cmp.Compare(b.frame.UpdatedAt, a.frame.UpdatedAt), cmp.Compare(b.key, a.key))
		if a.part == partPlanned {
			byTime = cmp.Or(cmp.Compare(a.frame.CreatedAt, b.frame.CreatedAt), cmp.Compare(a.key, b.key))
		}
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.level, b.level), byTime)
	})
	return near, err
}

// ancestorsIn returns the ancestors of frame id, parent first, up to the first that
// the walk met before.
func ancestorsIn(id string, near []nearFrame) (above []core.Frame) {
	met := map[string]bool{id: true}
	for _, n := range near {
		if n.part != partAncestors || met[n.frame.ID] {
			break
		}
		met[n.frame.ID] = true
		above = append(above, n.frame)
	}
	return above
}
