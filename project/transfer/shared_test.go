package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/transfer"
	"flame/tests/projecttest"
)

const day = core.Millis(24 * 3600 * 1000)

// A machine has a project of its own, and what it read of it last.
type machine struct {
	*projecttest.Fixture
	id   string
	seen int64
}

// A hub keeps documents, as what machines meet at does.
type hub map[string]merge.Doc

// machines returns that many, with clocks a day apart.
func machines(t *testing.T, n int) (list []*machine) {
	for i := range n {
		m := &machine{Fixture: projecttest.New(t), id: string(rune('a' + i))}
		m.Clock += core.Millis(i) * day
		newID := m.NewID
		m.Project.NewID = func(kind string) string { return newID(kind) + m.id }
		list = append(list, m)
	}
	return list
}

// send brings what was done here to the hub.
func (m *machine) send(h hub) (sent int) {
	m.T.Helper()
	docs, revision, err := transfer.SharedTree{Project: m.Project, Machine: m.id}.Collect(m.Ctx, m.seen)
	require.NoError(m.T, err)
	m.seen = revision
	for _, d := range docs {
		h.put(m.T, d)
	}
	return len(docs)
}

func (h hub) put(t *testing.T, d merge.Doc) {
	text, err := json.Marshal(d)
	require.NoError(t, err)
	read, err := merge.Parse(text, 1_766_600_000_000)
	require.NoError(t, err, "%s", text)
	h[d.ID] = merge.Merge(h[d.ID], read)
}

// receive takes in what is on the hub, in some order.
func (m *machine) receive(h hub) {
	m.T.Helper()
	var docs []merge.Doc
	for _, d := range h { // in any order
		docs = append(docs, d)
	}
	owed, err := transfer.SharedTree{Project: m.Project, Machine: m.id}.Take(m.Ctx, docs)
	require.NoError(m.T, err)
	for _, d := range owed {
		h.put(m.T, d)
	}
}

// meet has machines exchange all that they have.
func meet(h hub, list ...*machine) {
	for range 3 {
		for _, m := range list {
			m.receive(h)
			m.send(h)
		}
	}
}

// state is all that may not change when nothing is done.
func (m *machine) state() (s [2]int64) {
	m.T.Helper()
	require.NoError(m.T, m.Store.View(m.Ctx, func(tx project.Tx) (err error) {
		if s[0], _, err = tx.Revision(); err != nil {
			return err
		}
		last, err := tx.FindEvents(project.EventQuery{Last: true, Limit: 1})
		if len(last) > 0 {
			s[1] = last[0].Seq
		}
		return err
	}))
	return s
}

// alike returns all frames without what may differ between machines.
func (m *machine) alike() projecttest.Frames {
	m.T.Helper()
	all := m.ByID()
	for id, f := range all {
		if f.Machine == "" {
			f.Machine = m.id
		}
		f.Session, f.LogPath = "", ""
		all[id] = f
	}
	return all
}

// events returns the events of a frame with their data.
func (m *machine) events(frame string) (list []string) {
	m.T.Helper()
	require.NoError(m.T, m.Store.View(m.Ctx, func(tx project.Tx) error {
		events, err := tx.FindEvents(project.EventQuery{Frame: frame})
		for _, e := range events {
			list = append(list, e.Event+" "+string(e.Data))
		}
		return err
	}))
	return list
}

// takeOver takes a frame over from another machine; every claim is granted.
func (m *machine) takeOver(by project.Caller, id string) {
	m.T.Helper()
	m.Project.Claim = func(context.Context, core.Frame) error { return nil }
	_, err := stack.Activate(m.Ctx, m.Project, by, id, true)
	require.True(m.T, err == nil || isRefusal(err), "%v", err)
}

func TestChangesByAnotherMachineHaveEvents(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	by := projecttest.Host("s-a")
	root := a.Push(by, "Ship it")
	a.send(h)
	b.receive(h)
	got := b.Get(root.ID)
	assert.Equal(t, "a", got.Machine)
	assert.Empty(t, got.Session)
	assert.Equal(t, root.Goal, got.Goal)
	parent := b.Get(root.Parent)
	assert.Equal(t, []string{`FrameCreated {"goal":"Ship it","machine":"a","parent":"` + parent.ID + `"}`}, b.events(root.ID))

	plan := a.Plan(by, root.ID, "Later")[0]
	a.Decide(by, root.ID, "use tabs")
	_, err := stack.SetGoal(a.Ctx, a.Project, by, root.ID, "Ship it now", "")
	require.NoError(t, err)
	a.Activate(by, plan.ID)
	a.send(h)
	b.receive(h)
	assert.Equal(t, []string{`FramePlanned`, `FrameActivated`}, a.Kinds(plan.ID))
	assert.Equal(t, []string{`FrameCreated {"goal":"Later","machine":"a","parent":"` + root.ID + `"}`}, b.events(plan.ID))
	assert.Equal(t, []string{`FrameUpdated {"decisions":"use tabs","fields":["decisions"],"machine":"a"}`,
		`FrameUpdated {"fields":["goal"],"goal":"Ship it now","machine":"a"}`}, b.events(root.ID)[1:])

	a.Pop(by, "it was done")
	a.send(h)
	b.receive(h)
	assert.Equal(t, []string{`FrameCompleted {"machine":"a","status":"completed"}`}, b.events(plan.ID)[1:])
	a.Activate(by, plan.ID)
	a.send(h)
	b.receive(h)
	a.Pop(by, "it was done better")
	a.send(h)
	b.receive(h)
	a.Invalidate(by, plan.ID, "no")
	a.send(h)
	b.receive(h)
	assert.Equal(t, []string{`FrameReopened {"from":"completed","machine":"a"}`,
		`FrameCompleted {"machine":"a","replacedSummary":"it was done","status":"completed"}`,
		`FrameInvalidated {"machine":"a","reason":"no"}`}, b.events(plan.ID)[2:])
	assert.Equal(t, a.alike(), b.alike())
}

func TestNoEventIsWrittenTwice(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	by := projecttest.Host("s-a")
	root := a.Push(by, "Ship it")
	a.Plan(by, root.ID, "One", "Two")
	a.Decide(by, root.ID, "use tabs")
	assert.Equal(t, 4, a.send(h))
	assert.Zero(t, a.send(h), "nothing was done since")
	b.receive(h)
	before := b.state()
	b.receive(h)
	a.receive(h)
	assert.Equal(t, before, b.state())
	assert.Zero(t, b.send(h), "what came is not sent back")
	b.seen, a.seen = 0, 0
	assert.Zero(t, b.send(h), "not even if all is looked at")
	assert.Zero(t, a.send(h))
	known := 0
	require.NoError(t, transfer.SharedTree{Project: b.Project}.Known(b.Ctx, func(d merge.Doc) error {
		known++
		assert.True(t, d.Equal(h[d.ID]))
		return nil
	}))
	assert.Equal(t, len(h), known)
}

func TestAFrameTakenOverKeepsItsTextsInTheLog(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	by := projecttest.Host("s-a")
	a.Push(by, "Outer")
	inner := a.Push(by, "Inner")
	meet(h, a, b)
	b.takeOver(projecttest.Host("s-b"), inner.ID)
	_, err := stack.SetGoal(a.Ctx, a.Project, by, inner.ID, "Inner, by a", "")
	require.NoError(t, err)
	a.Pop(by, "a's summary") // offline
	_, err = stack.SetGoal(b.Ctx, b.Project, projecttest.Host("s-b"), inner.ID, "Inner, by b", "")
	require.NoError(t, err)
	meet(h, a, b)
	assert.Equal(t, a.alike(), b.alike())
	got := a.Get(inner.ID)
	assert.Equal(t, "b", got.Machine)
	assert.Equal(t, core.InProgress, got.Status)
	assert.Equal(t, "Inner, by b", got.Goal)
	log := a.events(inner.ID)
	assert.Contains(t, log[len(log)-3], `"previous":{"goal":"Inner, by a","summary":"a's summary"}`)
	assert.Contains(t, log[len(log)-2], `FrameReopened {"from":"completed","fromMachine":"a","machine":"b"}`)
	assert.Contains(t, log[len(log)-1], `"replacedSummary":"a's summary"`)
}

func TestDeletedFrames(t *testing.T) {
	t.Parallel()
	empty := func(m *machine) core.Frame {
		f := core.Frame{ID: m.NewID("frame"), Status: core.InProgress, Goal: "Empty", CreatedAt: m.Now(), Session: "old"}
		require.NoError(t, m.Store.Update(m.Ctx, func(tx project.Tx) error { return tx.SaveFrame(f) }))
		return f
	}
	remove := func(m *machine, id string) {
		require.NoError(t, m.Store.Update(m.Ctx, func(tx project.Tx) error { return tx.DeleteFrame(id) }))
	}
	t.Run("goes everywhere, and stays away", func(t *testing.T) {
		t.Parallel()
		h, m := hub{}, machines(t, 2)
		a, b := m[0], m[1]
		f := empty(a)
		meet(h, a, b)
		old := h[f.ID]
		require.Contains(t, b.ByID(), f.ID)
		remove(a, f.ID)
		meet(h, a, b)
		assert.NotContains(t, a.ByID(), f.ID)
		assert.NotContains(t, b.ByID(), f.ID)
		_, err := transfer.SharedTree{Project: b.Project, Machine: "b"}.Take(b.Ctx, []merge.Doc{old})
		require.NoError(t, err)
		assert.NotContains(t, b.ByID(), f.ID)
		before := a.state()
		a.seen = 0
		assert.Zero(t, a.send(h))
		assert.Equal(t, before, a.state())
		require.NoError(t, transfer.SharedTree{Project: a.Project}.Known(a.Ctx, func(d merge.Doc) error {
			assert.True(t, d.IsDeleted())
			return nil
		}))
	})
	t.Run("stays where frames are below it", func(t *testing.T) {
		t.Parallel()
		h, m := hub{}, machines(t, 3)
		a, b, c := m[0], m[1], m[2]
		f := empty(a)
		meet(h, a, b)
		plan := b.Plan(projecttest.Host("s-b"), f.ID, "Below")[0]
		remove(a, f.ID)
		a.send(h)
		require.True(t, h[f.ID].IsDeleted())
		b.send(h)
		for range 2 {
			_, err := transfer.SharedTree{Project: a.Project, Machine: "a"}.Take(a.Ctx, []merge.Doc{h[plan.ID]})
			require.NoError(t, err)
			assert.Contains(t, a.ByID(), f.ID, "it is there again")
		}
		meet(h, a, b, c)
		for _, m := range m {
			assert.Contains(t, m.ByID(), plan.ID, m.id)
			assert.Contains(t, m.ByID(), f.ID, m.id)
			met := map[string]bool{}
			require.NoError(t, transfer.SharedTree{Project: m.Project}.Known(m.Ctx, func(d merge.Doc) error {
				assert.False(t, met[d.ID], "%s: %s", m.id, d.ID)
				met[d.ID] = true
				return nil
			}))
			assert.Len(t, met, len(h))
		}
		assert.Equal(t, a.alike(), b.alike())
		assert.Equal(t, a.alike(), c.alike())
	})
	t.Run("stays where it is worked in", func(t *testing.T) {
		t.Parallel()
		h, m := hub{}, machines(t, 2)
		a, b := m[0], m[1]
		f := empty(a)
		meet(h, a, b)
		remove(b, f.ID)
		meet(h, a, b)
		assert.Contains(t, a.ByID(), f.ID)
		assert.Contains(t, b.ByID(), f.ID)
	})
	t.Run("is put back if something was done in it", func(t *testing.T) {
		t.Parallel()
		h, m := hub{}, machines(t, 2)
		a, b := m[0], m[1]
		f := empty(a)
		a.Decide(projecttest.Shell, f.ID, "a decision")
		meet(h, a, b)
		want := a.ByID()
		remove(a, f.ID)
		meet(h, a, b)
		assert.Equal(t, want, a.ByID())
	})
}

// A tally is what was added, which no machine may lose: decisions by frame, and tokens.
type tally struct {
	decided map[string][]string
	tokens  int64
}

// act has a machine do something at random, as the rules allow.
func act(m *machine, r *rand.Rand, done *tally) {
	ctx, p := m.Ctx, m.Project
	by := projecttest.Host(fmt.Sprintf("s-%s-%d", m.id, r.IntN(2)))
	all := m.All()
	valid := slices.DeleteFunc(slices.Clone(all), func(f core.Frame) bool { return f.Status == core.Invalidated })
	pick := func() core.Frame { return valid[r.IntN(len(valid))] }
	text := fmt.Sprint(m.id, r.IntN(1_000_000))
	var err error
	switch kind := r.IntN(10); {
	case len(valid) == 0 || kind == 0:
		_, err = stack.Push(ctx, p, by, text, "")
	case kind == 1:
		_, err = stack.Pop(ctx, p, by, stack.PopArgs{Status: core.Failed, Summary: text, Force: true})
	case kind == 2:
		_, err = stack.Plan(ctx, p, by, pick().ID, []stack.PlannedChild{{Goal: text}})
	case kind < 5:
		id := pick().ID
		if _, _, err = stack.AddDecision(ctx, p, by, id, text); err == nil {
			done.decided[id] = append(done.decided[id], text)
		}
	case kind == 5:
		if f := pick(); f.Machine == "" {
			_, err = stack.Activate(ctx, p, by, f.ID, true)
		}
	case kind == 6 && r.IntN(4) == 0:
		_, err = stack.Invalidate(ctx, p, by, pick().ID, text)
	case kind == 7:
		if f := pick(); f.Machine != "" {
			m.takeOver(by, f.ID)
		}
	case kind == 8:
		err = m.Store.Update(ctx, func(tx project.Tx) error {
			f, err := tx.Frame(pick().ID)
			f.Usage = f.Usage.Add(core.Usage{TokensOut: 7})
			f.ArchivedAt = core.Millis(r.IntN(2)) * 5
			return errors.Join(err, tx.SaveFrame(f))
		})
		done.tokens += 7
	}
	if err != nil { // refused, as the tree is
		require.True(m.T, isRefusal(err), "%v", err)
	}
}

func isRefusal(err error) bool {
	_, is := errors.AsType[*core.Problem](err)
	return is
}

func TestTreesOfThreeMachinesConverge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			h, m, done := hub{}, machines(t, 3), tally{decided: map[string][]string{}}
			for range 120 {
				one := m[r.IntN(len(m))]
				switch n := r.IntN(12); {
				case n < 9:
					act(one, r, &done)
				case n == 9:
					one.send(h)
				case n == 10:
					one.receive(h)
				case r.IntN(4) == 0:
					clear(h)
					require.NoError(t, transfer.SharedTree{Project: one.Project}.Known(one.Ctx, func(d merge.Doc) error {
						h.put(t, d)
						return nil
					}))
				}
			}
			for _, one := range m {
				require.NoError(t, transfer.SharedTree{Project: one.Project}.Known(one.Ctx, func(d merge.Doc) error {
					h.put(t, d)
					return nil
				}))
			}
			meet(h, m...)
			for _, one := range m {
				require.NoError(t, sweep.RunOnce(one.Ctx, one.Project))
			}
			meet(h, m...)
			want := m[0].alike()
			for _, one := range m[1:] {
				got := one.alike()
				for id, f := range want {
					assert.Equal(t, f, got[id])
				}
				assert.Len(t, got, len(want))
			}
			var tokens int64
			for id, f := range want {
				assert.Subset(t, f.Decisions, done.decided[id])
				tokens += f.Usage.TokensOut
			}
			assert.Equal(t, done.tokens, tokens)
			var before [][2]int64
			for _, one := range m {
				before = append(before, one.state())
			}
			meet(h, m...)
			for i, one := range m {
				assert.Equal(t, before[i], one.state(), "nothing is new")
				assert.Zero(t, one.send(h))
			}
		})
	}
}

// What waits here for work that was done elsewhere is told of its end, once.
func TestAnEndElsewhereIsDue(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	outer := a.Push(projecttest.Host("s-a"), "Outer")
	plan := a.Plan(projecttest.Host("s-a"), outer.ID, "Inner")[0]
	meet(h, a, b)
	due := func() (is bool) {
		require.NoError(t, a.Store.View(a.Ctx, func(tx project.Tx) (err error) {
			_, is, err = tx.Deadline(project.ElsewhereDeadline, plan.ID)
			return err
		}))
		return is
	}
	b.takeOver(projecttest.Host("s-b"), plan.ID)
	meet(h, a, b)
	assert.False(t, due())
	b.Pop(projecttest.Host("s-b"), "done")
	meet(h, a, b)
	assert.True(t, due())
	require.NoError(t, sweep.RunOnce(a.Ctx, a.Project))
	a.seen = 0
	meet(h, a, b)
	assert.False(t, due())
}

// A frame that is invalidated here takes with it what other machines did below it.
func TestAnInvalidationReachesOtherMachines(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	by := projecttest.Host("s-a")
	outer := a.Push(by, "Outer")
	plans := a.Plan(by, outer.ID, "One", "Two")
	meet(h, a, b)
	b.Decide(projecttest.Shell, plans[0].ID, "a decision")
	late := b.Plan(projecttest.Shell, plans[0].ID, "Late")[0]
	a.Invalidate(by, outer.ID, "no")
	meet(h, a, b)
	meet(h, a, b)
	assert.Equal(t, a.alike(), b.alike())
	for _, plan := range append(plans, late) {
		got := a.Get(plan.ID)
		assert.Equal(t, core.Invalidated, got.Status)
		assert.Equal(t, "parent invalidated: no", got.InvalidationReason)
		told := slices.DeleteFunc(a.Kinds(plan.ID), func(kind string) bool { return kind != core.FrameInvalidated })
		assert.Len(t, told, 1, plan.Goal)
	}
	assert.Equal(t, []string{"a decision"}, a.Get(plans[0].ID).Decisions)
}

// What this machine did last is what others hear last, whatever its clock says.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	by := projecttest.Host("s-a")
	frame := a.Push(by, "First")
	for _, goal := range []string{"Second", "Third"} {
		a.send(h)
		b.receive(h)
		a.Clock -= 2 * day
		_, err := stack.SetGoal(a.Ctx, a.Project, by, "", goal, "")
		require.NoError(t, err)
		a.send(h)
		b.receive(h)
		assert.Equal(t, goal, b.Get(frame.ID).Goal)
	}
}

func TestDataOfThisMachineAloneStay(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	frame := a.Push(projecttest.Host("s-a"), "Work")
	require.NoError(t, a.Store.Update(a.Ctx, func(tx project.Tx) error {
		f, err := tx.Frame(frame.ID)
		f.LogPath = "/logs/of-a.md"
		return errors.Join(err, tx.SaveFrame(f))
	}))
	meet(h, a, b)
	b.Decide(projecttest.Shell, frame.ID, "a decision")
	meet(h, a, b)
	got := a.Get(frame.ID)
	assert.Equal(t, []string{"a decision"}, got.Decisions)
	assert.Equal(t, "/logs/of-a.md", got.LogPath)
	assert.Equal(t, "s-a", got.Session)
	assert.Empty(t, got.Machine)
	assert.Empty(t, b.Get(frame.ID).LogPath)
}

// Two machines may have imported the same frames before they meet: what was used in them
// counts once, if the second hears of the first before it speaks.
func TestFramesThatBothHadBefore(t *testing.T) {
	t.Parallel()
	h, m := hub{}, machines(t, 2)
	a, b := m[0], m[1]
	f := core.Frame{ID: "imported", Status: core.Completed, Goal: "Old", CreatedAt: 1, UpdatedAt: 2, Usage: core.Usage{TokensIn: 100, CostUSD: 0.5}}
	for i, one := range m {
		f := f
		f.Decisions = []string{"both", "only " + one.id}
		f.Usage.TokensIn += int64(i)
		require.NoError(t, one.Store.Update(one.Ctx, func(tx project.Tx) error { return tx.SaveFrame(f) }))
	}
	meet(h, a, b)
	assert.Equal(t, a.alike(), b.alike())
	got := a.Get("imported")
	assert.Equal(t, core.Usage{TokensIn: 101, CostUSD: 0.5}, got.Usage)
	assert.ElementsMatch(t, []string{"both", "only a", "only b"}, got.Decisions)
}

func TestHeldAreTheFramesOfLiveSessions(t *testing.T) {
	t.Parallel()
	a := machines(t, 1)[0]
	push := func(session, goal string) string {
		pushed, err := stack.Push(a.Ctx, a.Project, project.Caller{Session: session}, goal, "")
		require.NoError(t, err)
		return pushed.ID
	}
	held := func() []string {
		ids, err := transfer.HeldFrames(a.Ctx, a.Project)
		require.NoError(t, err)
		return ids
	}
	assert.Empty(t, held())
	one, two := push("one", "One"), push("two", "Two")
	assert.Subset(t, held(), []string{one, two})
	require.NoError(t, a.Store.Update(a.Ctx, func(tx project.Tx) error {
		s, err := tx.Session("two")
		if err != nil {
			return err
		}
		s.State = core.SessionEnded
		return tx.SaveSession(s)
	}))
	assert.Contains(t, held(), one)
	assert.NotContains(t, held(), two)

	by := project.Caller{Session: "one"}
	here, err := a.Delegate(by, children.DelegateArgs{Agent: "agent-here", Goal: "Here", Session: "three", Host: "claude-code"})
	require.NoError(t, err)
	there, err := a.Delegate(by, children.DelegateArgs{Agent: "agent-there", Goal: "There", Host: "opencode"})
	require.NoError(t, err)
	assert.Contains(t, held(), here.Frame.ID)
	assert.NotContains(t, held(), there.Frame.ID, "a worker may take it over at any time")
}
