package store

import (
	"fmt"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// frameTable keeps frames.
var frameTable = table[core.Frame]{"frames", "key", append([]column[core.Frame]{
	{name: "key", field: func(f *core.Frame) any { return id{&f.ID} }},
	{name: "parent", field: func(f *core.Frame) any { return id{&f.Parent} }},
	{name: "session", field: func(f *core.Frame) any { return id{&f.Session} }},
	{name: "status", field: func(f *core.Frame) any { return &f.Status }, use: told | cascaded},
	{name: "created_at", field: func(f *core.Frame) any { return &f.CreatedAt }, use: told},
	{name: "started_at", field: func(f *core.Frame) any { return &f.StartedAt }, use: ranked},
	{name: "ended_at", field: func(f *core.Frame) any { return &f.EndedAt }, use: ranked | cascaded},
	{name: "updated_at", field: func(f *core.Frame) any { return &f.UpdatedAt }, use: told | cascaded},
	{name: "archived_at", field: func(f *core.Frame) any { return &f.ArchivedAt }, use: told},
	{name: "invalidated_at", field: func(f *core.Frame) any { return &f.InvalidatedAt }, use: cascaded},
	{name: "invalidation_reason", field: func(f *core.Frame) any { return &f.InvalidationReason }, use: cascaded},
	{name: "goal_is_default", field: func(f *core.Frame) any { return &f.GoalIsDefault }},
	{name: "confidence", field: func(f *core.Frame) any { return &f.Confidence }},
	{name: "log_path", field: func(f *core.Frame) any { return &f.LogPath }, use: told},
	{name: "machine", field: func(f *core.Frame) any { return &f.Machine }, use: told},
	{name: "planned_children", field: func(f *core.Frame) any { return &f.PlannedChildren }, use: long},
	{name: "goal", field: func(f *core.Frame) any { return &f.Goal }, use: told | searched},
	{name: "success_criteria", field: func(f *core.Frame) any { return &f.SuccessCriteria }, use: told | searched | long},
	{name: "artifacts", field: func(f *core.Frame) any { return &f.Artifacts }, use: told | long},
	{name: "decisions", field: func(f *core.Frame) any { return &f.Decisions }, use: told | searched | long},
	{name: "summary", field: func(f *core.Frame) any { return &f.Summary }, use: told | searched | long},
	{name: "results", field: func(f *core.Frame) any { return &f.Results }, use: searched | long},
}, part(usageColumns, ranked, func(f *core.Frame) *core.Usage { return &f.Usage })...)}

var usageColumns = []column[core.Usage]{
	{name: "tokens_in", field: func(u *core.Usage) any { return &u.TokensIn }},
	{name: "tokens_out", field: func(u *core.Usage) any { return &u.TokensOut }},
	{name: "cache_read", field: func(u *core.Usage) any { return &u.CacheRead }},
	{name: "cache_written", field: func(u *core.Usage) any { return &u.CacheWritten }},
	{name: "cost_usd", field: func(u *core.Usage) any { return &u.CostUSD }},
	{name: "tool_calls", field: func(u *core.Usage) any { return &u.ToolCalls }},
	{name: "unpriced", field: func(u *core.Usage) any { return &u.Unpriced }},
}

// frameColumns are the columns of the frame f for scanFrame.
var frameColumns = later(func() string { return "f.key AS key, " + frameTable.read("f") })

// scanFrame returns a function that reads a frame, and stores its key in key.
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

var saveFrame = later(func() string { return frameTable.save(stamp) })

var frameByID = later(func() string { return "SELECT " + frameColumns() + " FROM frames f WHERE f.key = " + keyOf })

// frames returns the frames of a query.
func (s *statements) frames(query string, args ...any) ([]core.Frame, error) {
	return collect(s, scanFrame(new(int64)), query, args...)
}

// Frame looks each frame up once in a transaction, as long as that does not write it.
func (t *tx) Frame(id string) (f core.Frame, err error) {
	f, known := t.frames[clean(id)]
	if !known {
		list, err := t.sql.frames(frameByID(), clean(id))
		if f, err = only(list, err, "frame", id); err != nil {
			return f, err
		}
		t.frames[clean(id)] = f
	}
	f.Artifacts, f.Decisions, f.PlannedChildren = slices.Clone(f.Artifacts), slices.Clone(f.Decisions), slices.Clone(f.PlannedChildren)
	return f, nil
}

// SQL of FramesOf and WithChildren: their ids are a JSON list.
var (
	framesOf = later(func() string {
		return "SELECT " + frameColumns() + " FROM json_each(?) k CROSS JOIN ids i ON i.id = k.value CROSS JOIN frames f ON f.key = i.key"
	})
	withChildren = `SELECT i.id, i.key, EXISTS (SELECT 1 FROM frames f WHERE f.parent = i.key) FROM json_each(?) k CROSS JOIN ids i ON i.id = k.value`
)

func (t *tx) FramesOf(ids []string) ([]core.Frame, error) {
	ids = lo.Reject(cleaned(ids), func(id string, _ int) bool { key, looked := t.sql.keys[id]; return looked && key == 0 })
	if len(ids) == 0 {
		return nil, nil
	}
	return t.sql.frames(framesOf(), jsonOf(ids))
}

// WithChildren returns the ids among these that are parents of frames. Most of the ids are
// new: WithChildren remembers that they have no keys, so that saving their frames need not
// look them up.
func (t *tx) WithChildren(ids []string) (parents []string, err error) {
	for _, id := range cleaned(ids) {
		t.sql.keys[id] += 0 // none, unless one is known
	}
	err = t.sql.each(func(rows *disk.Rows) error {
		id, key, has := "", int64(0), false
		err := rows.Scan(&id, &key, &has)
		if t.sql.keys[id] = key; has {
			parents = append(parents, id)
		}
		return err
	}, withChildren, jsonOf(cleaned(ids)))
	return parents, err
}

func (t *tx) SaveFrame(f core.Frame) error {
	if f.ID == "" {
		return core.Invalidf("a frame needs an id")
	}
	if !f.Status.Valid() { // counts would miss it
		return core.Invalidf("frame %s has the unknown status %q", f.ID, f.Status)
	}
	key, err := t.sql.known(clean(f.ID))
	if err != nil {
		return err
	}
	values, err := frameTable.values(t.sql, &f)
	if err != nil {
		return err
	}
	if err := t.sql.indexWords(&f, key == 0); err != nil {
		return err
	}
	if err := t.sql.raiseRevision(); err != nil {
		return err
	}
	delete(t.frames, clean(f.ID))
	_, err = t.sql.exec(saveFrame(), values...)
	return err
}

// wordTable has the columns of a frame that are searched.
var wordTable = frameTable.of(searched)

// SQL that compares and updates the word index of a frame about to be saved.
var (
	sameWords = later(func() string {
		return "SELECT (" + wordTable.each(itself) + ") IS (" + placeholders(len(wordTable.columns)) + ") FROM frames WHERE key = ?"
	})
	learnWords = later(func() string {
		return "INSERT INTO frames_text (" + wordTable.each(itself) + ", rowid) VALUES (" +
			wordTable.each(func(column string) string { return wordsOf(column, "?") }) + ", ?)"
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

// indexWords updates the word index of a frame about to be saved. isNew says that there is no row,
// because the id is new.
func (s *statements) indexWords(f *core.Frame, isNew bool) error {
	key, err := s.key(f.ID)
	if err != nil {
		return err
	}
	args, err := wordTable.values(s, f)
	if err != nil {
		return err
	}
	args = append(args, key)
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

// deletions delete a frame by its id, first the references of the session that has it as
// root, and of the sessions that work in it.
var deletions = []string{
	`UPDATE sessions SET root = NULL WHERE root = ` + keyOf1 + ` AND key = (SELECT session FROM frames WHERE key = ` + keyOf1 + `)`,
	`UPDATE sessions SET current = NULL WHERE current = ` + keyOf1,
	`DELETE FROM frames WHERE key = ` + keyOf1,
	`DELETE FROM frames_text WHERE rowid = ` + keyOf1,
}

func (t *tx) DeleteFrame(id string) error {
	var children int
	if _, err := t.sql.get([]any{&children}, `SELECT count(*) FROM frames WHERE parent = `+keyOf, clean(id)); err != nil {
		return err
	}
	if children > 0 {
		return core.Invalidf("frame %s has %d children", id, children)
	}
	delete(t.frames, clean(id))
	for _, deletion := range deletions {
		if _, err := t.sql.exec(deletion, clean(id)); err != nil {
			return err
		}
	}
	return t.sql.raiseRevision()
}

func sumOfUsage() string {
	return table[core.Usage]{columns: usageColumns}.each(func(column string) string { return "coalesce(sum(" + column + "), 0)" })
}

var totalUsage = later(func() string { return "SELECT 0, " + sumOfUsage() + " FROM frames" })

// usageUnder adds up the usage of the first frames of a subtree. UNION ends a cycle, and
// CROSS JOIN keeps the walk from becoming a scan.
var usageUnder = later(func() string {
	return `WITH RECURSIVE below (key) AS (
	SELECT key FROM ids WHERE id = ?
	UNION
	SELECT f.key FROM below CROSS JOIN frames f ON f.parent = below.key` + atMost + `
) SELECT count(*), ` + sumOfUsage() + ` FROM below CROSS JOIN frames f ON f.key = below.key`
})

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
	_, err = t.sql.get(sums, usageUnder(), clean(id), most+1)
	return u, counted <= most, err
}

// ancestors walks up from a frame. UNION drops repeated rows, which ends a
// cycle; CROSS JOIN keeps the walk from becoming a scan after ANALYZE.
var ancestors = later(func() string {
	return `WITH RECURSIVE up (key) AS (
	SELECT f.key FROM frames f WHERE f.key = ` + keyOf + `
	UNION
	SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL
) SELECT ` + frameColumns() + ` FROM up CROSS JOIN frames f ON f.key = up.key` + atMost + ` OFFSET 1`
})

func (t *tx) Ancestors(id string, limit int) ([]core.Frame, error) {
	if limit <= 0 || limit > project.MaxLevels {
		limit = project.MaxLevels
	}
	return t.sql.frames(ancestors(), clean(id), limit)
}

func scanID(rows *disk.Rows) (id string, err error) { return id, rows.Scan(&id) }

func scanKey(rows *disk.Rows) (key int64, err error) { return key, rows.Scan(&key) }

// key returns the key of an id as the value of a column, and creates it if needed; nil for an
// empty id.
func (s *statements) key(id string) (any, error) {
	if id = clean(id); id == "" {
		return nil, nil
	}
	key, err := s.known(id)
	if err == nil && key == 0 {
		if key, err = s.insert(`INSERT INTO ids (id) VALUES (?)`, id); err == nil {
			s.keys[id] = key
		}
	}
	return key, err
}

// known returns the key of an id, or 0 if it has none. It also uses the entries in keys for
// ids without a key.
func (s *statements) known(id string) (key int64, err error) {
	if key, ok := s.keys[id]; ok {
		return key, nil
	}
	found, err := s.get([]any{&key}, `SELECT key FROM ids WHERE id = ?`, id)
	if found {
		s.keys[id] = key
	}
	return key, err
}

// maxNames limits the ids that a connection remembers.
const maxNames = 2000

// met remembers that a row has this key and id.
func (s *statements) met(key int64, id string) {
	if len(s.c.Names) >= maxNames || s.c.Names == nil {
		s.c.Names = map[int64]string{}
	}
	s.c.Names[key], s.keys[id] = id, key
}

// An optionalID is a place for the id of a key; key 0 has no id.
type optionalID struct {
	key int64
	id  *string
}

// fill sets the ids, and looks up those that the connection does not remember.
func (s *statements) fill(list []optionalID) error {
	keys := make([]int64, 0, len(list))
	for _, u := range list {
		var known bool
		if *u.id, known = s.c.Names[u.key]; !known && u.key != 0 && !slices.Contains(keys, u.key) {
			keys = append(keys, u.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found := make(map[int64]string, len(keys))
	var key int64
	var id string
	err := s.each(func(rows *disk.Rows) error {
		err := rows.Scan(&key, &id)
		found[key] = id
		s.met(key, id)
		return err
	}, namesOf, jsonOf(keys))
	for _, u := range list {
		if id, is := found[u.key]; is {
			*u.id = id
		}
	}
	return err
}

const namesOf = `SELECT ids.key, ids.id FROM json_each(?) k CROSS JOIN ids ON ids.key = k.value`
