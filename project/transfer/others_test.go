package transfer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/stack"
	"flame/project/transfer"
	"flame/tests/projecttest"
)

// theirs is a document of a frame that another machine works in.
func theirs(id string, at core.Millis) merge.Doc {
	stamp := merge.Timestamp{At: at, Machine: "other"}
	return merge.Doc{
		V: merge.Version, ID: id, CreatedAt: at, UpdatedAt: at,
		Work: merge.OwnerFields{Machine: "other", Stamp: stamp, Status: core.InProgress, Goal: "theirs", StartedAt: at},
	}
}

// TestFramesOfOthersDoNotHideThoseOfThisMachine works in one frame before a hundred of
// another machine's come.
func TestFramesOfOthersDoNotHideThoseOfThisMachine(t *testing.T) {
	t.Parallel()
	m := machines(t, 1)[0]
	f := m.Push(projecttest.Host("s"), "Mine")
	var docs []merge.Doc
	for i := range 101 {
		docs = append(docs, theirs(fmt.Sprint("frame-other", i), m.Clock+5))
	}
	_, err := transfer.SharedTree{Project: m.Project, Machine: "here"}.Take(m.Ctx, docs)
	require.NoError(t, err)
	held, err := transfer.HeldFrames(m.Ctx, m.Project)
	require.NoError(t, err)
	assert.Contains(t, held, f.ID, "nobody else may take it over")
	frame, _, err := stack.AddDecision(m.Ctx, m.Project, project.Caller{Host: project.CommandLine}, "", "so")
	require.NoError(t, err)
	assert.Equal(t, f.ID, frame.ID, "a person at a shell works where work is in progress here")
}

// TestARootEndsOnceItsLastPlanIsInvalidated does that on the machine that planned, and on
// another.
func TestARootEndsOnceItsLastPlanIsInvalidated(t *testing.T) {
	t.Parallel()
	for i, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			h, all := hub{}, machines(t, 2)
			a, by := all[0], projecttest.Host("s-a")
			root := a.Push(by, "Mine").Parent
			a.Pop(by, "done")
			plan := a.Plan(by, root, "Later")[0]
			meet(h, all...)
			a.Rest(by, "all done")
			a.End(by)
			a.Sweep()
			require.Equal(t, core.InProgress, a.Get(root).Status)
			_, err := stack.Invalidate(all[i].Ctx, all[i].Project, projecttest.Shell, plan.ID, "no")
			require.NoError(t, err)
			meet(h, all...)
			require.Equal(t, core.Invalidated, a.Get(plan.ID).Status)
			a.Sweep() // it sees what waited for that frame
			a.Sweep()
			assert.Equal(t, core.Completed, a.Get(root).Status)
		})
	}
}

// TestManyNewDecisionsMakeFewEvents and keep others waiting no longer than a few.
func TestManyNewDecisionsMakeFewEvents(t *testing.T) {
	t.Parallel()
	m := machines(t, 1)[0]
	d := theirs("frame-other", 5)
	_, err := transfer.SharedTree{Project: m.Project, Machine: "here"}.Take(m.Ctx, []merge.Doc{d})
	require.NoError(t, err)
	for i := range 3000 {
		d.Decisions = append(d.Decisions, merge.Entry{Text: fmt.Sprint("decision ", i), Stamp: merge.Timestamp{At: 6, Count: int64(i), Machine: "other"}})
	}
	_, err = transfer.SharedTree{Project: m.Project, Machine: "here"}.Take(m.Ctx, []merge.Doc{d})
	require.NoError(t, err)
	assert.Len(t, m.Get("frame-other").Decisions, 3000)
	var events []core.Event
	require.NoError(t, m.Store.View(m.Ctx, func(tx project.Tx) (err error) {
		events, err = tx.FindEvents(project.EventQuery{Frame: "frame-other", Kinds: []string{core.FrameUpdated}})
		return err
	}))
	require.Len(t, events, 21)
	assert.Contains(t, string(events[20].Data), `"more":2980`)
}

// TestAFrameWhoseIDOthersRefuseStaysHere imports nothing: what matters is its id.
func TestAFrameWhoseIDOthersRefuseStaysHere(t *testing.T) {
	t.Parallel()
	m := machines(t, 1)[0]
	require.NoError(t, m.Store.Update(m.Ctx, func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: "a frame", Status: core.InProgress, Goal: "odd", CreatedAt: 1, UpdatedAt: 1})
	}))
	docs, _, err := transfer.SharedTree{Project: m.Project, Machine: "here"}.Collect(m.Ctx, 0)
	require.NoError(t, err)
	assert.Empty(t, docs)
}
