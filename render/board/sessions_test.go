package board_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

// natives makes native subagents, each heard of a little later than the one before.
func natives(f *projecttest.Fixture, n int) {
	update(f, func(tx project.Tx) error {
		for i := range n {
			frame := core.Frame{ID: fmt.Sprintf("f-%d", i), Goal: "explore", Status: core.InProgress, Session: fmt.Sprintf("c-%d", i), CreatedAt: f.Clock}
			session := core.Session{
				ID: frame.Session, Parent: "s", Root: frame.ID, Title: "Look (@explore subagent)", Tracked: true, State: core.SessionActive,
				CreatedAt: f.Clock, LastActivityAt: f.Clock + core.Millis(i),
			}
			if err := tx.SaveFrame(frame); err != nil {
				return err
			}
			if err := tx.SaveSession(session); err != nil {
				return err
			}
		}
		return nil
	})
}

// followed is a page that shows 50 native subagents.
func followed(t *testing.T) (f *projecttest.Fixture, p *page, look func()) {
	f = projecttest.New(t)
	p, look = watch(f)
	natives(f, 50)
	look()
	return f, p, look
}

func changeSession(f *projecttest.Fixture, id string, change func(*core.Session)) {
	update(f, func(tx project.Tx) error {
		s, err := tx.Session(id)
		if err != nil {
			return err
		}
		change(&s)
		return tx.SaveSession(s)
	})
}

// An end is no activity: among many subagents it does not bring one to the top of the list.
func TestTheBoardSeesTheEndOfOneOfManyNativeSubagents(t *testing.T) {
	ended := func(s *core.Session) { s.State, s.IsCompleted = core.SessionEnded, true }
	t.Run("with its frame", func(t *testing.T) {
		f, p, look := followed(t)
		require.Equal(t, core.AgentActive, p.agents["c-3"].State)
		changeSession(f, "c-3", ended)
		update(f, func(tx project.Tx) error {
			frame, err := tx.Frame("f-3")
			if err != nil {
				return err
			}
			frame.Status = core.Completed
			return tx.SaveFrame(frame)
		})
		look()
		assert.Equal(t, core.AgentCompleted, p.agents["c-3"].State)
		assert.Equal(t, core.AgentActive, p.agents["c-4"].State)
	})
	t.Run("alone", func(t *testing.T) {
		f, p, look := followed(t)
		changeSession(f, "c-3", ended)
		for range 2 { // some are asked for at each reading
			look()
		}
		assert.Equal(t, core.AgentCompleted, p.agents["c-3"].State)
	})
	t.Run("after the clock went back", func(t *testing.T) {
		f, p, look := followed(t)
		changeSession(f, "c-49", func(s *core.Session) { s.State, s.LastActivityAt = core.SessionIdle, 1 })
		for range 2 {
			look()
		}
		assert.Equal(t, core.AgentSuspended, p.agents["c-49"].State)
	})
}

func TestALaterBoardShowsEarlierNativeSubagents(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	natives(f, 3)
	look()
	changeSession(f, "c-1", func(s *core.Session) { s.State, s.IsCompleted, s.Tracked = core.SessionEnded, true, false })
	changeSession(f, "c-2", func(s *core.Session) { s.Tracked = false })
	look()
	fresh, read := watch(f)
	read()
	assert.Len(t, fresh.agents, 3)
	assert.Equal(t, fresh.agents, p.agents)
	assert.Equal(t, "explore", fresh.frames["f-1"].Agent)
	assert.Equal(t, core.AgentActive, fresh.agents["c-0"].State)
	assert.Equal(t, core.AgentCompleted, fresh.agents["c-2"].State, "no event reports its end")
}

func TestAnEndedSessionDoesNotWork(t *testing.T) {
	const minute = core.Millis(60_000)
	for name, end := range map[string]func(f *projecttest.Fixture){
		"ended": func(f *projecttest.Fixture) {
			changeSession(f, "s", func(s *core.Session) { s.State = core.SessionEnded })
		},
		"deleted": func(f *projecttest.Fixture) {
			update(f, func(tx project.Tx) error { return tx.DeleteSession("s") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := projecttest.New(t)
			p, look := watch(f)
			f.Push(projecttest.Host("s"), "work")
			look()
			end(f)
			look()
			assert.Empty(t, p.sessions)
			f.Clock += 50 * minute
			f.Push(projecttest.Host("other"), "more work")
			look()
			assert.Len(t, p.gaps, 1)
		})
	}
}

// Gaps are found now and then while things change, and at last.
func TestTheBoardSearchesGapsALittleLater(t *testing.T) {
	const minute = core.Millis(60_000)
	f := projecttest.New(t)
	p, look := watch(f)
	worked := func(id string, from, until core.Millis) {
		save(f, core.Frame{ID: id, Goal: id, Status: core.Completed, CreatedAt: from, StartedAt: from, EndedAt: until})
	}
	worked("a", 10*minute, 20*minute)
	worked("b", 60*minute, 70*minute)
	look()
	require.Equal(t, []core.Interval{{From: 20 * minute, Until: 60 * minute}}, p.gaps)
	worked("c", 25*minute, 30*minute)
	worked("d", 39*minute, 40*minute)
	look()
	f.Clock += 5000
	look()
	begin := []core.Interval{{From: 20 * minute, Until: 25 * minute}, {From: 30 * minute, Until: 39 * minute}}
	assert.Equal(t, append(begin, core.Interval{From: 40 * minute, Until: 60 * minute}), p.gaps)
	worked("d", 39*minute, 39*minute+1)
	f.Clock += 5000
	look()
	assert.Contains(t, p.gaps, core.Interval{From: 39*minute + 1, Until: 60 * minute}, "what took less time than was thought")
	update(f, func(tx project.Tx) error { return tx.DeleteFrame("d") })
	f.Clock += 5000
	look()
	assert.Equal(t, []core.Interval{{From: 20 * minute, Until: 25 * minute}, {From: 30 * minute, Until: 60 * minute}}, p.gaps)
}

func TestTheBoardKeepsTheLongestGaps(t *testing.T) {
	const minute = core.Millis(60_000)
	f := projecttest.New(t)
	p, look := watch(f)
	frames, at := make([]core.Frame, 1202), 100*minute
	for i := range frames {
		frames[i] = core.Frame{ID: fmt.Sprintf("frame-%04d", i), Goal: "work", Status: core.Completed, CreatedAt: at, StartedAt: at, EndedAt: at + minute}
		at += 3 * minute
		if i%6 == 0 {
			at -= minute
		}
	}
	save(f, frames...)
	look()
	require.Len(t, p.gaps, 1000)
	for i, g := range p.gaps {
		assert.Equal(t, 2*minute, g.Until-g.From)
		assert.True(t, i == 0 || p.gaps[i-1].Until < g.From, "in the order of time")
	}
}
