package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

func frameRoundTrip(t *testing.T, kept project.Store) {
	confidence := 0.75
	full := core.Frame{
		ID: "frame-abcdefgh", Parent: "frame-missing", Session: "session", Status: core.Invalidated,
		Goal: "goal", GoalIsDefault: true, SuccessCriteria: "criteria", Summary: "summary", Results: "results",
		Artifacts: []string{"a/b.go", "<&>\"\\\n\u2028"}, Decisions: []string{"x"}, PlannedChildren: []string{"plan-1", "plan-2"},
		Confidence: &confidence, InvalidationReason: "reason", InvalidatedAt: 1, LogPath: "log",
		CreatedAt: 2, StartedAt: 3, EndedAt: 4, UpdatedAt: 5, ArchivedAt: 6,
		Usage: core.Usage{TokensIn: 7, TokensOut: 8, CacheRead: 9, CacheWritten: 10, CostUSD: 0.5, ToolCalls: 11},
	}
	bare := core.Frame{ID: "frame-bare", Status: core.Planned}
	changed := core.Frame{ID: full.ID, Status: core.Completed, Goal: "other"}
	for _, f := range []core.Frame{full, bare, changed} {
		Save(t, kept, f)
		View(t, kept, func(tx project.Tx) {
			got, err := tx.Frame(f.ID)
			require.NoError(t, err)
			assert.Equal(t, f, got)
		})
	}
	View(t, kept, func(tx project.Tx) {
		got, err := tx.FramesOf([]string{bare.ID, "frame-missing", "nul \x00 \xff", full.ID})
		require.NoError(t, err)
		assert.ElementsMatch(t, []core.Frame{bare, changed}, got)
		got, err = tx.FramesOf(nil)
		require.NoError(t, err)
		assert.Empty(t, got)
	})
}

func anyText(t *testing.T, kept project.Store) {
	for text, want := range map[string]string{
		"bad \xff\xfe bytes": "bad \uFFFD bytes",
		"nul \x00 inside":    "nul \x00 inside",
		"日本語 🔥 é":            "日本語 🔥 é",
		"'; DROP TABLE x;--": "'; DROP TABLE x;--",
	} {
		Save(t, kept, core.Frame{ID: "frame-x", Goal: text, Summary: text, Decisions: []string{text}})
		View(t, kept, func(tx project.Tx) {
			f, err := tx.Frame("frame-x")
			require.NoError(t, err)
			assert.Equal(t, want, f.Goal)
			assert.Equal(t, want, f.Summary)
			assert.Equal(t, []string{want}, f.Decisions)
		})
	}
}

func hugeText(t *testing.T, kept project.Store) {
	huge := strings.Repeat("many words of text ", 10<<20/19) + "needle"
	Save(t, kept, core.Frame{ID: "frame-huge", Results: huge})
	View(t, kept, func(tx project.Tx) {
		f, err := tx.Frame("frame-huge")
		require.NoError(t, err)
		assert.True(t, f.Results == huge)
	})
	assert.Equal(t, "frame-huge", Found(t, kept, project.FrameQuery{Text: "needle"}))
}

func refusedFrames(t *testing.T, kept project.Store) {
	for _, f := range []core.Frame{{Status: core.Planned}, {ID: "frame-x"}, {ID: "frame-x", Status: "sleeping"}} {
		err := kept.Update(context.Background(), func(tx project.Tx) error { return tx.SaveFrame(f) })
		assert.ErrorIs(t, err, core.ErrInvalid, "%+v", f)
	}
}

// A small tree: r(a(c, d), b) and a root q, which is archived.
func smallTree(t *testing.T, kept project.Store) {
	Save(t, kept,
		core.Frame{ID: "f-r", CreatedAt: 1, UpdatedAt: 50, Goal: "red root"},
		core.Frame{ID: "f-b", CreatedAt: 3, UpdatedAt: 40, Parent: "f-r", Status: core.Completed, Goal: "red bird"},
		core.Frame{ID: "f-a", CreatedAt: 2, UpdatedAt: 10, Parent: "f-r", Status: core.Failed, Goal: "red apple"},
		core.Frame{ID: "f-d", CreatedAt: 4, UpdatedAt: 20, Parent: "f-a", Status: core.Completed, Goal: "door"},
		core.Frame{ID: "f-c", CreatedAt: 4, UpdatedAt: 20, Parent: "f-a", Status: core.Planned, Goal: "cat"},
		core.Frame{ID: "g-q", CreatedAt: 6, UpdatedAt: 60, ArchivedAt: 1, Goal: "quiet"},
	)
}

// paged returns the ids that a query finds, a page at a time.
func paged(t *testing.T, kept project.Store, q project.FrameQuery) (got []string) {
	for {
		page := strings.Fields(Found(t, kept, q))
		if len(page) == 0 {
			return got
		}
		got, q.After = append(got, page...), page[len(page)-1]
	}
}

func paging(t *testing.T, kept project.Store) {
	var want []string
	Update(t, kept, func(tx project.Tx) {
		for i := range 25 {
			id := fmt.Sprintf("f-%02d", i)
			want = append(want, id)
			require.NoError(t, tx.SaveFrame(core.Frame{ID: id, Status: core.Planned, CreatedAt: core.Millis(i / 10)}))
		}
	})
	assert.Equal(t, want, paged(t, kept, project.FrameQuery{Limit: 4}))
	View(t, kept, func(tx project.Tx) {
		_, err := tx.FindFrames(project.FrameQuery{After: "none"})
		assert.ErrorIs(t, err, core.ErrNotFound)
	})
}

func ancestors(t *testing.T, kept project.Store) {
	smallTree(t, kept)
	Save(t, kept,
		core.Frame{ID: "l-1", Parent: "l-3"}, core.Frame{ID: "l-2", Parent: "l-1"}, core.Frame{ID: "l-3", Parent: "l-2"},
		core.Frame{ID: "self", Parent: "self"}, core.Frame{ID: "orphan", Parent: "gone"})
	View(t, kept, func(tx project.Tx) {
		for _, tt := range []struct {
			id    string
			limit int
			want  string
		}{
			{"f-c", 0, "f-a f-r"}, {"f-c", 1, "f-a"}, {"f-r", 0, ""}, {"none", 0, ""},
			{"l-1", 0, "l-3 l-2"}, {"self", 0, ""}, {"orphan", 0, ""},
		} {
			above, err := tx.Ancestors(tt.id, tt.limit)
			require.NoError(t, err)
			assert.Equal(t, tt.want, idsOf(above), "%s, limit %d", tt.id, tt.limit)
		}
	})
}

func subtree(t *testing.T, kept project.Store) {
	spent := func(usd float64) core.Usage { return core.Usage{TokensIn: int64(usd), CostUSD: usd} }
	Save(t, kept, core.Frame{ID: "l-1", Parent: "l-2", Usage: spent(1)}, core.Frame{ID: "l-2", Parent: "l-1", Usage: spent(2)},
		core.Frame{ID: "l-3", Parent: "l-2", Usage: spent(4), ArchivedAt: 1}, core.Frame{ID: "other", Usage: spent(8)})
	assert.Equal(t, "l-1 l-2", Found(t, kept, project.FrameQuery{Under: "l-2"}))
	View(t, kept, func(tx project.Tx) {
		for _, tt := range []struct {
			id    string
			most  int
			want  float64
			whole bool
		}{{"l-2", 3, 7, true}, {"l-3", 1, 4, true}, {"other", 1, 8, true}, {"none", 1, 0, true}, {"l-3", 0, 4, false}} {
			used, whole, err := tx.UsageUnder(tt.id, tt.most)
			require.NoError(t, err)
			assert.Equal(t, spent(tt.want), used, "%s, at most %d", tt.id, tt.most)
			assert.Equal(t, tt.whole, whole, "%s, at most %d", tt.id, tt.most)
		}
	})
}

func search(t *testing.T, kept project.Store) {
	Save(t, kept,
		core.Frame{ID: "f-1", Goal: "Parse the config-file", CreatedAt: 9},
		core.Frame{ID: "f-2", SuccessCriteria: "the parser is quick", Summary: "Café über naïve"},
		core.Frame{ID: "f-3", Results: `she said "stop" AND left`},
		core.Frame{ID: "f-4", Decisions: []string{"first\nsecond", "x < y"}, LogPath: "unsearched"})
	newest := func(text string) string {
		return Found(t, kept, project.FrameQuery{Text: text, Order: project.NewestFirst})
	}
	for text, want := range map[string]string{
		"the":              "f-2 f-1",
		"CONFIG":           "f-1",
		"config-file":      "f-1",
		"file config":      "f-1",
		"config parser":    "",
		"cafe":             "f-2",
		"second":           "f-4",
		"unsearched":       "",
		`"stop"`:           "f-3",
		"stop AND left":    "f-3",
		"stop NOT left":    "",
		"goal:Parse":       "",
		"par*":             "",
		"NEAR(the parser)": "",
		"- the":            "f-2 f-1",
		`"`:                "",
		"()*:^-+":          "",
		" ":                "",
		"\x00":             "",
		"the\x00parser":    "f-2",
	} {
		if text == " " {
			text = "\t"
		}
		assert.Equal(t, want, newest(text), "%q", text)
	}
	assert.NotPanics(t, func() { newest(strings.Repeat("word ", 5000)) })
}

func revision(t *testing.T, kept project.Store) {
	read := func() (number int64, newest core.Millis) {
		View(t, kept, func(tx project.Tx) {
			var err error
			number, newest, err = tx.Revision()
			require.NoError(t, err)
		})
		return number, newest
	}
	Save(t, kept, core.Frame{ID: "f-1", UpdatedAt: 5}, core.Frame{ID: "f-2", UpdatedAt: 9})
	first, newest := read()
	assert.EqualValues(t, 9, newest)
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.SaveRecord("k", "i", 1)) })
	same, _ := read()
	assert.Equal(t, first, same)
	Save(t, kept, core.Frame{ID: "f-2", UpdatedAt: 3})
	second, newest := read()
	assert.Greater(t, second, first)
	assert.EqualValues(t, 5, newest)
	Update(t, kept, func(tx project.Tx) { require.NoError(t, tx.DeleteFrame("f-1")) })
	third, newest := read()
	assert.Greater(t, third, second)
	assert.EqualValues(t, 3, newest)
}
