// Package projecttest helps to test operations of a project: one on a real store, with a
// clock and ids of its own, and short forms of what tests do all the time.
package projecttest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/store"
	"flame/store/storetest"
)

// A Fixture is a project on a real store, with a clock and ids of its own.
type Fixture struct {
	*project.Project
	T        *testing.T
	Ctx      context.Context
	Clock    core.Millis
	Data     string // folder
	Contexts *briefing.Contexts
}

// Delegate makes the frame of an agent.
func (f *Fixture) Delegate(by project.Caller, d children.Delegation) (made children.Delegated, err error) {
	err = f.Store.Update(f.Ctx, func(tx project.Tx) error {
		made, err = children.Delegate(f.Project, tx, by, d)
		return err
	})
	return made, err
}

// start is when the clock of a fixture begins.
const start = core.Millis(1_766_600_000_000)

// New returns a project without data.
func New(t *testing.T) *Fixture {
	t.Helper()
	data := filepath.Join(t.TempDir(), ".flame")
	kept := store.Open(data, store.Options{})
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	f := &Fixture{T: t, Ctx: context.Background(), Clock: start, Data: data}
	ids := 0
	again := func() func() { before := ids; return func() { ids = before } }
	f.Project = &project.Project{
		Store: storetest.Twice{Store: kept, Begin: again}, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), EventDays: 90,
		Now: func() core.Millis { f.Clock++; return f.Clock },
		NewID: func(kind string) string {
			ids++
			return fmt.Sprintf("%s-%08d", kind, ids)
		},
	}
	f.Contexts = &briefing.Contexts{Project: f.Project}
	return f
}

// Host is a session that a hook vouches for.
func Host(session string) project.Caller {
	return project.Caller{Session: session, Host: "claude-code", Trust: project.Stamped}
}

// Shell is a person at a shell.
var Shell = project.Caller{Host: project.CommandLine}

// Prompt has a person ask for text in a session and returns the briefing beside it.
func (f *Fixture) Prompt(by project.Caller, id, text string) string {
	f.T.Helper()
	b, err := turns.Begin(f.Ctx, f.Project, by, turns.Prompt{ID: id, Text: text, FromUser: true})
	require.NoError(f.T, err)
	return b.Text
}

func (f *Fixture) Push(by project.Caller, goal string) core.Frame {
	f.T.Helper()
	frame, err := stack.Push(f.Ctx, f.Project, by, goal, "")
	require.NoError(f.T, err)
	return frame
}

func (f *Fixture) Pop(by project.Caller, summary string) stack.Popped {
	f.T.Helper()
	popped, err := stack.Pop(f.Ctx, f.Project, by, stack.PopArgs{Status: core.Completed, Summary: summary})
	require.NoError(f.T, err)
	return popped
}

func (f *Fixture) Plan(by project.Caller, under string, goals ...string) []core.Frame {
	f.T.Helper()
	var children []stack.PlannedChild
	for _, goal := range goals {
		children = append(children, stack.PlannedChild{Goal: goal})
	}
	_, planned, err := stack.Plan(f.Ctx, f.Project, by, under, children)
	require.NoError(f.T, err)
	return planned
}

func (f *Fixture) Activate(by project.Caller, id string) core.Frame {
	f.T.Helper()
	done, err := stack.Activate(f.Ctx, f.Project, by, id, false)
	require.NoError(f.T, err)
	return done.Frame
}

// Get reads a frame by its id.
func (f *Fixture) Get(id string) core.Frame {
	f.T.Helper()
	details, err := view.DetailsOf(f.Ctx, f.Project, Shell, id)
	require.NoError(f.T, err)
	return details.Frame
}

// Current returns the id of the frame a caller works in; empty without one.
func (f *Fixture) Current(by project.Caller) string {
	f.T.Helper()
	frame, _, err := view.Current(f.Ctx, f.Project, by)
	require.NoError(f.T, err)
	return frame.ID
}

// Kinds lists the events of a frame, oldest first.
func (f *Fixture) Kinds(frame string) (kinds []string) {
	f.T.Helper()
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Frame: frame})
	require.NoError(f.T, err)
	for _, e := range events {
		kinds = append(kinds, e.Event)
	}
	return kinds
}

func TestFirstPushOfASessionMakesItsRootToo(t *testing.T) {
	t.Parallel()
	f := New(t)
	frame := f.Push(Host("0123456789abcdef"), "Fix the login")

	root := f.Get(frame.Parent)
	assert.Equal(t, "Session 01234567", root.Goal)
	assert.True(t, root.GoalIsDefault)
	assert.Empty(t, root.Parent)
	assert.Equal(t, core.InProgress, root.Status)
	assert.Equal(t, frame.ID, f.Current(Host("0123456789abcdef")))
	assert.Equal(t, []string{core.FrameCreated}, f.Kinds(frame.ID))
}

func TestReadsMakeNothing(t *testing.T) {
	t.Parallel()
	f := New(t)
	_, err := view.TreeOf(f.Ctx, f.Project, Host("s"), view.TreeArgs{})
	require.NoError(t, err)
	_, err = f.Contexts.Of(f.Ctx, Host("s"), "", 0)
	require.ErrorIs(t, err, core.ErrNotFound)
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.Zero(t, stats.Total)
	assert.Empty(t, stats.Sessions)
	require.NoError(t, children.EndSession(f.Ctx, f.Project, Host("s")))
	assert.NoDirExists(t, f.Data, "not even the data folder")
}

func TestPopReturnsToTheParent(t *testing.T) {
	t.Parallel()
	f := New(t)
	outer := f.Push(Host("s"), "outer")
	inner := f.Push(Host("s"), "inner")

	popped := f.Pop(Host("s"), "inner is done")
	assert.Equal(t, inner.ID, popped.Frame.ID)
	assert.Equal(t, core.Completed, popped.Frame.Status)
	assert.Equal(t, "inner is done", f.Get(inner.ID).Summary)
	assert.Equal(t, outer.ID, popped.Parent.ID)
	assert.Equal(t, outer.ID, f.Current(Host("s")))
}

// Child is a subagent's session, in the session s.
func Child(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "opencode", Trust: project.Stamped}
}

// Completed is the end of a child that said so.
func Completed(child, last string) children.Ended {
	return children.Ended{Session: child, End: core.ChildCompleted, Last: last}
}

// EndChild tells of a child's end, twice, as a host does where flame is installed
// twice.
func (f *Fixture) EndChild(by project.Caller, ended children.Ended) {
	f.T.Helper()
	require.NoError(f.T, children.End(f.Ctx, f.Project, by, ended))
	drawn := f.Draw()
	require.NoError(f.T, children.End(f.Ctx, f.Project, by, ended))
	require.Equal(f.T, drawn, f.Draw(), "the same again changes nothing")
}

// Strong is a question whose answer is to push.
var Strong = autonomy.PushQuestion{PotentialGoal: "Set up database migrations", Errors: new(4), Tokens: new(60_000)}

// Agent is a subagent of session s.
func Agent(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "claude-code", Trust: project.Stamped}
}

// Tick lets time pass.
func (f *Fixture) Tick() core.Millis {
	f.Clock += 10
	return f.Clock
}

func (f *Fixture) StartChild(id, title string) core.Session {
	f.T.Helper()
	session, err := children.StartSession(f.Ctx, f.Project, Child(id), title)
	require.NoError(f.T, err)
	return session
}

func (f *Fixture) Context(by project.Caller, ref string) briefing.FrameContext {
	f.T.Helper()
	made, err := f.Contexts.Of(f.Ctx, by, ref, 0)
	require.NoError(f.T, err)
	return made
}

func (f *Fixture) All() (frames []core.Frame) {
	f.T.Helper()
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) (err error) {
		frames, err = tx.FindFrames(project.FrameQuery{Archived: true})
		return err
	}))
	return frames
}

// Walk returns the ids of a tree and the number of frames counted as left out.
func Walk(tree view.Tree) (shown []string, left int) {
	for _, line := range tree.Lines {
		if line.More == nil {
			shown = append(shown, line.Frame.ID)
		}
		left += Sum(line.More)
	}
	return shown, left
}

func IDs(frames []core.Frame) (list []string) {
	for _, f := range frames {
		list = append(list, f.ID)
	}
	return list
}

// Draw returns the trees without ids, the oldest first, one line a frame: status,
// goal, summary.
func (f *Fixture) Draw() []string {
	f.T.Helper()
	tree, err := view.TreeOf(f.Ctx, f.Project, Shell, view.TreeArgs{})
	require.NoError(f.T, err)
	var trees [][]string
	for _, l := range tree.Lines {
		line := strings.Repeat("  ", int(l.Depth)) + string(l.Frame.Status) + " " + l.Frame.Goal
		if l.Frame.Summary != "" {
			line += ": " + l.Frame.Summary
		}
		if l.Depth == 0 {
			trees = append(trees, nil)
		}
		trees[len(trees)-1] = append(trees[len(trees)-1], line)
	}
	slices.Reverse(trees)
	return slices.Concat(trees...)
}

// SpawnAll starts children of a session. Each has its goal as the id of its own,
// and "call-" before that as its call.
func (f *Fixture) SpawnAll(by project.Caller, goals ...string) {
	f.T.Helper()
	for _, goal := range goals {
		f.Spawn(by, "call-"+goal, goal)
		f.Bind(by, "call-"+goal, goal)
	}
}

// Working is a project in which the session s works.
func Working(t *testing.T) *Fixture {
	t.Helper()
	f := New(t)
	f.Prompt(Host("s"), "first", "work")
	return f
}

func Sum(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// Bind tells which session the child of a call came to be.
func (f *Fixture) Bind(by project.Caller, call, child string) {
	f.T.Helper()
	known, err := children.Bind(f.Ctx, f.Project, by, call, child)
	require.NoError(f.T, err)
	require.True(f.T, known)
}

// Spawn asks for a child by a call and returns the context that it begins with.
func (f *Fixture) Spawn(by project.Caller, call, description string) string {
	f.T.Helper()
	context, err := children.Spawn(f.Ctx, f.Project, by, children.Call{ID: call, Description: description, AgentType: "general-purpose"})
	require.NoError(f.T, err)
	return context
}

func (f *Fixture) ReadActivity(frame string, look func(autonomy.Activity)) {
	f.T.Helper()
	var a autonomy.Activity
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) error {
		_, err := tx.Record("activity", frame, &a)
		return err
	}))
	look(a)
}

// Spent returns what the work in a frame cost, in dollars: one for each answer.
func (f *Fixture) Spent(frame string) float64 {
	f.T.Helper()
	return f.Get(frame).Usage.CostUSD
}

func (f *Fixture) Decide(by project.Caller, frame, decision string) {
	f.T.Helper()
	_, _, err := stack.AddDecision(f.Ctx, f.Project, by, frame, decision)
	require.NoError(f.T, err)
}

// ByID returns all frames as they read.
func (f *Fixture) ByID() Frames {
	f.T.Helper()
	all := Frames{}
	for _, frame := range f.All() {
		all[frame.ID] = frame
	}
	return all
}

// Frames are all of a project, by their ids.
type Frames map[string]core.Frame

func CountOf(all Frames) map[core.Status]int {
	counts := map[core.Status]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	return counts
}

// Slow lets no transaction do more than it must, and calls after in between.
func (f *Fixture) Slow(after func()) {
	f.Now = func() core.Millis { f.Clock += 100; return f.Clock }
	f.Store = &Between{f.Store, after}
}

// Between is a Store that lets something happen after each Update.
type Between struct {
	project.Store
	After func() // each Update
}

func (b *Between) Update(ctx context.Context, f func(project.Tx) error) error {
	err := b.Store.Update(ctx, f)
	if err == nil && b.After != nil {
		b.After()
	}
	return err
}
