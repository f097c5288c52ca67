package stack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/tests/projecttest"
)

// TestInvalidationsAmongOtherOperations plays random operations between the
// transactions of invalidations, some of them invalidations themselves.
func TestInvalidationsAmongOtherOperations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 2))
			f := projecttest.New(t)
			plant(f, r, 250)
			f.NewID = project.NewID
			other := another(f)
			state := f.ByID()
			play := 30
			f.Slow(func() {
				check(t, other, "after a transaction of an invalidation", &state)
				for range min(2, play) {
					play--
					target := idAt(f, r.IntN(250))
					what := []string{"plan", "activate", "decide", "invalidate", "pop", "sweep"}[r.IntN(6)]
					by := projecttest.Host(fmt.Sprint("o", r.IntN(3)))
					switch what {
					case "plan":
						_, _ = stack.Plan(f.Ctx, other.Project, by, target, []stack.PlannedChild{{Goal: "more"}})
					case "activate":
						_, _ = stack.Activate(f.Ctx, other.Project, by, target, true)
					case "decide":
						_, _, _ = stack.AddDecision(f.Ctx, other.Project, by, target, what)
					case "invalidate":
						want, _, _ := invalidated(state, target, "this too", 0)
						_, err := stack.Invalidate(f.Ctx, other.Project, by, target, "this too")
						require.NoError(t, err)
						assert.Equal(t, statuses(want), statuses(other.ByID()))
					case "pop":
						_, _ = stack.Pop(f.Ctx, other.Project, by, stack.PopArgs{Frame: target, Status: core.Completed, Force: true})
					case "sweep":
						f.Clock += 3000
						require.NoError(t, sweep.Once(f.Ctx, other.Project))
					}
					check(t, other, what+" "+target, &state)
				}
			})
			for range 3 {
				target := idAt(f, r.IntN(40))
				_, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Host("s"), target, "gone")
				require.NoError(t, err)
			}
			for rounds := 0; len(cascades(other)) > 0; rounds++ {
				require.Less(t, rounds, 100)
				f.Clock += 3000
				require.NoError(t, sweep.Once(f.Ctx, other.Project))
				check(t, other, "sweep", &state)
			}
			for id, frame := range state {
				if frame.Status == core.Invalidated && frame.InvalidatedAt > 1 {
					assert.Contains(t, f.Kinds(id), core.FrameInvalidated, id)
				}
			}
		})
	}
}

func statuses(all projecttest.Frames) map[string]core.Status {
	list := map[string]core.Status{}
	for id, f := range all {
		list[id] = f.Status
	}
	return list
}

// check asserts what holds after every transaction: nothing is planned below what is
// invalidated, and what was invalidated stays so.
func check(t *testing.T, f *projecttest.Fixture, what string, before *projecttest.Frames) {
	t.Helper()
	now := f.ByID()
	for id, frame := range now {
		if old, known := (*before)[id]; known && old.Status != frame.Status {
			assert.True(t, old.CanMove(frame.Status), "%s: %s from %s to %s", what, id, old.Status, frame.Status)
		}
		for above := frame.Parent; frame.Status == core.Planned && above != ""; above = now[above].Parent {
			require.NotEqual(t, core.Invalidated, now[above].Status, "%s: %s is planned below %s", what, id, above)
		}
	}
	*before = now
}
