package board_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/render/board"
	"flame/tests/projecttest"
)

func TestARowNamesTheMachineOfItsFrame(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	for _, machine := range []string{"laptop-x7k2", ""} { // it is taken over
		save(f, core.Frame{ID: "frame-aaaaaaaa", Machine: machine, Goal: "work", Status: core.InProgress, CreatedAt: 10, UpdatedAt: 40})
		look()
		assert.Equal(t, machine, p.frames["frame-aaaaaaaa"].Machine)
	}
}

// What was begun has a time, also if an import does not say when; what never was, none.
func TestARowHasTheStartAndEndOfWork(t *testing.T) {
	for name, tt := range map[string]struct {
		frame       core.Frame
		from, until core.Millis
	}{
		"planned":                        {core.Frame{Status: core.Planned}, 0, 0},
		"in progress":                    {core.Frame{Status: core.InProgress, StartedAt: 20, Session: "s"}, 20, 0},
		"completed":                      {core.Frame{Status: core.Completed, StartedAt: 20, EndedAt: 30, Session: "s"}, 20, 30},
		"ended before it began":          {core.Frame{Status: core.Blocked, StartedAt: 20, EndedAt: 15, Session: "s"}, 20, 20},
		"imported":                       {core.Frame{Status: core.Completed}, 10, 40},
		"imported, and in progress":      {core.Frame{Status: core.InProgress}, 10, 0},
		"invalidated":                    {core.Frame{Status: core.Invalidated, StartedAt: 20, EndedAt: 30}, 20, 30},
		"invalidated while planned":      {core.Frame{Status: core.Invalidated, EndedAt: 30}, 0, 0},
		"activated, in an older project": {core.Frame{Status: core.Failed, Session: "s"}, 10, 40},
	} {
		t.Run(name, func(t *testing.T) {
			f := projecttest.New(t)
			tt.frame.ID, tt.frame.Goal, tt.frame.CreatedAt, tt.frame.UpdatedAt = "frame-aaaaaaaa", "work", 10, 40
			save(f, tt.frame)
			p, look := watch(f)
			look()
			assert.Equal(t, tt.from, p.frames["frame-aaaaaaaa"].From, "from")
			assert.Equal(t, tt.until, p.frames["frame-aaaaaaaa"].Until, "until")
		})
	}
}

func TestARowSaysWhetherItIsATurn(t *testing.T) {
	f := projecttest.New(t)
	s := projecttest.Host("s")
	p, look := watch(f)
	rows := func() (all []string) {
		look()
		later, lookNow := watch(f)
		lookNow()
		assert.Equal(t, later.frames, p.frames, "a new page knows the same")
		for _, frame := range f.All() {
			row := p.frames[frame.ID]
			all = append(all, fmt.Sprint(row.Goal, " ", row.Turn, row.Short))
		}
		return all
	}
	f.Prompt(s, "1", "Pick apples")
	require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"apples.md"}))
	f.Rest(s, "Done")
	f.Prompt(s, "2", "Press them")
	require.NoError(t, stack.NoteFailure(f.Ctx, f.Project, s))
	assert.Equal(t, []string{"Pick apples false false", "Pick apples true false", "Press them true false"}, rows())
	f.Rest(s, "It does not work")
	assert.Equal(t, []string{"Pick apples false false", "Pick apples true false", "Press them true true"}, rows())
}

func TestTheBoardShowsAgentsOfOtherMachinesWhileTheyReport(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	shown := func(do func(tx project.Tx) error) map[string]core.AgentState {
		update(f, do)
		look()
		return lo.MapValues(p.agents, func(a board.Agent, _ string) core.AgentState {
			assert.Equal(t, "desk-1", a.Machine)
			return a.State
		})
	}
	tells := func(text string) func(tx project.Tx) error {
		return func(tx project.Tx) error { return record.StoreStates(tx, "desk-1", json.RawMessage(text), 10) }
	}
	assert.Empty(t, shown(tells("")))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentActive, "agent-b": core.AgentActive},
		shown(tells(`[{"id":"agent-a","state":"active","frame":"frame-aaaaaaaa","description":"one"},{"id":"agent-b","state":"active"}]`)))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentActive},
		shown(tells(`[{"id":"agent-a","state":"completed"},{"id":"agent-b","state":"active"}]`)))
	assert.Equal(t, map[string]core.AgentState{"agent-a": core.AgentCompleted, "agent-b": core.AgentOrphaned},
		shown(func(tx project.Tx) error { return record.RetainMachines(tx, nil) }), "its outcome is unknown")
}

// Time counts while a session works: all in minutes, the frame begins at 0, and it is looked at at 100.
func TestTimeOfAFrameCountsWhileItsSessionWorks(t *testing.T) {
	const minute = 60_000
	frame := func(id, parent, session string, status core.Status, until core.Millis) core.Frame {
		return core.Frame{ID: id, Parent: parent, Session: session, Goal: id, Status: status, CreatedAt: 1, StartedAt: 1, EndedAt: until, UpdatedAt: max(1, until)}
	}
	session := func(id, parent string, state core.SessionState, heard core.Millis) core.Session {
		return core.Session{
			ID: id, Parent: parent, Root: map[string]string{"s": "f", "c": "c"}[id], Tracked: parent != "", Host: "claude-code", State: state,
			CreatedAt: 1, LastActivityAt: heard * minute,
		}
	}
	for name, tt := range map[string]struct {
		state       core.SessionState // of the frame's session; empty: it is forgotten
		heard       core.Millis       // of it
		night       core.Interval     // in which it was idle
		until       core.Millis       // 0: in progress
		child       core.Status       // of a frame below; empty: the frame has no child
		still, took core.Millis
	}{
		"at work":                      {state: core.SessionActive, heard: 90, took: 100},
		"at work, after a night":       {state: core.SessionActive, heard: 90, night: core.Interval{From: 20, Until: 50}, took: 70},
		"at a prompt":                  {state: core.SessionIdle, heard: 4, still: 4, took: 4},
		"ended":                        {state: core.SessionEnded, heard: 4, still: 4, took: 4},
		"suspended":                    {state: core.SessionSuspended, heard: 4, still: 4, took: 4},
		"killed without a word":        {state: core.SessionActive, heard: 4, still: 4, took: 4},
		"forgotten":                    {},
		"ended, its child goes on":     {state: core.SessionEnded, heard: 4, child: core.InProgress, took: 100},
		"ended, its child ended later": {state: core.SessionEnded, heard: 4, child: core.Completed, still: 9, took: 9},
		"completed after a night":      {state: core.SessionIdle, heard: 80, night: core.Interval{From: 10, Until: 70}, until: 80, took: 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := projecttest.New(t)
			f.Clock = 100 * minute
			status := core.InProgress
			if tt.until != 0 {
				status = core.Completed
			}
			save(f, frame("f", "", "s", status, tt.until*minute))
			if tt.child != "" {
				save(f, frame("c", "f", "c", tt.child, 9*minute))
			}
			update(f, func(tx project.Tx) error {
				idle := []core.Interval{{From: tt.night.From * minute, Until: tt.night.Until * minute}}
				if tt.state == "" {
					return nil
				}
				return errors.Join(tx.SaveSession(session("s", "", tt.state, tt.heard)), tx.SaveSession(session("c", "s", core.SessionActive, 90)),
					project.RecordIdle.Save(tx, "s", idle))
			})
			p, look := watch(f)
			look()
			row := p.frames["f"]
			assert.EqualValues(t, tt.still, row.Still/minute, "still")
			assert.EqualValues(t, tt.took, (row.Took(100*minute)+1)/minute, "took")
		})
	}
}

// A session's end changes no frame, and its frame stands still all the same.
func TestAnOpenFrameStandsStillAtTheEndOfItsSession(t *testing.T) {
	f := projecttest.New(t)
	p, look := watch(f)
	s := projecttest.Host("s")
	top := f.Push(s, "work")
	look()
	assert.Zero(t, p.frames[top.ID].Still)
	changeSession(f, "s", func(s *core.Session) { s.State = core.SessionEnded })
	at := f.Clock
	f.Clock += 60 * 60_000
	look()
	assert.LessOrEqual(t, p.frames[top.ID].Still, at)
	assert.NotZero(t, p.frames[top.ID].Still)
	f.Prompt(s, "next", "go on")
	look()
	assert.Zero(t, p.frames[top.ID].Still, "it works again")
}
