package project_test

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
	"flame/tests/race"
)

// TestInvalidationsAmongOtherOperations plays random operations between the
// transactions of invalidations, some of them invalidations themselves.
func TestInvalidationsAmongOtherOperations(t *testing.T) {
	t.Parallel()
	for seed := range race.Seeds(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 2))
			f := newFixture(t)
			f.plant(r, 250)
			f.NewID = project.NewID
			other := f.another()
			state := f.byID()
			play := 30
			f.slow(func() {
				check(t, other, "after a transaction of an invalidation", &state)
				for range min(2, play) {
					play--
					target := f.planted(r.IntN(250))
					what := []string{"plan", "activate", "decide", "invalidate", "pop", "sweep"}[r.IntN(6)]
					by := host(fmt.Sprint("o", r.IntN(3)))
					switch what {
					case "plan":
						_, _, _ = stack.Plan(f.ctx, other.Project, by, target, []stack.PlannedChild{{Goal: "more"}})
					case "activate":
						_, _ = stack.Activate(f.ctx, other.Project, by, target, true)
					case "decide":
						_, _, _ = stack.AddDecision(f.ctx, other.Project, by, target, what)
					case "invalidate":
						want, _, _ := invalidated(state, target, "this too", 0)
						_, err := stack.Invalidate(f.ctx, other.Project, by, target, "this too")
						require.NoError(t, err)
						assert.Equal(t, statuses(want), statuses(other.byID()))
					case "pop":
						_, _ = stack.Pop(f.ctx, other.Project, by, stack.PopArgs{Frame: target, Status: core.Completed, Force: true})
					case "sweep":
						f.clock += 3000
						require.NoError(t, sweep.Once(f.ctx, other.Project))
					}
					check(t, other, what+" "+target, &state)
				}
			})
			for range 3 {
				target := f.planted(r.IntN(40))
				_, err := stack.Invalidate(f.ctx, f.Project, host("s"), target, "gone")
				require.NoError(t, err)
			}
			for rounds := 0; len(other.cascades()) > 0; rounds++ {
				require.Less(t, rounds, 100)
				f.clock += 3000
				require.NoError(t, sweep.Once(f.ctx, other.Project))
				check(t, other, "sweep", &state)
			}
			for id, frame := range state {
				if frame.Status == core.Invalidated && frame.InvalidatedAt > 1 {
					assert.Contains(t, f.kinds(id), core.FrameInvalidated, id)
				}
			}
		})
	}
}

func statuses(all frames) map[string]core.Status {
	list := map[string]core.Status{}
	for id, f := range all {
		list[id] = f.Status
	}
	return list
}

// check asserts what holds after every transaction: nothing is planned below what is
// invalidated, and what was invalidated stays so.
func check(t *testing.T, f *fixture, what string, before *frames) {
	t.Helper()
	now := f.byID()
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
