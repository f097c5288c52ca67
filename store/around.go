package store

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
	"flame/core/outcome"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// around reads the frames around one. It walks up from that frame, which is
// level 0, and looks on each level for what ended below: children on level 0,
// siblings on level 1, uncles above. The level above a root has no key, and the
// other roots below it. In a cycle the walk continues to its limit.
var around = form.Later(func() string {
	return `WITH RECURSIVE up (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT up.level + 1, f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE up.level < ?2
) SELECT d.part, d.level, f.key, coalesce(f.parent, 0), coalesce(f.session, 0), ` + toldTable.read("f") + ` FROM (
	SELECT 0 AS part, level, key FROM up WHERE level > 0
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow("up") + ` LIMIT +?3) WHERE up.level < 2
	UNION ALL
	SELECT 1, up.level, f.key FROM up CROSS JOIN frames f ON f.key IN (` + endedBelow("up") + ` LIMIT +?4)
		WHERE up.level BETWEEN 2 AND 1 + ?5 AND up.key IS NOT NULL
	UNION ALL
	SELECT 2, 0, key FROM (SELECT key FROM frames
		WHERE parent = ` + form.KeyOf1 + ` AND status = 'planned' AND archived_at = 0 ORDER BY created_at, key LIMIT +?3) d
) d CROSS JOIN frames f ON f.key = d.key`
})

// toldTable has the columns that contexts show of a frame, but for its parent and its
// session: those are the same for most of the frames, and looked up once (see fill).
var toldTable = table[core.Frame]{frameTable.name, frameTable.key, frameTable.some([]string{
	"key", "machine", "status", "created_at", "updated_at", "archived_at",
	"goal", "success_criteria", "artifacts", "decisions", "summary", "log_path",
})}

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

// A nearFrame is a row of around.
type nearFrame struct {
	part, level          int
	key, parent, session int64
	frame                core.Frame
}

// Surroundings returns what surrounds frame id, at most so many of each kind.
func (t *tx) Surroundings(id string, most project.Most) (s core.Surroundings, err error) {
	near, err := t.sql.near(form.Clean(id), max(most.Ancestors, 1+most.Tiers), most.Near, most.Uncles, most.Tiers)
	if err == nil {
		err = t.sql.name(near)
	}
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
	if err := void(t, s.Ancestors); err != nil {
		return s, err
	}
	err = void(t, s.Planned)
	if len(s.Planned) > 0 && s.Planned[0].Status != core.Planned {
		s.Planned = nil // they have one parent, so that a cascade voids all or none
	}
	return s, err
}

// near returns the rows of around by part and level, and each part in its order.
func (s *statements) near(args ...any) ([]*nearFrame, error) {
	var row nearFrame
	scan := toldTable.scan(&row.part, &row.level, &row.key, &row.parent, &row.session)
	near, err := collect(s, func(rows *disk.Rows) (*nearFrame, error) {
		frame, err := scan(rows)
		read := row
		read.frame = frame
		return &read, err
	}, around(), args...)
	slices.SortFunc(near, func(a, b *nearFrame) int {
		byTime := cmp.Or(cmp.Compare(b.frame.UpdatedAt, a.frame.UpdatedAt), cmp.Compare(b.key, a.key))
		if a.part == partPlanned {
			byTime = cmp.Or(cmp.Compare(a.frame.CreatedAt, b.frame.CreatedAt), cmp.Compare(a.key, b.key))
		}
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.level, b.level), byTime)
	})
	return near, err
}

// name gives the frames the ids of their parents and sessions.
func (s *statements) name(near []*nearFrame) error {
	list := make([]unnamed, 0, 2*len(near))
	for _, n := range near {
		s.met(n.key, n.frame.ID)
		list = append(list, unnamed{n.parent, &n.frame.Parent}, unnamed{n.session, &n.frame.Session})
	}
	return s.fill(list)
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

// outcomes reads what ended below frames, whose keys are a JSON list, level by level, and
// below those of them that have no summary. Directly below the frames of a second list it
// reads what decided something.
var outcomes = form.Later(func() string {
	return `WITH RECURSIVE below (level, key, bare, told) AS (
	SELECT 0, k.value, true, true FROM json_each(?1) k
	UNION ALL
	SELECT 0, k.value, false, false FROM json_each(?5) k
	UNION ALL
	SELECT below.level + 1, f.key, below.bare AND f.summary = '', below.bare
		FROM below CROSS JOIN frames f ON f.key IN (` + endedBelow("below") + ` LIMIT +?2)
		WHERE (below.bare OR below.level = 0) AND below.level < ?3
	LIMIT +?4
) SELECT ` + outcomeKeys + startOfSummary(outcomeTable.read("f")) + ` FROM below CROSS JOIN frames f ON f.key = below.key
	WHERE below.level > 0 AND (below.told OR f.decisions <> '[]')`
})

// startOfSummary has columns of the frame f give only as much of its summary as is told
// in a line.
func startOfSummary(columns string) string {
	return strings.Replace(columns, "f.summary AS", "substr(f.summary, 1, 4000) AS", 1)
}

// outcomeTable has what is told of a frame in a summary composed of several, and what
// weighs them against each other; without parents and sessions, as toldTable.
var outcomeTable = table[core.Frame]{frameTable.name, frameTable.key, frameTable.some([]string{
	"key", "machine", "status", "created_at", "started_at", "ended_at", "updated_at", "archived_at",
	"goal", "success_criteria", "artifacts", "decisions", "summary", "log_path",
	"tokens_in", "tokens_out", "cache_read", "cache_written", "cost_usd", "tool_calls",
})}

// Outcomes returns what ended below some frames. In a cycle some of them occur more than
// once.
func (t *tx) Outcomes(of project.Ended) (outcome.Below, error) {
	if of.All != "" {
		return allBeneath(t, of)
	}
	below, err := t.sql.keysOf(of.Below)
	if err != nil {
		return nil, err
	}
	summarized, err := t.sql.keysOf(of.Summarized)
	if err != nil {
		return nil, err
	}
	frames, err := t.sql.outcomes(outcomes(), form.JSONOf(below), of.Each, outcome.Levels, of.Limit+len(below)+len(summarized), form.JSONOf(summarized))
	return byParent(frames), err
}

// outcomeKeys precede the columns of outcomeTable.
const outcomeKeys = "f.key, coalesce(f.parent, 0), coalesce(f.session, 0), "

// outcomes returns the frames of a query for outcomes.
func (s *statements) outcomes(query string, args ...any) ([]core.Frame, error) {
	var key, parent, session int64
	scan := outcomeTable.scan(&key, &parent, &session)
	var keys [][2]int64
	frames, err := collect(s, func(rows *disk.Rows) (core.Frame, error) {
		f, err := scan(rows)
		s.met(key, f.ID)
		keys = append(keys, [2]int64{parent, session})
		return f, err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	list := make([]unnamed, 0, 2*len(frames))
	for i := range frames {
		list = append(list, unnamed{keys[i][0], &frames[i].Parent}, unnamed{keys[i][1], &frames[i].Session})
	}
	return frames, s.fill(list)
}

func byParent(frames []core.Frame) outcome.Below {
	found := outcome.Below{}
	for _, f := range frames {
		found[f.Parent] = append(found[f.Parent], f)
	}
	return found
}

// beneath reads frames below one, level by level: of each parent the latest that ended, and
// the latest that are open.
var beneath = form.Later(func() string {
	return `WITH RECURSIVE below (level, key) AS (
	SELECT 0, key FROM ids WHERE id = ?1
	UNION ALL
	SELECT below.level + 1, f.key FROM below CROSS JOIN frames f ON f.key IN (` + endedBelow("below") + ` LIMIT +?2)
	UNION ALL
	SELECT below.level + 1, f.key FROM below CROSS JOIN frames f ON f.key IN (` + latestBelow("below", core.Planned, core.InProgress) + ` LIMIT +?2)
	LIMIT +?3
) SELECT ` + outcomeKeys + startOfSummary(outcomeTable.read("f")) + ` FROM below CROSS JOIN frames f ON f.key = below.key WHERE below.level > 0`
})

// allBeneath returns the frames of beneath that are not invalidated, by the one above each.
func allBeneath(t *tx, of project.Ended) (outcome.Below, error) {
	frames, err := t.sql.outcomes(beneath(), form.Clean(of.All), of.Each, 1+of.Limit)
	if err != nil {
		return nil, err
	}
	if err := void(t, frames); err != nil {
		return nil, err
	}
	return byParent(slices.DeleteFunc(frames, func(f core.Frame) bool { return f.Status == core.Invalidated })), nil
}
