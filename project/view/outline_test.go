package view_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/tests/projecttest"
)

// save writes frames as they are, whatever the rules say.
func save(f *projecttest.Fixture, frames ...core.Frame) {
	f.T.Helper()
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		for _, frame := range frames {
			if err := tx.SaveFrame(frame); err != nil {
				return err
			}
		}
		return nil
	}))
}

// work lets a session work in a frame.
func work(f *projecttest.Fixture, session, frame string) {
	f.T.Helper()
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		return tx.SaveSession(core.Session{
			ID: session, Host: "claude-code", Stamped: true, State: core.SessionActive, Root: frame, Current: frame,
		})
	}))
}

func TestChildrenStandInTheOrderInWhichTheyWerePlannedOrMade(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	planned := f.Plan(projecttest.Host("s"), "", "one", "two", "three")
	f.Activate(projecttest.Host("s"), planned[1].ID)
	f.Pop(projecttest.Host("s"), "")
	f.Push(projecttest.Host("s"), "four")
	f.Plan(projecttest.Host("s"), f.Get(planned[0].ID).Parent, "five")
	f.Invalidate(projecttest.Host("s"), planned[0].ID, "not needed")
	assert.Equal(t, []string{
		"in_progress work", "  invalidated one", "  completed two", "  planned three", "  in_progress four", "  planned five",
	}, f.Draw())
}

// randomForest saves n frames whose parents are random: often missing, themselves or
// below them. Some are archived.
func randomForest(f *projecttest.Fixture, r *rand.Rand, n int) (ids []string) {
	f.T.Helper()
	var frames []core.Frame
	for i := range n {
		frame := core.Frame{
			ID: fmt.Sprintf("f-%03d", i), Goal: "goal", Status: core.Statuses[r.IntN(len(core.Statuses))],
			CreatedAt: core.Millis(r.IntN(n)), UpdatedAt: core.Millis(i),
		}
		if r.IntN(8) > 0 {
			frame.Parent = fmt.Sprintf("f-%03d", r.IntN(n+3))
		}
		if r.IntN(8) == 0 {
			frame.ArchivedAt = 1
		}
		frames, ids = append(frames, frame), append(ids, frame.ID)
	}
	save(f, frames...)
	return ids
}

// idsOf returns the ids of lines in order, and fails where the shape is none of a tree.
func idsOf(t *testing.T, lines []outline.Line) (ids []string) {
	t.Helper()
	depth := int32(-1)
	for _, line := range lines {
		require.LessOrEqual(t, line.Depth, depth+1)
		if depth = line.Depth; line.More != nil {
			depth-- // nothing lies below those left out
			continue
		}
		ids = append(ids, line.Frame.ID)
	}
	return ids
}

func TestAnyForestIsShownWholeAndInPart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 5))
			f := projecttest.New(t)
			all := randomForest(f, r, 1+r.IntN(60))
			work(f, "s", all[r.IntN(len(all))])

			whole, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Archived: true})
			require.NoError(t, err)
			shown := idsOf(t, whole.Lines)
			assert.ElementsMatch(t, all, shown, "each frame once")
			assert.Equal(t, whole.Lines, linesOf(f, view.TreeArgs{Archived: true}), "streamed or not, it is the same")

			part, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Archived: true, Limit: 1})
			require.NoError(t, err)
			some := idsOf(t, part.Lines)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(some))), len(some), "each frame once at most")
			if part.Current != "" {
				assert.Contains(t, some, part.Current)
			}
			for _, id := range all {
				below, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Root: id})
				require.NoError(t, err)
				assert.Equal(t, below.Lines, linesOf(f, view.TreeArgs{Root: id}))
				part, err := view.TreeOf(f.Ctx, f.Project, projecttest.Host("s"), view.TreeArgs{Root: id, Limit: 1})
				require.NoError(t, err)
				assert.Equal(t, id, part.Lines[0].Frame.ID)
				f.Context(projecttest.Host("s"), id)
			}
		})
	}
}

// linesOf returns the lines of a tree as they are streamed.
func linesOf(f *projecttest.Fixture, args view.TreeArgs) (lines []outline.Line) {
	f.T.Helper()
	tree, err := view.OutlineOf(f.Ctx, f.Project, projecttest.Host("s"), args)
	require.NoError(f.T, err)
	for page, err := range tree.Pages(f.Ctx) {
		require.NoError(f.T, err)
		lines = append(lines, page...)
	}
	return lines
}

func TestFramesBelowAnArchivedOneAreNoFault(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	save(f, core.Frame{ID: "old", Status: core.Completed, ArchivedAt: 1}, core.Frame{ID: "new", Parent: "old", Status: core.Planned},
		core.Frame{ID: "lost", Parent: "gone", Status: core.Planned})
	faults := map[string]outline.Fault{}
	for _, line := range linesOf(f, view.TreeArgs{}) {
		assert.Zero(t, line.Depth)
		faults[line.Frame.ID] = line.Fault
	}
	assert.Equal(t, map[string]outline.Fault{"new": outline.NoFault, "lost": outline.NoParent}, faults)
	assert.Zero(t, linesOf(f, view.TreeArgs{Root: "new"})[0].Fault, "what lies above is out of sight, not missing")
}

func TestFramesDeletedWhileATreeStreamsAreLeftOut(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	var frames []core.Frame
	var want []string
	for i := range 1200 {
		frames = append(frames, core.Frame{ID: fmt.Sprintf("f-%04d", i), Status: core.Completed, CreatedAt: core.Millis(-i)})
		if i != 1100 {
			want = append(want, frames[i].ID)
		}
	}
	save(f, frames...)
	tree, err := view.OutlineOf(f.Ctx, f.Project, projecttest.Shell, view.TreeArgs{})
	require.NoError(t, err)
	var got []string
	for page, err := range tree.Pages(f.Ctx) {
		require.NoError(t, err)
		if got == nil {
			require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.DeleteFrame("f-1100") }))
		}
		got = append(got, idsOf(t, page)...)
	}
	assert.Equal(t, want, got)
}

func TestTheWayUpIsFoundHoweverLong(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	root := f.Push(projecttest.Host("s"), "the only one that is open")
	const levels = 333
	frames := make([]core.Frame, levels)
	for i := range frames {
		frames[i] = core.Frame{ID: fmt.Sprintf("f-%03d", i), Parent: fmt.Sprintf("f-%03d", i-1), Goal: "done", Status: core.Completed}
	}
	frames[0].Parent = root.ID
	save(f, frames...)
	work(f, "s", frames[levels-1].ID)
	assert.Equal(t, root.ID, f.Current(projecttest.Host("s")))
	popped := f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: root.ID, Status: core.Completed})
	assert.Equal(t, root.Parent, popped.Current, "its session worked inside of it")
}
