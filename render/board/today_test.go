package board_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/tests/projecttest"
)

func TestDecisionsAreTheLatestOfAllFrames(t *testing.T) {
	f := projecttest.New(t)
	by := projecttest.Host("s")
	latest := func() []board.Item {
		today, err := board.TodayOf(f.Ctx, f.Project, nil)
		require.NoError(t, err)
		return today.Decided
	}
	assert.Equal(t, []board.Item{}, latest())

	first := f.Push(by, "Keys")
	f.Decide(by, first.ID, "Ed25519\nand nothing else "+strings.Repeat("x", 1000))
	second := f.Push(by, "Retries")
	for i := range 20 {
		f.Tick()
		f.Decide(by, second.ID, fmt.Sprint("try ", i))
	}
	decided := latest()
	require.Len(t, decided, 12, "it is bounded")
	assert.Equal(t, "try 19", decided[0].Text)
	assert.Equal(t, second.ID, decided[0].Frame)
	assert.Equal(t, []string{"Retries"}, decided[0].Above)
	assert.Greater(t, decided[0].At, decided[1].At)

	f.Decide(by, first.ID, "an hour, "+strings.Repeat("x\n", 1000))
	decided = latest()
	assert.Equal(t, first.ID, decided[0].Frame)
	assert.NotContains(t, decided[0].Text, "\n")
	assert.LessOrEqual(t, len([]rune(decided[0].Text)), 300+len([]rune("…")))
}

func TestDecisionsHaveManyChangesAfterThem(t *testing.T) {
	f := projecttest.New(t)
	by := projecttest.Host("s")
	frame := f.Push(by, "Keys")
	f.Decide(by, frame.ID, "Ed25519")
	f.Decide(by, frame.ID, "no RSA")
	for i := range 301 {
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
			return f.Step(tx, by).Emit(core.FrameUpdated, frame.ID, map[string]any{"artifacts": fmt.Sprint(i)})
		}))
	}
	today, err := board.TodayOf(f.Ctx, f.Project, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"no RSA", "Ed25519"}, lo.Map(today.Decided, func(i board.Item, _ int) string { return i.Text }))
	assert.Zero(t, today.Decided[0].At, "it is not known when")
}

func TestTheCostOfDaysIsSpreadOverTheTimeInWhichWasWorked(t *testing.T) {
	const hour = core.Millis(3600_000)
	f := projecttest.New(t)
	midnight := core.MillisOf(time.Date(2026, 11, 24, 0, 0, 0, 0, time.Local))
	f.Clock = midnight + 12*hour
	worked := func(id string, from, until core.Millis, usd float64) {
		used := core.Usage{TokensIn: 1, CostUSD: usd}
		save(f, core.Frame{ID: id, Goal: id, Status: core.Completed, CreatedAt: from, StartedAt: from, EndedAt: until, UpdatedAt: until, Usage: used})
	}
	spent := func() string {
		today, err := board.TodayOf(f.Ctx, f.Project, nil)
		require.NoError(t, err)
		return today.Spent
	}
	assert.Empty(t, spent())
	worked("long ago", midnight-72*hour, midnight-70*hour, 9)
	assert.Empty(t, spent())
	worked("over midnight", midnight-hour, midnight+3*hour, 4)
	assert.Equal(t, "$3.00 today · $1.00 yesterday", spent())
	worked("a moment", midnight+4*hour, midnight+4*hour, 0.5)
	unpriced := core.Usage{TokensIn: 7, Unpriced: 7}
	save(f, core.Frame{ID: "x", Goal: "x", Status: core.Completed, CreatedAt: midnight + hour, UpdatedAt: midnight + 2*hour, Usage: unpriced})
	assert.Equal(t, "at least $3.50 today · $1.00 yesterday", spent())
}

func TestWhatAPersonCanActOnNeedsThem(t *testing.T) {
	f := projecttest.New(t)
	by := projecttest.Host("s")
	root := f.Push(by, "Root")
	frame := core.Frame{Parent: root.ID, Status: core.Blocked, CreatedAt: 1, UpdatedAt: 1}
	add := func(id, parent string, status core.Status, summary string) {
		frame.ID, frame.Goal, frame.Parent, frame.Status, frame.Summary = id, id, parent, status, summary
		save(f, frame)
	}
	add("waits", root.ID, core.Blocked, "for a key")
	add("over", "", core.Completed, "")
	add("below it", "over", core.Blocked, "nobody asks any more")
	update(f, func(tx project.Tx) error {
		quiet := run("agent-1", func(r *record.Agent) { r.Frame, r.Progress.LastLine = root.ID, f.Clock-200_000 })
		spender := run("agent-2", func(r *record.Agent) {
			r.Progress.LastLine, r.Limits.CostUSD, r.Progress.TreeUSD = f.Clock, 1, 0.9
		})
		return errors.Join(record.Create(tx, quiet), record.Create(tx, spender))
	})
	f.Rest(by, "done")
	today, err := board.TodayOf(f.Ctx, f.Project, nil)
	require.NoError(t, err)
	said := lo.Map(today.Needs, func(i board.Item, _ int) string { return i.Sign + ": " + i.Text + ": " + i.Why })
	assert.Equal(t, []string{
		"silent: Root: It has been silent: tester", "budget: tester: It has used 90 % of its budget: tester",
		"blocked: waits: for a key", "person: Root: Waits for your prompt in claude-code",
	}, said)
}
