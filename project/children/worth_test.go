package children_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/usage"
	"flame/tests/projecttest"
)

// unmatched is a project whose patterns match no title.
func unmatched(t *testing.T) *projecttest.Fixture {
	f := projecttest.New(t)
	f.Subagents.SubagentPatterns = []string{"nothing is called so"}
	f.Prompt(projecttest.Host("s"), "first", "work")
	return f
}

// steps is a child's model answering, as a host reports it with the next request.
func steps(f *projecttest.Fixture, child string, n int) {
	f.T.Helper()
	_, err := turns.EditRequest(f.Ctx, f.Project, projecttest.Child(child), turns.Request{
		Usage: []usage.AnswerUsage{{ID: fmt.Sprintf("msg-%03d", n), At: f.Clock, Usage: core.Usage{TokensIn: 1}}},
	})
	require.NoError(f.T, err)
}

func TestALongChildGetsItsFrameWhileItWorks(t *testing.T) {
	t.Parallel()
	f := unmatched(t)
	f.StartChild("c", "Some work")
	f.Prompt(projecttest.Child("c"), "m1", "do it")
	for n := range 5 {
		steps(f, "c", n)
	}
	assert.Equal(t, []string{"in_progress work"}, f.Draw(), "it has not lasted long enough")
	f.Clock += 60_000
	steps(f, "c", 9)
	assert.Equal(t, []string{"in_progress work", "  in_progress Some work"}, f.Draw())
	assert.Equal(t, core.SubagentStats{TotalDetected: 1, FramesCreated: 1}, stats(f))
}

func TestFlameLooksAtALongSilentChild(t *testing.T) {
	t.Parallel()
	f := unmatched(t)
	f.Transcripts = func(string, string, core.LogPosition) iter.Seq2[core.LogEntry, error] {
		return func(func(core.LogEntry, error) bool) {}
	}
	f.StartChild("c", "Some work")
	for n := range 3 {
		f.Prompt(projecttest.Child("c"), fmt.Sprint(n), "do it")
	}
	f.Clock += 59_000
	f.Sweep()
	assert.Len(t, f.All(), 1)
	f.Clock += 2_000
	f.Sweep()
	assert.Equal(t, []string{"in_progress work", "  in_progress Some work"}, f.Draw())
}

func TestAChildKnownOnlyByItsType(t *testing.T) {
	t.Parallel()
	call := func(f *projecttest.Fixture, by project.Caller, id string) {
		_, err := children.Spawn(f.Ctx, f.Project, by, children.SpawnCall{ID: id, Description: id, AgentType: "explore"})
		require.NoError(f.T, err)
	}
	tests := map[string]struct {
		ask   func(f *projecttest.Fixture)
		bound bool
	}{
		"is bound where one is asked for": {func(f *projecttest.Fixture) { call(f, projecttest.Host("s"), "one") }, true},
		"not where two are": {func(f *projecttest.Fixture) {
			call(f, projecttest.Host("s"), "one")
			call(f, projecttest.Host("s"), "two")
		}, false},
		"also where another session asked for one": {func(f *projecttest.Fixture) {
			f.Prompt(projecttest.Host("other"), "first", "other work")
			call(f, projecttest.Host("other"), "two")
			call(f, projecttest.Host("s"), "one")
		}, true},
		"not where one below asked for one too": {func(f *projecttest.Fixture) {
			f.SpawnAll(projecttest.Host("s"), "above")
			call(f, projecttest.Host("s"), "one")
			call(f, projecttest.Agent("above"), "two")
		}, false},
		"not where none is": {func(*projecttest.Fixture) {}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := unmatched(t)
			tt.ask(f)
			require.NoError(t, children.BindByType(f.Ctx, f.Project, projecttest.Host("s"), "explore", children.ChildStart{Session: "c"}))
			child, err := children.SessionOf(f.Ctx, f.Project, "c")
			require.NoError(t, err)
			assert.Equal(t, []bool{tt.bound, false}, []bool{child.Tracked, child.HasFrame()})
		})
	}
}

// TestTheCountersAddUp plays random events of children of both hosts, twice each and out
// of order, and looks at the counters after each.
func TestTheCountersAddUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Prompt(projecttest.Host("s"), "first", "work")
			r := rand.New(rand.NewPCG(seed, 16))
			for i := range 120 {
				what, play := childEvent(f, r, i)
				for range 1 + r.IntN(2) {
					require.NoError(t, play(), what)
				}
				c := stats(f)
				at := fmt.Sprintf("seed %d, step %d: %s: %+v", seed, i, what, c)
				require.Equal(t, c.TotalDetected, c.FramesCreated+c.SkippedByHeuristics+c.Undecided(), at)
				require.LessOrEqual(t, c.AutoCompleted+c.ManuallyCompleted+c.EndedByHost, c.FramesCreated, at)
				require.GreaterOrEqual(t, min(c.FramesCreated, c.SkippedByHeuristics, c.AutoCompleted, c.ManuallyCompleted, c.EndedByHost), 0, at)
			}
			require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("s")))
			c := stats(f)
			assert.Zero(t, c.Undecided(), "all have ended: %+v", c)
			assert.Equal(t, c.FramesCreated, c.AutoCompleted+c.ManuallyCompleted+c.EndedByHost, "each frame ended in one way: %+v", c)
		})
	}
}

// childEvent returns an event of one of several children: of half of them the title
// matches, half are asked for by calls, and the time goes on.
func childEvent(f *projecttest.Fixture, r *rand.Rand, i int) (what string, play func() error) {
	n := r.IntN(12)
	id, title := fmt.Sprint("c", n), []string{"Some work", "Work of a subagent"}[n%2]
	call, child := "call-"+id, projecttest.Child(id)
	called := n >= 6
	f.Clock += core.Millis(r.IntN(15_000))
	ended := children.EndReport{Session: id, End: []core.ChildEnd{core.ChildCompleted, core.ChildFailed, core.ChildCancelled}[r.IntN(3)], Last: "last"}
	events := []struct {
		what string
		play func() error
	}{
		{"starts", func() error {
			if called {
				f.Subagents.SubagentPatterns = []string{[]string{"never", "subagent"}[n%2]}
				_, err := children.Spawn(f.Ctx, f.Project, projecttest.Host("s"), children.SpawnCall{ID: call, Description: title, AgentType: "x"})
				f.Subagents.SubagentPatterns = core.DefaultSubagentConfig().SubagentPatterns
				return err
			}
			_, err := children.StartSession(f.Ctx, f.Project, child, title)
			return err
		}},
		{"is known", func() error {
			if !called {
				return nil
			}
			_, err := children.BindSession(f.Ctx, f.Project, projecttest.Host("s"), children.ChildStart{Call: call, Session: id})
			return err
		}},
		{"hears", func() error {
			if called {
				return nil
			}
			return turns.NotePrompt(f.Ctx, f.Project, child, turns.Prompt{ID: fmt.Sprint(i), Text: "more", FromUser: true})
		}},
		{"rests", func() error { return turns.End(f.Ctx, f.Project, child, turns.EndReport{LastMessage: "rests"}) }},
		{"ends", func() error { return children.End(f.Ctx, f.Project, projecttest.Host("s"), ended) }},
		{"its call fails", func() error {
			if !called {
				return nil
			}
			return children.End(f.Ctx, f.Project, projecttest.Host("s"), children.EndReport{Call: call, End: core.ChildFailed})
		}},
		{"is completed", func() error {
			_, err := children.Complete(f.Ctx, f.Project, projecttest.Host("s"), id, core.Completed, "by hand")
			return onlyRefused(err)
		}},
		{"goes on", func() error { _, err := children.Continue(f.Ctx, f.Project, projecttest.Host("s"), id, 0); return err }},
		{"time passes", func() error { return sweep.RunOnce(f.Ctx, f.Project) }},
		{"pushes", func() error {
			_, err := stack.Push(f.Ctx, f.Project, child, "inside", "")
			return onlyRefused(err)
		}},
	}
	event := events[r.IntN(len(events))]
	return event.what + " " + id, event.play
}

// onlyRefused returns err unless it says that something cannot be done now.
func onlyRefused(err error) error {
	if project.IgnoreMissing(err) == nil || errors.Is(err, core.ErrInvalid) {
		return nil
	}
	return err
}
