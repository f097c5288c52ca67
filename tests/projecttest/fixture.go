// Package projecttest helps to test operations on a project: it has a fixture on a real store, and
// short forms of frequent steps.
package projecttest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/store"
	"flame/tests/storetest"
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

// start is when the clock of a fixture begins.
const start = core.Millis(1_766_600_000_000)

// New returns a project without data.
func New(t *testing.T) *Fixture {
	data := filepath.Join(t.TempDir(), ".flame")
	kept := Open(t, data, store.Options{})
	f := &Fixture{T: t, Ctx: context.Background(), Clock: start, Data: data}
	ids := 0
	again := func() func() { before := ids; return func() { ids = before } }
	f.Project = &project.Project{
		Store: storetest.Twice{Store: kept, Begin: again}, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), EventDays: 90,
		Plans: true, FoldPlans: true, Turns: true, FoldTurns: true,
		Now:      func() core.Millis { return core.Millis(atomic.AddInt64((*int64)(&f.Clock), 1)) }, // a board is read beside the test
		StampKey: func(context.Context, bool) (project.StampKey, error) { return Key, nil },
		NewID: func(kind string) string {
			ids++
			return fmt.Sprintf("%s-%08d", kind, ids)
		},
	}
	f.Contexts = &briefing.Contexts{Project: f.Project}
	return f
}

// Key proves the stamps of fixtures.
var Key = project.StampKey(strings.Repeat("k", 32))

// HostProcess is the process of a host that runs hooks and server.
var HostProcess = project.Process{PID: 7, Started: "then"}

// Proven returns a tool's arguments without the stamp that a hook gave them, and the caller that the
// stamp proves to a server that the same host runs.
func Proven(t *testing.T, p *project.Project, tool, call string, arguments []byte) (rest string, by project.Caller) {
	var given map[string]any
	require.NoError(t, json.Unmarshal(arguments, &given))
	text := func(name string) string {
		value, there := given[name]
		delete(given, name)
		if !there {
			return ""
		}
		require.IsType(t, "", value)
		return value.(string)
	}
	server := *p
	server.HostProcess = func() project.Process { return HostProcess }
	s := project.Stamp{Session: text(project.ArgSession), Agent: text(project.ArgAgent), Tool: tool, Call: call}
	by, ok := server.CallerOf(t.Context(), project.Caller{}, s, text(project.ArgProof))
	require.Equal(t, s.Session != "", ok)
	left, err := json.Marshal(given)
	require.NoError(t, err)
	return string(left), by
}

// Host returns a session that a hook vouches for.
func Host(session string) project.Caller {
	return project.Caller{Session: session, Host: "claude-code", Trust: project.TrustHook}
}

// Shell is a person at a shell.
var Shell = project.Caller{Host: project.CommandLine}

// Strong is a question whose answer is to push.
var Strong = autonomy.PushArgs{PotentialGoal: "Set up database migrations", Errors: new(4), Tokens: new(60_000)}

// Prompt sends a person's prompt to a session and returns the briefing beside it.
func (f *Fixture) Prompt(by project.Caller, id, text string) string {
	b, err := turns.Begin(f.Ctx, f.Project, by, turns.Prompt{ID: id, Text: text, FromUser: true})
	require.NoError(f.T, err)
	return b.Text
}

// Rest reports that a session's turn ended by itself, with a last message.
func (f *Fixture) Rest(by project.Caller, last string) {
	require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.EndReport{LastMessage: last, Running: []string{}}))
}

// End reports the end of a session.
func (f *Fixture) End(by project.Caller) {
	require.NoError(f.T, children.EndSession(f.Ctx, f.Project, by))
}

// Push starts a frame below the caller's.
func (f *Fixture) Push(by project.Caller, goal string) core.Frame {
	frame, err := stack.Push(f.Ctx, f.Project, by, goal, "")
	require.NoError(f.T, err)
	return frame
}

// Pop completes the caller's frame.
func (f *Fixture) Pop(by project.Caller, summary string) stack.PopResult {
	return f.PopAs(by, stack.PopArgs{Status: core.Completed, Summary: summary})
}

// PopAs ends a frame as args say.
func (f *Fixture) PopAs(by project.Caller, args stack.PopArgs) stack.PopResult {
	popped, err := stack.Pop(f.Ctx, f.Project, by, args)
	require.NoError(f.T, err)
	return popped
}

// Invalidate invalidates a frame, empty for the caller's.
func (f *Fixture) Invalidate(by project.Caller, id, reason string) stack.InvalidateResult {
	done, err := stack.Invalidate(f.Ctx, f.Project, by, id, reason)
	require.NoError(f.T, err)
	return done
}

// Plan plans a frame for each goal.
func (f *Fixture) Plan(by project.Caller, under string, goals ...string) []core.Frame {
	var children []stack.PlannedChild
	for _, goal := range goals {
		children = append(children, stack.PlannedChild{Goal: goal})
	}
	plan, err := stack.Plan(f.Ctx, f.Project, by, under, children)
	require.NoError(f.T, err)
	return plan.Frames
}

// Activate activates a frame.
func (f *Fixture) Activate(by project.Caller, id string) core.Frame {
	done, err := stack.Activate(f.Ctx, f.Project, by, id, false)
	require.NoError(f.T, err)
	return done.Frame
}

// Delegate makes the frame of an agent.
func (f *Fixture) Delegate(by project.Caller, d children.DelegateArgs) (made children.DelegateResult, err error) {
	err = f.Store.Update(f.Ctx, func(tx project.Tx) error {
		made, err = children.Delegate(f.Project, tx, by, d)
		return err
	})
	return made, err
}

// Get reads a frame by its id.
func (f *Fixture) Get(id string) core.Frame {
	details, err := view.DetailsOf(f.Ctx, f.Project, Shell, id)
	require.NoError(f.T, err)
	return details.Frame
}

// Current returns the id of the caller's current frame; empty without one.
func (f *Fixture) Current(by project.Caller) string {
	frame, _, err := Current(f.Ctx, f.Project, by)
	require.NoError(f.T, err)
	return frame.ID
}

// Kinds lists the events of a frame, oldest first.
func (f *Fixture) Kinds(frame string) (kinds []string) {
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Frame: frame})
	require.NoError(f.T, err)
	for _, e := range events {
		kinds = append(kinds, e.Event)
	}
	return kinds
}

// Tick lets time pass.
func (f *Fixture) Tick() core.Millis {
	f.Clock += 10
	return f.Clock
}

// Context returns a frame's context.
func (f *Fixture) Context(by project.Caller, ref string) briefing.FrameContext {
	made, err := f.Contexts.Context(f.Ctx, by, ref, 0)
	require.NoError(f.T, err)
	return made
}

// All returns all frames, archived ones too.
func (f *Fixture) All() (frames []core.Frame) {
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) (err error) {
		frames, err = tx.FindFrames(project.FrameQuery{Archived: true})
		return err
	}))
	return frames
}

// Walk returns the ids shown in a tree and the number of frames that it left out.
func Walk(tree view.Tree) (shown []string, left int) {
	for _, line := range tree.Lines {
		if line.More == nil {
			shown = append(shown, line.Frame.ID)
		}
		left += Sum(line.More)
	}
	return shown, left
}

// IDs returns the ids of frames.
func IDs(frames []core.Frame) (list []string) {
	for _, f := range frames {
		list = append(list, f.ID)
	}
	return list
}

// Draw returns the trees without ids, the oldest first, one line a frame: status,
// goal, summary.
func (f *Fixture) Draw() []string {
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

// Sum adds up counts.
func Sum(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// ReadActivity calls look with the recorded activity of a frame.
func (f *Fixture) ReadActivity(frame string, look func(autonomy.FrameActivity)) {
	var a autonomy.FrameActivity
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) error {
		_, err := tx.Record("frame.activity", frame, &a)
		return err
	}))
	look(a)
}

// Scene returns what flame noted of the conversation of a caller's session.
func (f *Fixture) Scene(by project.Caller) (scene autonomy.SessionActivity) {
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) error {
		_, err := tx.Record("session.scene", by.Session, &scene)
		return err
	}))
	return scene
}

// Spent returns the cost of the work in a frame, in dollars: one for each answer.
func (f *Fixture) Spent(frame string) float64 {
	return f.Get(frame).Usage.CostUSD
}

// Decide records a decision.
func (f *Fixture) Decide(by project.Caller, frame, decision string) {
	_, _, err := stack.AddDecision(f.Ctx, f.Project, by, frame, decision)
	require.NoError(f.T, err)
}

// Frames are all frames of a project, by their ids.
type Frames map[string]core.Frame

// ByID returns all frames by their ids.
func (f *Fixture) ByID() Frames {
	all := Frames{}
	for _, frame := range f.All() {
		all[frame.ID] = frame
	}
	return all
}

// CountOf counts frames by status.
func CountOf(all Frames) map[core.Status]int {
	counts := map[core.Status]int{}
	for _, f := range all {
		counts[f.Status]++
	}
	return counts
}

// Current returns the caller's current frame; ok is false without one.
func Current(ctx context.Context, p *project.Project, by project.Caller) (frame core.Frame, ok bool, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		frame, ok, err = s.Current()
		return err
	})
	return frame, ok, err
}

// Asked returns a conversation of prompts without answers.
func Asked(prompts ...string) (history []fold.Message) {
	for i, name := range prompts {
		history = append(history, fold.Message{Name: name, Role: core.RoleUser, Time: core.Millis(i + 1)})
	}
	return history
}

// Slow makes every transaction do as little as it can, and calls after in between.
func (f *Fixture) Slow(after func()) {
	f.Now = func() core.Millis { f.Clock += 100; return f.Clock }
	f.Store = &UpdateObserver{f.Store, after}
}

// An UpdateObserver is a Store that calls After after each Update.
type UpdateObserver struct {
	project.Store
	After func()
}

// Update runs f, and After if that succeeded.
func (b *UpdateObserver) Update(ctx context.Context, f func(project.Tx) error) error {
	err := b.Store.Update(ctx, f)
	if err == nil && b.After != nil {
		b.After()
	}
	return err
}
