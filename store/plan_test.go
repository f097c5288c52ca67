package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// hotQueries are those that hooks, contexts and trees are made of, with what
// their plans end in.
func hotQueries() map[string]*selection {
	done := []core.Status{core.Completed, core.Failed, core.Blocked}
	byID := func(sql string, args ...any) *selection {
		s := &selection{}
		s.add(sql, args...)
		return s
	}
	queries := map[string]*selection{
		"frames of keys":     byID(framesAt(), "[1, 2]"),
		"frames of ids":      byID(framesOf(), `["f1", "f2"]`),
		"with children":      byID(withChildren, `["f1", "f2"]`),
		"links of roots":     listLinks(project.FrameQuery{Roots: true, Limit: 10}),
		"first links":        listLinks(project.FrameQuery{Limit: 10}),
		"frame":              byID(frameByID(), "f1"),
		"session":            byID(sessionByID(), "s1"),
		"ancestors":          byID(ancestors(), "f1", 10),
		"usage of a tree":    byID(usageUnder(), "f1", 10),
		"surroundings":       byID(around(), "f1", 200, 20, 5, 3),
		"outcomes":           byID(outcomes(), `["f1"]`, 6, 3, 200, `["f2"]`),
		"names of keys":      byID(namesOf, "[1, 2]"),
		"beneath":            byID(beneath(), "f1", 6, 200),
		"revision":           byID(revision),
		"changed frames":     byID(changedSketches(), 1),
		"due deadlines":      byID(dueDeadlines(), 1, "", "", 1),
		"deadline":           byID(deadlineByKey(), "k", "s"),
		"record":             byID(recordByID("k"), "k", "i"),
		"records":            byID(recordsByColumn("k", "", "id"), "k", "a", "b"),
		"records by id":      byID(recordsByID("k", "p"), "k", `["a","b"]`),
		"agent":              byID(recordByID("agent"), "agent", "i"),
		"agents":             byID(recordsByColumn("agent", "", "id"), "agent", "a", "b"),
		"agents by id":       byID(recordsByID("agent", ""), "agent", `["a","b"]`),
		"statuses below":     byID(strings.TrimSuffix(statusesUnder, " ORDER BY f.created_at, f.key"), "f1"),
		"invalidate":         byID(invalidateAll(), "invalidated", 1, 1, 1, "", "[1]"),
		"events to delete":   byID(deleteEvents, 1, 10),
		"count all":          countFrames(project.FrameQuery{Statuses: core.Statuses}),
		"count archived":     countFrames(project.FrameQuery{Statuses: core.Statuses, Archived: true}),
		"count children":     countFrames(project.FrameQuery{Statuses: core.Statuses, Parent: "f1"}),
		"count roots":        countFrames(project.FrameQuery{Statuses: core.Statuses, Roots: true}),
		"all sessions":       listSessions(project.SessionQuery{Limit: 20}),
		"tracked sessions":   listSessions(project.SessionQuery{Tracked: true}),
		"sessions at frame":  listSessions(project.SessionQuery{Current: "f1"}),
		"child sessions":     listSessions(project.SessionQuery{Tracked: true, Parent: "s1"}),
		"completed sessions": listSessions(project.SessionQuery{Tracked: true, CompletedBefore: 1}),
		"live sessions":      listSessions(project.SessionQuery{Live: true, Limit: 100}),
	}
	for kind, columns := range map[string][]string{
		"agent": {"session", "key", "parent_agent", "ended_at"}, "handoff": {"waiting"}, "convergence": {"open"}, "agent_grant": {"ends_at"}, "spawn": {"parent"},
	} {
		for _, column := range columns {
			queries[kind+" by "+column] = byID(recordsByColumn(kind, "", column), kind, 1, 2)
		}
	}
	for name, q := range map[string]project.FrameQuery{
		"all":                        {},
		"all, by id":                 {Order: project.ByID, After: "f1", Limit: 100, Archived: true},
		"all, paged":                 {After: "f1", Limit: 100, Archived: true},
		"newest":                     {Order: project.NewestFirst, Limit: 10},
		"recent":                     {Order: project.RecentFirst, Limit: 10},
		"recent in progress":         {Statuses: done[:1], Order: project.RecentFirst, Limit: 1},
		"recent done":                {Statuses: done, Order: project.RecentFirst, Limit: 10},
		"children":                   {Parent: "f1"},
		"newest children":            {Parent: "f1", Order: project.NewestFirst, Limit: 10},
		"recent done children":       {Parent: "f1", Statuses: done, Order: project.RecentFirst, Limit: 50},
		"recent done roots":          {Roots: true, Statuses: done, Order: project.RecentFirst, Limit: 50},
		"newest roots":               {Roots: true, Order: project.NewestFirst, Limit: 10},
		"search, newest":             {Text: "word", Order: project.NewestFirst, Limit: 20},
		"search, newest of statuses": {Text: "word", Statuses: done, Order: project.NewestFirst, Limit: 20},
	} {
		queries[name] = listFrames(q)
	}
	for name, q := range map[string]project.EventQuery{
		"events after":            {AfterSeq: 1, Limit: 10},
		"last events":             {Last: true, Limit: 10},
		"events of frame":         {Frame: "f1"},
		"last events of session":  {Session: "s1", Last: true, Limit: 10},
		"events below a session":  {Session: "s1", Below: "s1", Last: true, Limit: 10},
		"last ends below":         {Below: "s1", AfterSeq: 1, Kinds: []string{"A"}, Last: true, Limit: 10},
		"events of agent":         {SubagentID: "a1", Kinds: []string{"A", "B"}},
		"last events of a kind":   {Kinds: []string{"A"}, Last: true, Limit: 10},
		"last events of of kinds": {Kinds: []string{"A", "B"}, Last: true, Limit: 10},
	} {
		queries[name] = listEvents(q)
	}
	return queries
}

// Every hot query comes from an index, in its order, also when SQLite knows the
// tree's shape.
func TestPlansOfHotQueries(t *testing.T) {
	t.Parallel()
	kept := Open(t.TempDir(), Options{})
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	ctx := context.Background()
	require.NoError(t, kept.Update(ctx, func(tx project.Tx) error { return plantTree(tx, 2000) }))
	for _, when := range []string{"before ANALYZE", "after ANALYZE"} {
		require.NoError(t, kept.View(ctx, func(ptx project.Tx) error {
			for name, query := range hotQueries() {
				plan := explain(t, ptx.(*tx), query)
				assert.NotContains(t, plan, "TEMP B-TREE", "%s, %s: %s", name, when, query.query())
				scansNothing(t, name+", "+when, plan, query)
			}
			return nil
		}))
		c, err := kept.file.Writer(ctx)
		require.NoError(t, err)
		err = c.ExecOnce(ctx, "ANALYZE")
		require.NoError(t, err)
	}
}

func scansNothing(t *testing.T, name, plan string, query *selection) {
	t.Helper()
	for _, step := range strings.Split(plan, "\n") {
		assert.False(t, isScan(step, query.query()), "%s: %s in\n%s", name, step, query.query())
	}
}

// isScan reports whether a step of a query's plan reads a whole table. An index
// read in its order ends at the limit; the walks up and down read what they found
// so far; the index of words is asked for a match; a list of keys is read.
func isScan(step, query string) bool {
	return strings.HasPrefix(step, "SCAN ") &&
		!slices.Contains([]string{"SCAN d", "SCAN down", "SCAN below", "SCAN CONSTANT ROW"}, step) &&
		!strings.Contains(step, "VIRTUAL TABLE INDEX 1:") && // of a JSON array
		!(strings.Contains(step, " INDEX ") && strings.Contains(query, "LIMIT")) &&
		!strings.HasPrefix(step, "SCAN up") &&
		!strings.HasPrefix(step, "SCAN k VIRTUAL TABLE INDEX") && // the keys that are given
		!strings.HasPrefix(step, "SCAN frames_text VIRTUAL TABLE INDEX")
}

func explain(t *testing.T, x *tx, query *selection) string {
	t.Helper()
	rows, err := x.sql.c.Query(x.sql.ctx, "EXPLAIN QUERY PLAN "+query.query(), query.args...)
	require.NoError(t, err, query.query())
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, steps)
	return strings.Join(steps, "\n")
}

// plantTree saves n frames in a tree of ten children each, with events and
// sessions.
func plantTree(tx project.Tx, n int) error {
	for i := range n {
		f := core.Frame{
			ID: fmt.Sprintf("f%d", i), Status: core.Statuses[i%len(core.Statuses)], Goal: fmt.Sprintf("word %d", i),
			Session: fmt.Sprintf("s%d", i%20), CreatedAt: core.Millis(i), UpdatedAt: core.Millis(3 * i),
		}
		if i > 0 {
			f.Parent = fmt.Sprintf("f%d", (i-1)/10)
		}
		if err := tx.SaveFrame(f); err != nil {
			return err
		}
		if _, err := tx.AppendEvent(core.Event{Event: core.FrameCreated, Frame: f.ID, Session: f.Session, TS: f.CreatedAt}); err != nil {
			return err
		}
		if err := tx.SaveSession(core.Session{ID: f.Session, Current: f.ID, Tracked: i%2 == 0, LastActivityAt: f.UpdatedAt}); err != nil {
			return err
		}
	}
	return nil
}
