package board_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render/board"
	"flame/tests/projecttest"
)

// page is what a page knows: what a board showed last.
type page struct {
	version   int64
	frames    map[string]board.Row
	agents    map[string]board.Agent
	sessions  []board.Session
	conflicts []board.Conflict
	notices   []board.Notice
	gaps      []core.Interval
	today     board.Today
}

func (p *page) take(s board.Snapshot) {
	p.version, p.sessions, p.conflicts, p.notices, p.gaps, p.today = s.Version, s.Sessions, s.Conflicts, s.Notices, s.Gaps, s.Today
	p.frames = lo.KeyBy(s.Frames, func(row board.Row) string { return row.ID })
	p.agents = lo.KeyBy(s.Agents, func(a board.Agent) string { return a.ID })
}

// watch begins a board of a fixture's project; the function reads it and brings a page up
// to date.
func watch(f *projecttest.Fixture) (*page, func()) {
	b, p := board.New(f.Store, f.Project.Now, nil), &page{}
	return p, func() {
		_, err := b.Read(f.Ctx)
		require.NoError(f.T, err)
		p.take(b.Snapshot())
	}
}

func update(f *projecttest.Fixture, do func(tx project.Tx) error) {
	require.NoError(f.T, f.Store.Update(f.Ctx, do))
}

// save saves frames.
func save(f *projecttest.Fixture, frames ...core.Frame) {
	update(f, func(tx project.Tx) error {
		return errors.Join(lo.Map(frames, func(frame core.Frame, _ int) error { return tx.SaveFrame(frame) })...)
	})
}

func TestTheBoardShowsChangesOfOtherProcesses(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	look()
	assert.Empty(t, p.frames)
	top := f.Push(projecttest.Host("s"), "the first")
	look()
	assert.Equal(t, "the first", p.frames[top.ID].Goal)
	assert.Equal(t, "claude-code", p.frames[top.ID].Host)
	require.Len(t, p.sessions, 1)
	assert.Equal(t, top.ID, p.sessions[0].Current)

	version := p.version
	for range 3 {
		f.Clock += 1000
		look()
	}
	assert.Equal(t, version, p.version, "nothing changed")
	inner := f.Push(projecttest.Host("s"), "the second")
	look()
	assert.Len(t, p.frames, 3)
	assert.Equal(t, version+1, p.version)
	f.Pop(projecttest.Host("s"), "done")
	look()
	assert.Equal(t, core.Completed, p.frames[inner.ID].Status)
	assert.NotZero(t, p.frames[inner.ID].Until)
	assert.Equal(t, top.ID, p.sessions[0].Current)
}

func TestTotalsIncludeTheFrameAndAllFramesBelow(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	used := func(id, parent string, tokens int64) {
		save(f, core.Frame{ID: id, Parent: parent, Status: core.Completed, Goal: id, Usage: core.Usage{TokensIn: tokens, CostUSD: float64(tokens)}})
	}
	total := func(id string) int64 { return p.frames[id].Total.TokensIn }
	used("c", "b", 1)
	look()
	assert.EqualValues(t, 1, total("c"), "its parent is not there yet")
	used("b", "a", 10)
	used("a", "", 100)
	look()
	assert.EqualValues(t, 11, total("b"))
	assert.EqualValues(t, 111, total("a"))
	used("c", "b", 5)
	look()
	assert.EqualValues(t, 115, total("a"))
	used("a", "c", 100)
	look()
	for _, id := range []string{"a", "b", "c"} {
		assert.GreaterOrEqual(t, total(id), p.frames[id].Self.TokensIn, "a cycle ends somewhere")
	}
}

// Whatever happens to a tree, a page that was told of each change knows what a page
// knows that begins then.
func TestAFollowingPageKnowsAsMuchAsANewPage(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			f := projecttest.New(t)
			followed, look := watch(f)
			var ids []string
			for range 60 {
				switch n := r.IntN(10); {
				case n < 6 || len(ids) < 2:
					id := fmt.Sprintf("f%02d", len(ids))
					parent := ""
					if len(ids) > 0 && r.IntN(5) > 0 {
						parent = fmt.Sprintf("f%02d", r.IntN(len(ids)+2))
					}
					save(f, core.Frame{ID: id, Parent: parent, Status: core.Planned, CreatedAt: f.Clock, Usage: core.Usage{ToolCalls: r.Int64N(5)}})
					ids = append(ids, id)
				case n < 8:
					id := ids[r.IntN(len(ids))]
					update(f, func(tx project.Tx) error {
						frame, err := tx.Frame(id)
						if err != nil {
							return project.IgnoreMissing(err)
						}
						if frame.Usage.ToolCalls++; r.IntN(2) == 0 { // an import may put a frame elsewhere, in a cycle too
							frame.Parent = ids[r.IntN(len(ids))]
						}
						return tx.SaveFrame(frame)
					})
				case n < 9:
					_, err := stack.Invalidate(f.Ctx, f.Project, projecttest.Shell, ids[r.IntN(len(ids))], "no")
					_ = err // it may be gone, or invalid already
				default:
					id := ids[r.IntN(len(ids))]
					_ = f.Store.Update(f.Ctx, func(tx project.Tx) error { return tx.DeleteFrame(id) }) // not while something is below it
				}
				f.Clock++
				if r.IntN(3) == 0 {
					look()
				}
			}
			look()
			fresh, read := watch(f)
			read()
			assert.Equal(t, fresh.frames, followed.frames)
			assert.Equal(t, fresh.agents, followed.agents)
			assert.Equal(t, fresh.notices, followed.notices)
			assert.Equal(t, fresh.today, followed.today)
		})
	}
}

func run(id string, change func(*record.Agent)) record.Agent {
	r := record.Agent{
		ID: id, Tree: "s", ParentSession: "s", Host: "claude-code", Type: "tester", Description: "Test it", State: core.AgentActive,
		CreatedAt: 1000, Progress: supervise.Progress{LastLine: 2000, Turns: 1},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestTheBoardFollowsAgentsToTheirEnd(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	look()
	frame := f.Push(projecttest.Host("s"), "agent's")
	update(f, func(tx project.Tx) error {
		return record.Create(tx, run("agent-1", func(r *record.Agent) { r.Frame = frame.ID }))
	})
	look()
	assert.Equal(t, core.AgentActive, p.agents["agent-1"].State)
	update(f, func(tx project.Tx) error {
		r := run("agent-1", func(r *record.Agent) {
			r.Frame, r.State, r.EndedAt, r.Progress.LastLine = frame.ID, core.AgentError, 9000, 8000
			r.Outcome = &supervise.Outcome{State: core.AgentError, Reason: "it broke"}
		})
		if err := record.Agents.Save(tx, r.ID, r); err != nil {
			return err
		}
		if err := record.ActiveAgents.Delete(tx, r.ID); err != nil {
			return err
		}
		return record.Emit(tx, 9000, r, core.SubagentStop, map[string]any{"state": r.State})
	})
	look()
	a := p.agents["agent-1"]
	assert.Equal(t, core.AgentError, a.State)
	assert.EqualValues(t, 9000, a.Ended)
	assert.Equal(t, "it broke", a.Reason)
	require.Len(t, p.notices, 1)
	assert.True(t, p.notices[0].Bad)
	assert.Equal(t, "tester ended (error): Test it", p.notices[0].Text)

	update(f, func(tx project.Tx) error { // another runs between two readings
		r := run("agent-2", func(r *record.Agent) { r.State, r.EndedAt = core.AgentCompleted, 9500 })
		if err := record.Agents.Save(tx, r.ID, r); err != nil {
			return err
		}
		return record.Emit(tx, 9500, r, core.SubagentStop, map[string]any{"state": r.State})
	})
	look()
	assert.Equal(t, core.AgentCompleted, p.agents["agent-2"].State)
	assert.Len(t, p.notices, 2)
}

func TestConflictsWaitUntilTheyAreSettled(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	look()
	tell := func(event string, winner string) {
		update(f, func(tx project.Tx) error {
			c := converge.Convergence{ID: "converge-1", Result: converge.Result{Conflicts: []converge.Conflict{{ID: "value:port", Winner: winner}}}}
			if err := converge.RecordConvergences.Save(tx, c.ID, c); err != nil {
				return err
			}
			return record.Emit(tx, 1, record.Agent{}, event, nil)
		})
		look()
	}
	tell(core.ManualReviewRequired, "")
	require.Len(t, p.conflicts, 1)
	assert.Equal(t, "converge-1", p.conflicts[0].Convergence)
	tell(core.ConvergenceComplete, "agent-1")
	assert.Empty(t, p.conflicts)
}

func TestGapsAreStretchesWithoutWork(t *testing.T) {
	const minute = core.Millis(60_000)
	f := projecttest.New(t)
	by := projecttest.Host("s")
	f.Push(by, "before the night")
	f.Rest(by, "done")
	evening := f.Clock
	f.Clock += 600 * minute
	morning := f.Clock
	f.Prompt(by, "p2", "go on")
	p, look := watch(f)
	look()
	require.Len(t, p.gaps, 1)
	assert.InDelta(t, float64(evening), float64(p.gaps[0].From), float64(minute))
	assert.InDelta(t, float64(morning), float64(p.gaps[0].Until), float64(minute))

	f.Clock += 30 * minute // an agent works while the session is silent
	update(f, func(tx project.Tx) error {
		return record.Create(tx, run("agent-1", func(r *record.Agent) {
			r.CreatedAt, r.Progress.LastLine = evening+100*minute, evening+200*minute
		}))
	})
	look()
	assert.Len(t, p.gaps, 2)
}

func TestGoalsAreCutToOneLine(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	frame := f.Push(projecttest.Host("s"), "a\x1b[31m\nb\u202e"+lo.RandomString(5000, lo.LettersCharset))
	look()
	goal := p.frames[frame.ID].Goal
	assert.LessOrEqual(t, len([]rune(goal)), 201)
	assert.NotContains(t, goal, "\x1b")
	assert.NotContains(t, goal, "\n")
	assert.NotContains(t, goal, "\u202e")
}
