package store

import (
	"fmt"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// frameTable keeps frames.
var frameTable = table[core.Frame]{"frames", "key", append([]column[core.Frame]{
	{"key", func(f *core.Frame) any { return id{&f.ID} }},
	{"parent", func(f *core.Frame) any { return id{&f.Parent} }},
	{"session", func(f *core.Frame) any { return id{&f.Session} }},
	{"status", func(f *core.Frame) any { return &f.Status }},
	{"created_at", func(f *core.Frame) any { return &f.CreatedAt }},
	{"started_at", func(f *core.Frame) any { return &f.StartedAt }},
	{"ended_at", func(f *core.Frame) any { return &f.EndedAt }},
	{"updated_at", func(f *core.Frame) any { return &f.UpdatedAt }},
	{"archived_at", func(f *core.Frame) any { return &f.ArchivedAt }},
	{"invalidated_at", func(f *core.Frame) any { return &f.InvalidatedAt }},
	{"invalidation_reason", func(f *core.Frame) any { return &f.InvalidationReason }},
	{"goal_is_default", func(f *core.Frame) any { return &f.GoalIsDefault }},
	{"confidence", func(f *core.Frame) any { return &f.Confidence }},
	{"log_path", func(f *core.Frame) any { return &f.LogPath }},
	{"machine", func(f *core.Frame) any { return &f.Machine }},
	{"planned_children", func(f *core.Frame) any { return &f.PlannedChildren }},
	{"goal", func(f *core.Frame) any { return &f.Goal }},
	{"success_criteria", func(f *core.Frame) any { return &f.SuccessCriteria }},
	{"artifacts", func(f *core.Frame) any { return &f.Artifacts }},
	{"decisions", func(f *core.Frame) any { return &f.Decisions }},
	{"summary", func(f *core.Frame) any { return &f.Summary }},
	{"results", func(f *core.Frame) any { return &f.Results }},
}, part(usageColumns, func(f *core.Frame) *core.Usage { return &f.Usage })...)}

var usageColumns = []column[core.Usage]{
	{"tokens_in", func(u *core.Usage) any { return &u.TokensIn }},
	{"tokens_out", func(u *core.Usage) any { return &u.TokensOut }},
	{"cache_read", func(u *core.Usage) any { return &u.CacheRead }},
	{"cache_written", func(u *core.Usage) any { return &u.CacheWritten }},
	{"cost_usd", func(u *core.Usage) any { return &u.CostUSD }},
	{"tool_calls", func(u *core.Usage) any { return &u.ToolCalls }},
}

// changedByCascade are the columns of a frame that the cascade which voids it
// changes (see cascade.changes).
var changedByCascade = []string{"status", "ended_at", "updated_at", "invalidated_at", "invalidation_reason"}

// What scanFrame reads of the frame f: the stored values, or parameters for
// what a cascade changes.
var (
	frameColumns  = form.Later(func() string { return "f.key AS key, " + frameTable.read("f") })
	voidedColumns = form.Later(func() string { return "f.key AS key, " + frameTable.read("f", changedByCascade...) })
)

// scanFrame returns a function that reads a frame, and its key into key.
func scanFrame(key *int64) func(*disk.Rows) (core.Frame, error) {
	scan := frameTable.scan(key)
	return func(rows *disk.Rows) (core.Frame, error) {
		f, err := scan(rows)
		if err != nil {
			err = fmt.Errorf("frame %s: %w", f.ID, err)
		}
		return f, err
	}
}

var saveFrame = form.Later(func() string { return frameTable.save(stamp) })

var frameByID = form.Later(func() string { return "SELECT " + frameColumns() + " FROM frames f WHERE f.key = " + form.KeyOf })

// readFrames returns the frames of a query as they read.
func readFrames(t *tx, query string, args ...any) ([]core.Frame, error) {
	frames, err := collect(t.sql, scanFrame(new(int64)), query, args...)
	if err != nil {
		return nil, err
	}
	return frames, void(t, frames)
}

// Frame returns one frame, or core.ErrNotFound.
func (t *tx) Frame(id string) (core.Frame, error) {
	list, err := readFrames(t, frameByID(), form.Clean(id))
	return only(list, err, "frame", id)
}

// What FramesOf and WithChildren read: their ids are a JSON list.
var (
	framesOf = form.Later(func() string {
		return "SELECT " + frameColumns() + " FROM json_each(?) k CROSS JOIN ids i ON i.id = k.value CROSS JOIN frames f ON f.key = i.key"
	})
	withChildren = `SELECT i.id, i.key, EXISTS (SELECT 1 FROM frames f WHERE f.parent = i.key) FROM json_each(?) k CROSS JOIN ids i ON i.id = k.value`
)

// FramesOf returns the frames that have these ids, without missing ones.
func (t *tx) FramesOf(ids []string) ([]core.Frame, error) {
	ids = lo.Reject(form.Cleaned(ids), func(id string, _ int) bool { key, looked := t.sql.keys[id]; return looked && key == 0 })
	if len(ids) == 0 {
		return nil, nil
	}
	return readFrames(t, framesOf(), form.JSONOf(ids))
}

// WithChildren returns those of these ids that are parents of frames. The ids are new, as a
// rule: that they have no keys is noted, so that nobody who saves their frames looks again.
func (t *tx) WithChildren(ids []string) (parents []string, err error) {
	for _, id := range form.Cleaned(ids) {
		t.sql.keys[id] += 0 // none, unless one is known
	}
	err = t.sql.each(func(rows *disk.Rows) error {
		id, key, has := "", int64(0), false
		err := rows.Scan(&id, &key, &has)
		if t.sql.keys[id] = key; has {
			parents = append(parents, id)
		}
		return err
	}, withChildren, form.JSONOf(form.Cleaned(ids)))
	return parents, err
}

// SaveFrame writes a new frame, or all fields of one that exists.
func (t *tx) SaveFrame(f core.Frame) error {
	if f.ID == "" {
		return core.Invalidf("a frame needs an id")
	}
	if !f.Status.Valid() { // counts would miss it
		return core.Invalidf("frame %s has the unknown status %q", f.ID, f.Status)
	}
	f, err := unvoided(t, f)
	if err != nil {
		return err
	}
	key, err := t.sql.known(form.Clean(f.ID))
	if err != nil {
		return err
	}
	values, err := frameTable.values(t.sql, &f)
	if err != nil {
		return err
	}
	if err := t.sql.indexWords(f.ID, key == 0, frameTable.pick(values, wordColumns...)); err != nil {
		return err
	}
	if err := t.sql.raiseRevision(); err != nil {
		return err
	}
	_, err = t.sql.exec(saveFrame(), values...)
	return err
}

// wordColumns are the columns of a frame that are searched.
var wordColumns = []string{"goal", "success_criteria", "summary", "results", "decisions"}

// SQL that compares and updates the word index of a frame about to be saved.
var (
	sameWords = form.Later(func() string {
		return "SELECT (" + frameTable.each(itself, wordColumns...) + ") IS (" + form.Placeholders(len(wordColumns)) +
			") FROM frames WHERE key = ?"
	})
	learnWords = form.Later(func() string {
		return "INSERT INTO frames_text (" + frameTable.each(itself, wordColumns...) + ", rowid) VALUES (" +
			frameTable.each(func(column string) string { return wordsOf(column, "?") }, wordColumns...) + ", ?)"
	})
)

const forgetWords = `DELETE FROM frames_text WHERE rowid = ?`

// wordsOf returns the SQL for the words in a value of a column. Decisions are
// words, not JSON, whose \n would be the letter n.
func wordsOf(column, value string) string {
	if column == "decisions" {
		return "(SELECT group_concat(value, ' ') FROM json_each(" + value + "))"
	}
	return value
}

// indexWords updates the word index from what the frame's row holds to words,
// those of the new row. isNew says that there can be no row, as the id was in no use.
func (s *statements) indexWords(frame string, isNew bool, words []any) error {
	key, err := s.key(frame)
	if err != nil {
		return err
	}
	args := append(words, key)
	var same, known bool
	if !isNew {
		known, err = s.get([]any{&same}, sameWords(), args...)
	}
	if err != nil || same {
		return err
	}
	if known {
		if _, err := s.exec(forgetWords, key); err != nil {
			return err
		}
	}
	_, err = s.exec(learnWords(), args...)
	return err
}

// What is deleted with a frame, by its id: first the references of the session
// that has it as root, and of those that work in it.
var deletions = []string{
	`UPDATE sessions SET root = NULL WHERE root = ` + form.KeyOf1 + ` AND key = (SELECT session FROM frames WHERE key = ` + form.KeyOf1 + `)`,
	`UPDATE sessions SET current = NULL WHERE current = ` + form.KeyOf1,
	`DELETE FROM frames WHERE key = ` + form.KeyOf1,
	`DELETE FROM frames_text WHERE rowid = ` + form.KeyOf1,
}

// DeleteFrame removes a frame that has no children, or refuses with
// core.ErrInvalid.
func (t *tx) DeleteFrame(id string) error {
	var children int
	if _, err := t.sql.get([]any{&children}, `SELECT count(*) FROM frames WHERE parent = `+form.KeyOf, form.Clean(id)); err != nil {
		return err
	}
	if children > 0 {
		return core.Invalidf("frame %s has %d children", id, children)
	}
	for _, deletion := range deletions {
		if _, err := t.sql.exec(deletion, form.Clean(id)); err != nil {
			return err
		}
	}
	if err := t.EndCascade(id); err != nil {
		return err
	}
	return t.sql.raiseRevision()
}

func sumOfUsage() string {
	return table[core.Usage]{columns: usageColumns}.each(func(column string) string { return "coalesce(sum(" + column + "), 0)" })
}

var totalUsage = form.Later(func() string { return "SELECT 0, " + sumOfUsage() + " FROM frames" })

// usageUnder adds up what the first frames of a subtree used. UNION ends a cycle, and
// CROSS JOIN keeps the walk from becoming a scan.
var usageUnder = form.Later(func() string {
	return `WITH RECURSIVE below (key) AS (
	SELECT key FROM ids WHERE id = ?
	UNION
	SELECT f.key FROM below CROSS JOIN frames f ON f.parent = below.key` + form.AtMost + `
) SELECT count(*), ` + sumOfUsage() + ` FROM below CROSS JOIN frames f ON f.key = below.key`
})

// UsageUnder adds up the usage of a frame and of those below it, or of all frames.
func (t *tx) UsageUnder(id string, most int) (u core.Usage, whole bool, err error) {
	var counted int
	sums := []any{&counted}
	for _, c := range usageColumns {
		sums = append(sums, c.field(&u))
	}
	if id == "" {
		_, err = t.sql.get(sums, totalUsage())
		return u, true, err
	}
	_, err = t.sql.get(sums, usageUnder(), form.Clean(id), most+1)
	return u, counted <= most, err
}

// ancestors walks up from a frame. UNION drops repeated rows, which ends a
// cycle; CROSS JOIN keeps the walk from becoming a scan after ANALYZE.
var ancestors = form.Later(func() string {
	return `WITH RECURSIVE up (key) AS (
	SELECT f.key FROM frames f WHERE f.key = ` + form.KeyOf + `
	UNION
	SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL
) SELECT ` + frameColumns() + ` FROM up CROSS JOIN frames f ON f.key = up.key` + form.AtMost + ` OFFSET 1`
})

// Ancestors returns the frames above id, parent first, at most limit of them (0:
// project.MaxLevels). It ends at a missing parent and never loops.
func (t *tx) Ancestors(id string, limit int) ([]core.Frame, error) {
	if limit <= 0 || limit > project.MaxLevels {
		limit = project.MaxLevels
	}
	return readFrames(t, ancestors(), form.Clean(id), limit)
}
