package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"flame/core"
	"flame/project"
)

// What scanFrame reads of the frame f: as it is stored, and with parameters for what
// the cascade that voids it changes (see cascade.changes).
var (
	frameColumns  = columnsOf("f.status", "f.ended_at", "f.updated_at", "f.invalidated_at", "f.invalidation_reason")
	voidedColumns = columnsOf("?", "?", "?", "?", "?")
)

// columnsOf lists the columns of scanFrame, some of them as given. Those that lists
// are ordered by have names, which the parts of a UNION are ordered by too.
func columnsOf(status, ended, updated, invalidated, reason string) string {
	return strings.Join([]string{
		"f.key AS key", idOf("f.key"), idOf("f.parent"), idOf("f.session"), status,
		"f.created_at AS created_at", "f.started_at", ended, updated + " AS updated_at", "f.archived_at",
		invalidated, reason, "f.goal_is_default", "f.confidence",
		"f.tokens_in", "f.tokens_out", "f.cache_read", "f.cache_written", "f.cost_usd", "f.tool_calls",
		"f.log_path", "f.planned_children", "f.goal", "f.success_criteria",
		"f.artifacts", "f.decisions", "f.summary", "f.results",
	}, ", ")
}

func scanFrame(rows *sql.Rows) (core.Frame, error) {
	_, f, err := scanKeyed(rows)
	return f, err
}

// scanKeyed reads a frame and its key.
func scanKeyed(rows *sql.Rows) (key int64, f core.Frame, err error) {
	var planned, artifacts, decisions []byte
	u := &f.Usage
	err = rows.Scan(
		&key, &f.ID, &f.Parent, &f.Session, &f.Status,
		&f.CreatedAt, &f.StartedAt, &f.EndedAt, &f.UpdatedAt, &f.ArchivedAt,
		&f.InvalidatedAt, &f.InvalidationReason, &f.GoalIsDefault, &f.Confidence,
		&u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWritten, &u.CostUSD, &u.ToolCalls,
		&f.LogPath, &planned, &f.Goal, &f.SuccessCriteria,
		&artifacts, &decisions, &f.Summary, &f.Results)
	if err != nil {
		return key, f, err
	}
	for _, list := range []struct {
		text []byte
		into *[]string
	}{{planned, &f.PlannedChildren}, {artifacts, &f.Artifacts}, {decisions, &f.Decisions}} {
		if string(list.text) == "[]" {
			continue
		}
		if err := json.Unmarshal(list.text, list.into); err != nil {
			return key, f, fmt.Errorf("frame %s: %w", f.ID, err)
		}
	}
	return key, f, nil
}

// saveFrame writes one frame; its columns stand in the order of SaveFrame's
// arguments.
var saveFrame = upsert("frames", "key",
	"key", "parent", "session", "status",
	"created_at", "started_at", "ended_at", "updated_at", "archived_at",
	"invalidated_at", "invalidation_reason", "goal_is_default", "confidence",
	"tokens_in", "tokens_out", "cache_read", "cache_written", "cost_usd", "tool_calls",
	"log_path", "planned_children", "goal", "success_criteria",
	"artifacts", "decisions", "summary", "results")

// upsert is the SQL that writes a row of table, new or not.
func upsert(table, key string, columns ...string) string {
	sets := make([]string, 0, len(columns))
	for _, column := range columns {
		if !strings.Contains(key, column) {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO UPDATE SET %s",
		table, strings.Join(columns, ", "), placeholders(len(columns)), key, strings.Join(sets, ", "))
}

var frameByID = "SELECT " + frameColumns + " FROM frames f WHERE f.key = " + keyOf

// readFrames returns the frames of a query as they read.
func (t *tx) readFrames(query string, args ...any) ([]core.Frame, error) {
	frames, err := collect(t.sql, scanFrame, query, args...)
	if err != nil {
		return nil, err
	}
	return frames, t.void(frames)
}

// Frame returns one frame, or core.ErrNotFound.
func (t *tx) Frame(id string) (core.Frame, error) {
	list, err := t.readFrames(frameByID, clean(id))
	switch {
	case err != nil:
		return core.Frame{}, err
	case len(list) == 0:
		return core.Frame{}, core.NotFoundf("frame %s not found", id)
	}
	return list[0], nil
}

// SaveFrame writes a new frame, or all fields of one that exists.
func (t *tx) SaveFrame(f core.Frame) error {
	if f.ID == "" {
		return core.Invalidf("a frame needs an id")
	}
	if !f.Status.Valid() { // counts would miss it
		return core.Invalidf("frame %s has the unknown status %q", f.ID, f.Status)
	}
	f, err := t.unvoided(f)
	if err != nil {
		return err
	}
	keys, err := t.sql.keysOf(f.ID, f.Parent, f.Session)
	if err != nil {
		return err
	}
	lists, err := jsonLists(f.PlannedChildren, f.Artifacts, f.Decisions)
	if err != nil {
		return err
	}
	goal, criteria, summary, results := clean(f.Goal), clean(f.SuccessCriteria), clean(f.Summary), clean(f.Results)
	planned, artifacts, decisions := lists[0], lists[1], lists[2]
	words := []any{goal, criteria, summary, results, decisions}
	if err := t.sql.indexWords(keys[0], words); err != nil {
		return err
	}
	u := f.Usage
	_, err = t.sql.exec(saveFrame,
		keys[0], keys[1], keys[2], string(f.Status),
		f.CreatedAt, f.StartedAt, f.EndedAt, f.UpdatedAt, f.ArchivedAt,
		f.InvalidatedAt, clean(f.InvalidationReason), f.GoalIsDefault, f.Confidence,
		u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.CostUSD, u.ToolCalls,
		clean(f.LogPath), planned, goal, criteria,
		artifacts, decisions, summary, results)
	if err != nil {
		return err
	}
	return t.sql.raiseRevision()
}

// What the index of words says of a frame that is about to be saved.
const (
	sameWords = `SELECT (goal, success_criteria, summary, results, decisions) IS (?, ?, ?, ?, ?)
		FROM frames WHERE key = ?`
	forgetWords = `DELETE FROM frames_text WHERE rowid = ?`
	// Decisions are words, not JSON, whose \n would be the letter n.
	learnWords = `INSERT INTO frames_text (goal, success_criteria, summary, results, decisions, rowid)
		VALUES (?, ?, ?, ?, (SELECT group_concat(value, ' ') FROM json_each(?)), ?)`
)

// indexWords brings the index of words from what the frame's row holds to words,
// which are those of the row to come.
func (s *statements) indexWords(key any, words []any) error {
	args := append(words, key)
	var same bool
	known, err := s.get([]any{&same}, sameWords, args...)
	if err != nil || same {
		return err
	}
	if known {
		if _, err := s.exec(forgetWords, key); err != nil {
			return err
		}
	}
	_, err = s.exec(learnWords, args...)
	return err
}

// jsonLists returns each list as JSON text; none is an empty one.
func jsonLists(lists ...[]string) ([]string, error) {
	texts := make([]string, len(lists))
	for i, list := range lists {
		cleaned := make([]string, len(list))
		for j, item := range list {
			cleaned[j] = clean(item)
		}
		text, err := asJSON(cleaned)
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return texts, nil
}

// What goes with a frame that is deleted, by its id: first what the session that
// has it as root, and those that work in it, say of it.
var deletions = []string{
	`UPDATE sessions SET root = NULL WHERE root = ` + keyOf1 + ` AND key = (SELECT session FROM frames WHERE key = ` + keyOf1 + `)`,
	`UPDATE sessions SET current = NULL WHERE current = ` + keyOf1,
	`DELETE FROM frames WHERE key = ` + keyOf1,
	`DELETE FROM frames_text WHERE rowid = ` + keyOf1,
}

// DeleteFrame removes a frame that has no children, or refuses with
// core.ErrInvalid.
func (t *tx) DeleteFrame(id string) error {
	var children int
	if _, err := t.sql.get([]any{&children}, `SELECT count(*) FROM frames WHERE parent = `+keyOf, clean(id)); err != nil {
		return err
	}
	if children > 0 {
		return core.Invalidf("frame %s has %d children", id, children)
	}
	for _, deletion := range deletions {
		if _, err := t.sql.exec(deletion, clean(id)); err != nil {
			return err
		}
	}
	if err := t.EndCascade(id); err != nil {
		return err
	}
	return t.sql.raiseRevision()
}

func (s *statements) raiseRevision() error {
	_, err := s.exec(`UPDATE meta SET value = value + 1 WHERE name = 'revision'`)
	return err
}

const revision = `SELECT value,
	coalesce((SELECT updated_at FROM frames ORDER BY updated_at DESC LIMIT 1), 0)
	FROM meta WHERE name = 'revision'`

// TotalUsage adds up the usage of all frames.
func (t *tx) TotalUsage() (u core.Usage, err error) {
	_, err = t.sql.get([]any{&u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWritten, &u.CostUSD, &u.ToolCalls},
		`SELECT coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(cache_read), 0),
			coalesce(sum(cache_written), 0), coalesce(sum(cost_usd), 0.0), coalesce(sum(tool_calls), 0) FROM frames`)
	return u, err
}

// Revision returns a number that every Update that wrote a frame raises, and the
// newest UpdatedAt of any frame.
func (t *tx) Revision() (number int64, newest core.Millis, err error) {
	_, err = t.sql.get([]any{&number, &newest}, revision)
	return number, newest, err
}

// ancestors walks up from a frame. UNION drops what it has met already, which
// ends a cycle; CROSS JOIN keeps the walk from becoming a scan after ANALYZE.
var ancestors = `WITH RECURSIVE up (key) AS (
	SELECT f.key FROM frames f WHERE f.key = ` + keyOf + `
	UNION
	SELECT f.parent FROM up CROSS JOIN frames f ON f.key = up.key WHERE f.parent IS NOT NULL
) SELECT ` + frameColumns + ` FROM up CROSS JOIN frames f ON f.key = up.key` + atMost + ` OFFSET 1`

// Ancestors returns the frames above id, parent first, at most limit of them (0:
// project.MaxLevels). It ends at a missing parent and never loops.
func (t *tx) Ancestors(id string, limit int) ([]core.Frame, error) {
	if limit <= 0 || limit > project.MaxLevels {
		limit = project.MaxLevels
	}
	return t.readFrames(ancestors, clean(id), limit)
}
