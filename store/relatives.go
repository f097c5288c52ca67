package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/summaries"
	"flame/project"
	"flame/store/disk"
)

// around reads the frames around a frame. It walks up from that frame, which is
// level 0, and looks on each level for ended frames below: children on level 0,
// siblings on level 1, uncles above. The level above a root has no key, and the
// other roots lie below it. In a cycle the walk continues to its limit.
var around = later(func() string {
	return `WITH RECURSIVE up (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT up.level + 1, f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE up.level < ?2
) SELECT d.part, d.level, ` + nearKeys + toldTable.read("f") + ` FROM (
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
})

// toldTable has the columns of a frame that contexts show, without ids: fill looks up those that
// the connection does not remember, each once.
var toldTable = frameTable.of(told)

// The parts of around.
const (
	partAncestors = iota
	partEnded
	partPlanned
)

// endedBelow returns the SQL for the keys of the frames that ended below the key of a row,
// the latest change first.
func endedBelow(row string) string {
	return latestBelow(row, core.Completed, core.Blocked, core.Failed)
}

// latestBelow returns the SQL for the keys of the frames of these statuses below the key of
// a row, the latest change first: each status comes in order from an index, and SQLite
// merges them.
func latestBelow(row string, statuses ...core.Status) string {
	var parts []string
	for _, status := range statuses {
		parts = append(parts, `SELECT key, updated_at FROM frames INDEXED BY frames_parent_status
			WHERE parent IS `+row+`.key AND status = '`+string(status)+`' AND archived_at = 0`)
	}
	return "SELECT key FROM (" + strings.Join(parts, " UNION ALL ") + " ORDER BY updated_at DESC, key DESC) d"
}

// A nearFrame is a row of around, outcomes or beneath.
type nearFrame struct {
	part, level          int
	key, parent, session int64
	frame                core.Frame
}

func (t *tx) Surroundings(id string, most project.RelativesLimit) (s core.ContextInput, err error) {
	near, err := t.sql.near(toldTable, around(), clean(id), max(most.Ancestors, 1+most.Tiers), most.Near, most.Uncles, most.Tiers)
	if err != nil {
		return s, err
	}
	slices.SortFunc(near, (*nearFrame).compare)
	way := wayUp(id, near)
	all := make([]core.Frame, 0, len(near)) // the lists of s are parts of this
	for _, n := range near {
		if n.part == partAncestors && n.level >= min(len(way), 1+most.Ancestors) || n.isOn(way) {
			continue
		}
		list := n.list(&s)
		all = append(all, n.frame)
		*list = all[len(all)-1-len(*list) : len(all) : len(all)]
	}
	return s, nil
}

// nearKeys precede the columns of a frame in the rows of near, behind its part and level.
const nearKeys = "f.key, coalesce(f.parent, 0), coalesce(f.session, 0), "

// near returns the rows of a query for columns of frames, in any order. It looks up their ids, and
// those of their parents and sessions.
func (s *statements) near(columns table[core.Frame], query string, args ...any) ([]*nearFrame, error) {
	var row nearFrame
	scan := columns.scan(&row.part, &row.level, &row.key, &row.parent, &row.session)
	near, err := collect(s, func(rows *disk.Rows) (*nearFrame, error) {
		frame, err := scan(rows)
		read := row
		read.frame = frame
		return &read, err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	list := make([]optionalID, 0, 3*len(near))
	for _, n := range near {
		list = append(list, optionalID{n.key, &n.frame.ID}, optionalID{n.parent, &n.frame.Parent}, optionalID{n.session, &n.frame.Session})
	}
	return near, s.fill(list)
}

// compare orders frames by part and level, and each part in its order.
func (n *nearFrame) compare(other *nearFrame) int {
	byTime := cmp.Or(cmp.Compare(other.frame.UpdatedAt, n.frame.UpdatedAt), cmp.Compare(other.key, n.key))
	if n.part == partPlanned {
		byTime = cmp.Or(cmp.Compare(n.frame.CreatedAt, other.frame.CreatedAt), cmp.Compare(n.key, other.key))
	}
	return cmp.Or(cmp.Compare(n.part, other.part), cmp.Compare(n.level, other.level), byTime)
}

// wayUp returns the ids of frame id and its ancestors, parent first, up to the first
// repetition.
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

// isOn reports whether n is an ended frame that is itself on the way up, or that lies beside
// no frame of the way.
func (n *nearFrame) isOn(way []string) bool {
	return n.part == partEnded && n.level > 0 && (n.level > len(way) || n.frame.ID == way[n.level-1])
}

// list returns the list of s that n belongs to.
func (n *nearFrame) list(s *core.ContextInput) *[]core.Frame {
	switch n.part {
	case partAncestors:
		return &s.Ancestors
	case partPlanned:
		return &s.Planned
	}
	return []*[]core.Frame{&s.Children, &s.Siblings, &s.Uncles}[min(n.level, 2)]
}

// outcomes reads the ended frames below frames, whose ids are a JSON list, level by level. It
// continues below those that have no summary. Directly below the frames of a second list it
// reads the frames that have decisions.
var outcomes = later(func() string {
	return `WITH RECURSIVE below (level, key, bare, told) AS (
	SELECT 0, i.key, true, true FROM json_each(?1) k CROSS JOIN ids i ON i.id = k.value
	UNION ALL
	SELECT 0, i.key, false, false FROM json_each(?5) k CROSS JOIN ids i ON i.id = k.value
	UNION ALL
	SELECT below.level + 1, f.key, below.bare AND f.summary = '', below.bare
		FROM below CROSS JOIN frames f ON f.key IN (` + endedBelow("below") + ` LIMIT +?2)
		WHERE (below.bare OR below.level = 0) AND below.level < ?3
	LIMIT +?4
) SELECT 0, below.level, ` + nearKeys + startOfSummary(outcomeTable.read("f")) + ` FROM below CROSS JOIN frames f ON f.key = below.key
	WHERE below.level > 0 AND (below.told OR f.decisions <> '[]')`
})

// startOfSummary changes columns of the frame f so that they contain only as much of its
// summary as one line shows.
func startOfSummary(columns string) string {
	return strings.Replace(columns, "f.summary AS", "substr(f.summary, 1, 4000) AS", 1)
}

// outcomeTable has the columns of a frame that a composed summary shows, and those by which
// it ranks frames; like toldTable, without ids.
var outcomeTable = frameTable.of(told | ranked)

func (t *tx) Outcomes(of project.OutcomeQuery) (summaries.EndedByParent, error) {
	query, args := beneath(), []any{clean(of.All), of.Each, 1 + of.Limit}
	if of.All == "" {
		query, args = outcomes(), []any{jsonOf(cleaned(of.Below)), of.Each, summaries.MaxLevels,
			of.Limit + len(of.Below) + len(of.Summarized), jsonOf(cleaned(of.Summarized))}
	}
	near, err := t.sql.near(outcomeTable, query, args...)
	return lo.GroupByMap(near, func(n *nearFrame) (string, core.Frame) { return n.frame.Parent, n.frame }), err
}

// beneath reads the frames below a frame, level by level: for each parent the latest ended
// ones, and the latest open ones.
var beneath = later(func() string {
	return `WITH RECURSIVE below (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT below.level + 1, f.key FROM below CROSS JOIN frames f ON f.key IN (` + endedBelow("below") + ` LIMIT +?2)
	UNION ALL
	SELECT below.level + 1, f.key FROM below CROSS JOIN frames f ON f.key IN (` + latestBelow("below", core.Planned, core.InProgress) + ` LIMIT +?2)
	LIMIT +?3
) SELECT 0, below.level, ` + nearKeys + startOfSummary(outcomeTable.read("f")) + ` FROM below CROSS JOIN frames f ON f.key = below.key WHERE below.level > 0`
})
