package transfer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/transfer"
	"flame/project/view"
	"flame/tests/cases"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

func TestExportAndImportLoseNothing(t *testing.T) {
	t.Parallel()
	from := projecttest.New(t)
	from.Push(projecttest.Host("s"), "work <&> \"quotes\" – ünï")
	from.Decide(projecttest.Host("s"), "", "a decision")
	from.Plan(projecttest.Host("s"), "", "one", "two")
	from.Push(projecttest.Host("s"), "inner")
	_, err := stack.Pop(from.Ctx, from.Project, projecttest.Host("s"),
		stack.PopArgs{Status: core.Failed, Summary: "why", Results: "all of it", Confidence: new(0.25)})
	require.NoError(t, err)
	gone := from.Plan(projecttest.Host("s"), "", "gone")
	from.Invalidate(projecttest.Host("s"), gone[0].ID, "changed")

	first := t.TempDir()
	exported, err := transfer.Export(from.Ctx, from.Project, projecttest.Host("s"), first)
	require.NoError(t, err)
	assert.Equal(t, transfer.ExportResult{Frames: 6}, exported)

	to := projecttest.New(t)
	done, err := transfer.Import(to.Ctx, to.Project, first)
	require.NoError(t, err)
	assert.Equal(t, transfer.ImportResult{Added: 6}, done)
	done, err = transfer.Import(to.Ctx, to.Project, first)
	require.NoError(t, err)
	assert.Equal(t, transfer.ImportResult{Unchanged: 6}, done)

	want, err := transfer.Snapshot(from.Ctx, from.Project, projecttest.Host("nobody"))
	require.NoError(t, err)
	got, err := transfer.Snapshot(to.Ctx, to.Project, projecttest.Host("nobody"))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	many, frames := projecttest.New(t), make([]core.Frame, 320)
	for i := range frames {
		frames[i] = core.Frame{ID: fmt.Sprintf("F <%d>", i*7919%320), Goal: "a & b", CreatedAt: core.Millis(i / 3)}
	}
	storetest.Save(t, many.Store, frames...)
	for _, p := range []*projecttest.Fixture{from, projecttest.New(t), many} {
		_, err := transfer.Export(p.Ctx, p.Project, projecttest.Host("s"), first)
		require.NoError(t, err)
		state, err := transfer.Snapshot(p.Ctx, p.Project, projecttest.Host("s"))
		require.NoError(t, err)
		text, err := json.MarshalIndent(state, "", "  ")
		require.NoError(t, err)
		written, err := os.ReadFile(filepath.Join(first, "state.json"))
		require.NoError(t, err)
		assert.Equal(t, string(text)+"\n", string(written), "it is written piece by piece")
	}
}

func TestNoFieldOfAFrameIsLost(t *testing.T) {
	var frame core.Frame
	cases.Fill(&frame, new(int))
	frame.Status, frame.EndedAt, frame.Machine = core.Invalidated, frame.InvalidatedAt, ""
	from, to, dir := projecttest.New(t), projecttest.New(t), t.TempDir()
	planned := core.Frame{ID: "plan", Parent: "parent", Status: core.Planned}
	frame.ID, frame.Session, frame.Parent, frame.PlannedChildren = "frame", "session", "parent", []string{planned.ID}
	storetest.Save(t, from.Store, core.Frame{ID: "parent", Status: core.Completed}, planned, frame)
	assert.Equal(t, frame, from.Get(frame.ID), "in the store")

	_, err := transfer.Export(from.Ctx, from.Project, projecttest.Shell, dir)
	require.NoError(t, err)
	_, err = transfer.Import(to.Ctx, to.Project, dir)
	require.NoError(t, err)
	assert.Equal(t, frame, to.Get(frame.ID), "in an export")

	clock := merge.Clock{Machine: "here"}
	text, err := json.Marshal(merge.UpdateLocal(merge.Doc{}, frame, clock.Machine, func() merge.Timestamp { return clock.Tick(1) }))
	require.NoError(t, err)
	doc, err := merge.Parse(text, frame.UpdatedAt)
	require.NoError(t, err)
	frame.LogPath = "" // a file of this machine
	assert.Equal(t, frame, doc.Frame(clock.Machine), "in a document for other machines")
}

func TestAnImportNeitherSetsNorClearsAMachine(t *testing.T) {
	t.Parallel()
	from := projecttest.New(t)
	foreign := from.Foreign("", "theirs", core.Completed)
	dir := t.TempDir()
	_, err := transfer.Export(from.Ctx, from.Project, projecttest.Shell, dir)
	require.NoError(t, err)
	state, err := transfer.Snapshot(from.Ctx, from.Project, projecttest.Shell)
	require.NoError(t, err)
	assert.Equal(t, projecttest.Laptop, state.Frames[foreign.ID].Machine)

	done, err := transfer.Import(from.Ctx, from.Project, dir)
	require.NoError(t, err)
	assert.Equal(t, transfer.ImportResult{Unchanged: 1}, done)
	assert.Equal(t, foreign, from.Get(foreign.ID))

	to := projecttest.New(t)
	_, err = transfer.Import(to.Ctx, to.Project, dir)
	require.NoError(t, err)
	assert.Empty(t, to.Get(foreign.ID).Machine)
	state, err = transfer.Snapshot(to.Ctx, to.Project, projecttest.Shell)
	require.NoError(t, err)
	assert.Empty(t, state.Frames[foreign.ID].Extra)

	to.TakeAway(foreign.ID)
	_, err = transfer.Import(to.Ctx, to.Project, dir)
	require.NoError(t, err)
	assert.Equal(t, projecttest.Laptop, to.Get(foreign.ID).Machine)
}

func TestImportTakesTheOriginalPluginsState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "state.json", `{"version": 1, "frames": {
		"ses_A": {"sessionID": "ses_A", "status": "in_progress", "title": "Root",
			"successCriteria": "all", "successCriteriaCompacted": "a", "createdAt": 1, "updatedAt": 5, "artifacts": [], "decisions": [], "plannedChildren": ["ses_B"]},
		"ses_B": {"sessionID": "ses_B", "parentSessionID": "ses_A", "status": "completed", "title": "Child",
			"createdAt": 2, "updatedAt": 4, "artifacts": ["x"], "decisions": [], "results": "long", "resultsCompacted": "short"}
	}, "rootFrameIDs": ["ses_A"], "updatedAt": 9}`)
	write(t, dir, "frames/ses_B.json", `{"sessionID": "ses_B", "status": "planned", "goal": "stale copy"}`)
	write(t, dir, "frames/only.json", `{"sessionID": "only", "status": "planned", "goal": "beside", "createdAt": 3, "updatedAt": 3}`)
	f := projecttest.New(t)
	done, err := transfer.Import(f.Ctx, f.Project, dir)
	require.NoError(t, err)
	assert.Equal(t, 3, done.Added)
	child := f.Get("ses_B")
	assert.Equal(t, "Child", child.Goal)
	assert.Equal(t, "short", child.Summary)
	assert.Equal(t, "long", child.Results)
	assert.Equal(t, "ses_A", child.Parent)
	assert.Equal(t, "beside", f.Get("only").Goal)

	out := t.TempDir()
	_, err = transfer.Export(f.Ctx, f.Project, projecttest.Host("s"), out)
	require.NoError(t, err)
	var state map[string]map[string]any
	raw, err := os.ReadFile(filepath.Join(out, "state.json"))
	require.NoError(t, err)
	_ = json.Unmarshal(raw, &state) // other members are no objects
	root := state["frames"]["ses_A"].(map[string]any)
	assert.Equal(t, "a", root["successCriteriaCompacted"], "members that flame does not know are kept")
	assert.Equal(t, "Root", root["title"])
}

func TestImportRepairsOrRefuses(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		State    string
		Repaired int
		Refused  bool // as invalid
	}](t, "testdata/repairs.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "state.json", tt.State)
			f := projecttest.New(t)
			done, err := transfer.Import(f.Ctx, f.Project, dir)
			if tt.Refused {
				require.ErrorIs(t, err, core.ErrInvalid)
				stats, err := view.StatsOf(f.Ctx, f.Project)
				require.NoError(t, err)
				assert.Zero(t, stats.Total)
				return
			}
			require.NoError(t, err)
			assert.Len(t, done.Repaired, tt.Repaired)
			out := t.TempDir()
			exported, err := transfer.Export(f.Ctx, f.Project, projecttest.Host("s"), out)
			require.NoError(t, err)
			files, err := os.ReadDir(filepath.Join(out, "frames"))
			require.NoError(t, err)
			assert.Len(t, files, exported.Frames, "no two frames share a file")
			again := projecttest.New(t)
			_, err = transfer.Import(again.Ctx, again.Project, out)
			require.NoError(t, err)
		})
	}
	f := projecttest.New(t)
	_, err := transfer.Import(f.Ctx, f.Project, t.TempDir())
	require.ErrorIs(t, err, core.ErrNotFound)
}

func TestAnExportForgetsFramesThatAreGone(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	gone, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("s"), "", "gone", "")
	require.NoError(t, err)
	out := t.TempDir()
	write(t, out, "frames/notes.json", `{"sessionID": "mine", "goal": "not of an export"}`)
	_, err = transfer.Export(f.Ctx, f.Project, projecttest.Host("s"), out)
	require.NoError(t, err)
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.DeleteFrame(gone.ID) }))
	exported, err := transfer.Export(f.Ctx, f.Project, projecttest.Host("s"), out)
	require.NoError(t, err)
	assert.Zero(t, exported)
	files, err := os.ReadDir(filepath.Join(out, "frames"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Equal(t, "notes.json", files[0].Name(), "what no export wrote stays")
}

func TestPruneArchivesRootsWithoutWork(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	idle, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("a"), "", "nothing came of it", "")
	require.NoError(t, err)
	worked := f.Push(projecttest.Host("b"), "work").Parent
	f.Clock += 8 * 24 * 60 * 60 * 1000
	fresh, err := stack.SetGoal(f.Ctx, f.Project, projecttest.Host("c"), "", "just begun", "")
	require.NoError(t, err)

	pruned, err := sweep.Prune(f.Ctx, f.Project, false)
	require.NoError(t, err)
	assert.Equal(t, []string{idle.ID}, projecttest.IDs(pruned))
	tree, err := view.TreeOf(f.Ctx, f.Project, projecttest.Shell, view.TreeArgs{})
	require.NoError(t, err)
	shown, _ := projecttest.Walk(tree)
	assert.Contains(t, shown, worked)
	assert.Contains(t, shown, fresh.ID)
	assert.NotContains(t, shown, idle.ID)

	pruned, err = sweep.Prune(f.Ctx, f.Project, true)
	require.NoError(t, err)
	assert.Equal(t, []string{idle.ID}, projecttest.IDs(pruned), "archived ones are deleted too")
	_, err = view.DetailsOf(f.Ctx, f.Project, projecttest.Shell, idle.ID)
	require.ErrorIs(t, err, core.ErrNotFound)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func TestStatsAddUpUsage(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	for i := range int64(3) {
		frame := f.Push(projecttest.Host("s"), "work")
		frame.Usage = core.Usage{TokensIn: 10 * i, TokensOut: 1, CacheRead: 2, CacheWritten: 3, CostUSD: 0.25, ToolCalls: 4}
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.SaveFrame(frame) }))
	}
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Equal(t, core.Usage{TokensIn: 30, TokensOut: 3, CacheRead: 6, CacheWritten: 9, CostUSD: 0.75, ToolCalls: 12}, stats.Usage)
	assert.Equal(t, 4, stats.Frames[core.InProgress])
	assert.Equal(t, map[string]int{"active": 1}, stats.Sessions)
}

func TestWhichFrameWasActiveComesAlong(t *testing.T) {
	t.Parallel()
	from, to := projecttest.New(t), projecttest.New(t)
	active := from.Push(projecttest.Host("mine"), "active")
	from.Push(projecttest.Host("other"), "changed last")
	dir := t.TempDir()
	_, err := transfer.Export(from.Ctx, from.Project, projecttest.Host("mine"), dir)
	require.NoError(t, err)
	for range 2 {
		_, err := transfer.Import(to.Ctx, to.Project, dir)
		require.NoError(t, err)
		assert.Equal(t, active.ID, to.Current(projecttest.Shell))
	}
	own := to.Push(projecttest.Host("s"), "own work")
	_, err = transfer.Import(to.Ctx, to.Project, dir)
	require.NoError(t, err)
	assert.Equal(t, own.ID, to.Current(projecttest.Shell), "an import moves nobody who works")
}
