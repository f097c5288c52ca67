package project_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/store"
	"flame/store/storetest"
)

// A fixture is a project on a real store, with a clock and ids of its own.
type fixture struct {
	*project.Project
	t        *testing.T
	ctx      context.Context
	clock    core.Millis
	data     string // folder
	contexts *briefing.Contexts
}

// delegate makes the frame of an agent.
func (f *fixture) delegate(by project.Caller, d children.Delegation) (made children.Delegated, err error) {
	err = f.Store.Update(f.ctx, func(tx project.Tx) error {
		made, err = children.Delegate(f.Project, tx, by, d)
		return err
	})
	return made, err
}

// start is when the clock of a fixture begins.
const start = core.Millis(1_766_600_000_000)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	data := filepath.Join(t.TempDir(), ".flame")
	kept := store.Open(data, store.Options{})
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	f := &fixture{t: t, ctx: context.Background(), clock: start, data: data}
	ids := 0
	again := func() func() { before := ids; return func() { ids = before } }
	f.Project = &project.Project{
		Store: storetest.Twice{Store: kept, Begin: again}, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), EventDays: 90,
		Now: func() core.Millis { f.clock++; return f.clock },
		NewID: func(kind string) string {
			ids++
			return fmt.Sprintf("%s-%08d", kind, ids)
		},
	}
	f.contexts = &briefing.Contexts{Project: f.Project}
	return f
}

// host is a session that a hook vouches for.
func host(session string) project.Caller {
	return project.Caller{Session: session, Host: "claude-code", Trust: project.Stamped}
}

// shell is a person at a shell.
var shell = project.Caller{Host: project.CommandLine}

// prompt has a person ask for text in a session and returns the briefing beside it.
func (f *fixture) prompt(by project.Caller, id, text string) string {
	f.t.Helper()
	b, err := turns.Begin(f.ctx, f.Project, by, turns.Prompt{ID: id, Text: text, FromUser: true})
	require.NoError(f.t, err)
	return b.Text
}

func (f *fixture) push(by project.Caller, goal string) core.Frame {
	f.t.Helper()
	frame, err := stack.Push(f.ctx, f.Project, by, goal, "")
	require.NoError(f.t, err)
	return frame
}

func (f *fixture) pop(by project.Caller, summary string) stack.Popped {
	f.t.Helper()
	popped, err := stack.Pop(f.ctx, f.Project, by, stack.PopArgs{Status: core.Completed, Summary: summary})
	require.NoError(f.t, err)
	return popped
}

func (f *fixture) plan(by project.Caller, under string, goals ...string) []core.Frame {
	f.t.Helper()
	var children []stack.PlannedChild
	for _, goal := range goals {
		children = append(children, stack.PlannedChild{Goal: goal})
	}
	_, planned, err := stack.Plan(f.ctx, f.Project, by, under, children)
	require.NoError(f.t, err)
	return planned
}

func (f *fixture) activate(by project.Caller, id string) core.Frame {
	f.t.Helper()
	done, err := stack.Activate(f.ctx, f.Project, by, id, false)
	require.NoError(f.t, err)
	return done.Frame
}

// get reads a frame by its id.
func (f *fixture) get(id string) core.Frame {
	f.t.Helper()
	details, err := view.DetailsOf(f.ctx, f.Project, shell, id)
	require.NoError(f.t, err)
	return details.Frame
}

// current returns the id of the frame a caller works in; empty without one.
func (f *fixture) current(by project.Caller) string {
	f.t.Helper()
	frame, _, err := view.Current(f.ctx, f.Project, by)
	require.NoError(f.t, err)
	return frame.ID
}

// kinds lists the events of a frame, oldest first.
func (f *fixture) kinds(frame string) (kinds []string) {
	f.t.Helper()
	events, err := view.Events(f.ctx, f.Project, project.EventQuery{Frame: frame})
	require.NoError(f.t, err)
	for _, e := range events {
		kinds = append(kinds, e.Event)
	}
	return kinds
}

func TestFirstPushOfASessionMakesItsRootToo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frame := f.push(host("0123456789abcdef"), "Fix the login")

	root := f.get(frame.Parent)
	assert.Equal(t, "Session 01234567", root.Goal)
	assert.True(t, root.GoalIsDefault)
	assert.Empty(t, root.Parent)
	assert.Equal(t, core.InProgress, root.Status)
	assert.Equal(t, frame.ID, f.current(host("0123456789abcdef")))
	assert.Equal(t, []string{core.FrameCreated}, f.kinds(frame.ID))
}

func TestReadsMakeNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := view.TreeOf(f.ctx, f.Project, host("s"), view.TreeArgs{})
	require.NoError(t, err)
	_, err = f.contexts.Of(f.ctx, host("s"), "", 0)
	require.ErrorIs(t, err, core.ErrNotFound)
	stats, err := view.StatsOf(f.ctx, f.Project)
	require.NoError(t, err)
	assert.Zero(t, stats.Total)
	assert.Empty(t, stats.Sessions)
	require.NoError(t, children.EndSession(f.ctx, f.Project, host("s")))
	assert.NoDirExists(t, f.data, "not even the data folder")
}

func TestPopReturnsToTheParent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outer := f.push(host("s"), "outer")
	inner := f.push(host("s"), "inner")

	popped := f.pop(host("s"), "inner is done")
	assert.Equal(t, inner.ID, popped.Frame.ID)
	assert.Equal(t, core.Completed, popped.Frame.Status)
	assert.Equal(t, "inner is done", f.get(inner.ID).Summary)
	assert.Equal(t, outer.ID, popped.Parent.ID)
	assert.Equal(t, outer.ID, f.current(host("s")))
}
