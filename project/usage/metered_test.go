package usage_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/usage"
	"flame/project/view"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
	"flame/transcripts"
)

// asked is a request whose answer costs one dollar, as those of HostLog do.
func asked(at core.Millis, id string) usage.MeteredRequest {
	return usage.MeteredRequest{
		Answer: id, Class: "main", Model: "claude-opus-5-5", Asked: at, First: 300, Took: 900, Status: 200,
		Usage: core.Usage{TokensIn: 250_000, CostUSD: 1}, Context: 250_000, Given: 1_000, Sent: 400,
	}
}

func tell(f *projecttest.Fixture, by project.Caller, requests ...usage.MeteredRequest) {
	f.T.Helper()
	require.NoError(f.T, turns.StoreReport(f.Ctx, f.Project, by, turns.Report{Requests: requests}))
}

// TestSuggestionsGoByTheModelThatAGatewaySees knows neither from the host.
func TestSuggestionsGoByTheModelThatAGatewaySees(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "first", "Implement user authentication")
	seen := func() []any {
		scene := f.Scene(s)
		return []any{scene.Model, cmp.Or(scene.Window, scene.RequestWindow)}
	}
	tell(f, s, asked(f.Clock, "a"))
	assert.Equal(t, []any{"claude-opus-5-5", 0}, seen())
	long, beside := asked(f.Clock+1, "b"), asked(f.Clock+2, "c")
	long.Model, long.Window = "claude-opus-4-1", 1_000_000
	beside.Model, beside.Context = "claude-haiku-4-5", 0
	tell(f, s, long, beside)
	assert.Equal(t, []any{"claude-opus-4-1", 1_000_000}, seen())
	require.NoError(t, turns.End(f.Ctx, f.Project, s, turns.EndReport{Seen: func() transcripts.TurnSummary {
		return transcripts.TurnSummary{Model: "claude-opus-4-1", Window: 500_000}
	}}))
	assert.Equal(t, []any{"claude-opus-4-1", 500_000}, seen(), "the host knows best")
	f.End(s)
	tell(f, s, asked(f.Clock+4, "d"))
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		left, err := project.RecordKind[autonomy.SessionActivity]("session.scene").IDs(tx, "")
		assert.Empty(t, left, "a session that has ended has no scene")
		return err
	}))
}

// TestAnAnswerThatOnlyTheLogNamesCountsOnce is for a host whose requests name neither sessions nor answers
// as its log does.
func TestAnAnswerThatOnlyTheLogNamesCountsOnce(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	f.Prompt(s, "first", "Implement user authentication")
	logged, beside := asked(f.Clock, "a"), asked(f.Clock+1, "b")
	logged.Logged, beside.Class = true, "auxiliary"
	tell(f, s, logged, beside)
	root := ""
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		session, err := tx.Session("s")
		require.NoError(t, err)
		root = session.Root
		sums, err := usage.OfSession(tx, "s")
		assert.InDelta(t, 2, usage.Sum(sums).Usage.CostUSD, 1e-9)
		return err
	}))
	assert.InDelta(t, 1, f.Spent(root), 1e-9, "the log will have the other one")
}

// called is the line of an answer that calls one tool.
func called(at core.Millis, id string) string {
	return strings.Replace(projecttest.AnswerAt(at, id), `"content":[]`, `"content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]`, 1)
}

func metered(f *projecttest.Fixture) usage.Totals {
	f.T.Helper()
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(f.T, err)
	return usage.Sum(stats.Metered)
}

func TestAnAnswerCountsOnceWhicheverSourceIsFirst(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	type step = func(*projecttest.Fixture, *projecttest.HostLog, core.Millis)
	gateway := func(f *projecttest.Fixture, _ *projecttest.HostLog, at core.Millis) { tell(f, s, asked(at, "msg_1")) }
	written := func(_ *projecttest.Fixture, log *projecttest.HostLog, at core.Millis) { log.Write(called(at, "msg_1")) }
	counted := func(f *projecttest.Fixture, log *projecttest.HostLog, _ core.Millis) { f.Count(s, *log) }
	half := func(_ *projecttest.Fixture, log *projecttest.HostLog, at core.Millis) {
		log.Write(called(at, "msg_1")[:40])
	}
	rest := func(_ *projecttest.Fixture, log *projecttest.HostLog, at core.Millis) {
		log.Write(called(at, "msg_1")[40:])
	}
	moved := func(f *projecttest.Fixture, log *projecttest.HostLog, _ core.Millis) {
		to := projecttest.NewLog(f, "moved.jsonl")
		require.NoError(f.T, os.Rename(log.Path, to.Path))
		*log = to
	}
	restarted := func(f *projecttest.Fixture, _ *projecttest.HostLog, _ core.Millis) {
		next := *f.Project
		next.Store = projecttest.Open(f.T, f.Data, store.Options{})
		f.Project = &next
	}
	tests := map[string]struct {
		steps           []step
		requests, tools int64
	}{
		"the log alone":                            {[]step{written, counted}, 0, 1},
		"the gateway alone":                        {[]step{gateway}, 1, 0},
		"the gateway, twice":                       {[]step{gateway, gateway}, 1, 0},
		"the gateway first":                        {[]step{gateway, written, counted}, 1, 1},
		"the log first, that was not metered":      {[]step{written, counted, gateway, counted}, 1, 1},
		"the log first, then the gateway twice":    {[]step{written, counted, gateway, gateway, counted}, 1, 1},
		"the gateway again after the log":          {[]step{gateway, written, counted, gateway, counted}, 1, 1},
		"a line after the gateway":                 {[]step{written, counted, gateway, counted, written, counted}, 1, 2},
		"a line before it was read again":          {[]step{written, counted, gateway, written, counted}, 1, 2},
		"a line and a line, the gateway between":   {[]step{written, gateway, written, counted}, 1, 2},
		"the gateway twice before it was read":     {[]step{written, counted, gateway, gateway, written, counted, gateway}, 1, 2},
		"counted again with nothing new in it":     {[]step{gateway, written, counted, counted, counted}, 1, 1},
		"the gateway first, and nothing to count":  {[]step{gateway, counted}, 1, 0},
		"twice in the log at different times":      {[]step{gateway, written, counted, written, counted}, 1, 2},
		"the log first, of which a part is unread": {[]step{written, counted, written, gateway, counted}, 1, 2},
		"half a line, the gateway, and the rest":   {[]step{half, counted, gateway, counted, rest, counted}, 1, 1},
		"a log that moves after the gateway":       {[]step{gateway, written, counted, moved, counted}, 1, 1},
		"a log that moves before the gateway":      {[]step{written, counted, moved, gateway, counted}, 1, 1},
		"each by another process":                  {[]step{written, counted, restarted, gateway, restarted, written, counted}, 1, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, log := projecttest.NewCounter(t)
			frame := f.Push(s, "work")
			at := f.Tick()
			log.Write("")
			for _, step := range tt.steps {
				step(f, &log, at)
			}
			assert.Equal(t, core.Usage{TokensIn: 250_000, CostUSD: 1, ToolCalls: tt.tools}, f.Get(frame.ID).Usage)
			assert.EqualValues(t, tt.requests, metered(f).Requests)
			assert.Empty(t, counting(f))
		})
	}
}

// Lines of an answer whose tokens grow count once, whoever tells of it first. A gateway knows all of it.
func TestAnAnswerThatGrowsInTheLogCountsOnce(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for name, steps := range map[string]string{
		"at once": "abr", "line by line": "arbr", "the gateway first": "gabr", "the gateway at the end": "abrgr", "the gateway between": "argbr",
		"the gateway between, counted": "argrbr", "the gateway before it is read": "agbr", "repeated": "abrbrgrbr",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, log := projecttest.NewCounter(t)
			frame := f.Push(s, "work")
			at := f.Tick()
			tell(f, s) // the session is metered
			log.Write("")
			for _, step := range steps {
				switch step {
				case 'a':
					log.Write(strings.Replace(projecttest.AnswerAt(at, "msg_1"), "250000", "50000", 1))
				case 'b':
					log.Write(projecttest.AnswerAt(at, "msg_1"))
				case 'g':
					tell(f, s, asked(at, "msg_1"))
				case 'r':
					f.Count(s, log)
				}
			}
			assert.EqualValues(t, 250_000, f.Get(frame.ID).Usage.TokensIn)
			assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
		})
	}
}

func TestAnAnswerThatTheLogRepeatsLaterCountsOnce(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	tell(f, s, asked(f.Tick(), "m0"))
	at := f.Tick()
	log.Write(called(at, "m1") + called(f.Tick(), "m2"))
	f.Count(s, log)
	log.Write(called(at, "m1"))
	f.Count(s, log)
	assert.Equal(t, core.Usage{TokensIn: 750_000, CostUSD: 3, ToolCalls: 3}, f.Get(frame.ID).Usage)
}

func TestAGatewayThatBeginsDuringACountIsJoinedAfterIt(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	first := asked(f.Tick(), "m1")
	log.Write(called(first.Asked, "m1"))
	f.Count(s, log)
	log.Write(called(f.Tick(), "m2"))
	afterReading(f, func() { tell(f, s, first, asked(f.Tick(), "m3")) })
	f.Count(s, log)
	assert.Equal(t, []string{"s"}, counting(f), "what the log had is to be read again")
	f.Sweep()
	assert.Equal(t, core.Usage{TokensIn: 750_000, CostUSD: 3, ToolCalls: 2}, f.Get(frame.ID).Usage)
	assert.Empty(t, counting(f))
}

func TestTheLogAddsWhatAGatewayCannotSee(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	at := f.Tick()
	late := asked(f.Tick(), "m2")
	late.Context = 9_000
	tell(f, s, asked(at, "m1"), late)
	log.Write(called(at, "m1"))
	f.Count(s, log)
	f.ReadActivity(frame.ID, func(a autonomy.FrameActivity) {
		assert.Equal(t, autonomy.FrameActivity{Messages: 1, Tokens: 9_000}, a, "what the log has later is older")
	})
	assert.Equal(t, core.Usage{TokensIn: 500_000, CostUSD: 2, ToolCalls: 1}, f.Get(frame.ID).Usage)

	beside := asked(f.Tick(), "m3")
	beside.Class, beside.Context = "auxiliary", 0
	tell(f, s, beside)
	f.ReadActivity(frame.ID, func(a autonomy.FrameActivity) {
		assert.Equal(t, 9_000, a.Tokens, "a request beside the conversation leaves its context alone")
	})
	assert.InDelta(t, 3, f.Spent(frame.ID), 1e-9, "what it cost counts")
}

func TestRequestsAreOfTheFrameWorkedInWhenTheyWereAsked(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	outer := f.Push(s, "outer")
	first := asked(f.Tick(), "m1")
	log.Answer("m1")
	inner := f.Push(s, "inner")
	second := asked(f.Tick(), "m2")
	log.Answer("m2")
	f.Pop(s, "done")
	third := asked(f.Tick(), "m3")
	tell(f, s, third)
	log.Answer("m3")
	f.Count(s, log)
	tell(f, s, second, first)
	f.Sweep()
	assert.InDelta(t, 2, f.Spent(outer.ID), 1e-9)
	assert.InDelta(t, 1, f.Spent(inner.ID), 1e-9)
	details, err := view.DetailsOf(f.Ctx, f.Project, s, inner.ID)
	require.NoError(t, err)
	assert.Equal(t, usage.Totals{
		Requests: 1, Usage: second.Usage, Begun: 1, FirstSum: 300, FirstMax: 300, BytesReceived: 1_000, BytesForwarded: 400,
	}, usage.Sum(details.Metered))
	events, err := view.Events(f.Ctx, f.Project, project.EventQuery{Kinds: []string{core.RequestAnswered}})
	require.NoError(t, err)
	require.Len(t, events, 3)
	assert.Equal(t, outer.ID, events[0].Frame)
	assert.Equal(t, "s", events[0].Session)
	assert.JSONEq(t, `{"class": "main", "model": "claude-opus-5-5", "status": 200, "first": 300, "took": 900, "in": 250000, "out": 0,
		"cacheRead": 0, "cacheWritten": 0, "cost": 1, "given": 1000, "sent": 400}`, string(events[0].Data))
}

// frameless makes a session known that has no frame.
func frameless(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	_, err := children.StartSession(f.Ctx, f.Project, by, "")
	require.NoError(f.T, err)
}

func TestRequestsWaitForAFrame(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frameless(f, s)
	for i := range 5 {
		tell(f, s, asked(f.Tick(), fmt.Sprint("early", i)))
		f.Sweep()
	}
	assert.EqualValues(t, 5, metered(f).Requests)
	frame := f.Push(s, "work")
	tell(f, s, asked(f.Tick(), "m1"))
	log.Answer("m1")
	f.Count(s, log)
	assert.InDelta(t, 5, f.Spent(frame.Parent), 1e-9)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	details, err := view.DetailsOf(f.Ctx, f.Project, s, frame.Parent)
	require.NoError(t, err)
	assert.Equal(t, 5, usage.Sum(details.Metered).Requests)
}

func TestRequestsOfARootThatWasDroppedAreOfTheFrameTakenUp(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	planned := f.Plan(projecttest.Shell, "", "later")[0]
	f.Prompt(s, "p1", "go on")
	root := f.Current(s)
	require.NotEmpty(t, root)
	tell(f, s, asked(f.Tick(), "m1"))
	f.Activate(s, planned.ID)
	tell(f, s, asked(f.Tick(), "m2"))
	details, err := view.DetailsOf(f.Ctx, f.Project, s, planned.ID)
	require.NoError(t, err)
	assert.Equal(t, 2, usage.Sum(details.Metered).Requests)
	assert.InDelta(t, 2, details.Frame.Usage.CostUSD, 1e-9)
}

func TestRequestsOfAnUnreportedSession(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	s, child := projecttest.Host("s"), projecttest.Child("c")
	early := turns.Report{Requests: []usage.MeteredRequest{asked(f.Tick(), "m1")}}
	require.ErrorIs(t, turns.StoreReport(f.Ctx, f.Project, s, early), core.ErrNotFound)
	assert.NoDirExists(t, f.Data, "it is to be told again")
	frame := f.Push(s, "work")
	require.ErrorIs(t, turns.StoreReport(f.Ctx, f.Project, child, early), core.ErrNotFound)
	require.NoError(t, turns.StoreLateReport(f.Ctx, f.Project, child, early))
	assert.InDelta(t, 1, f.Spent(frame.Parent), 1e-9, "in the end it is its parent's")
}

func TestRequestsOfASubagentAreItsOwnFramesAlsoBeforeItHasOne(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	parent := f.Push(projecttest.Host("s"), "work")
	child := projecttest.Agent("c")
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { // seen, but not bound
		return tx.SaveSession(core.Session{ID: "c", Parent: "s", Host: "claude-code", CreatedAt: f.Tick(), State: core.SessionActive})
	}))
	first := asked(f.Tick(), "m1")
	tell(f, child, first)
	f.Spawn(projecttest.Host("s"), "call", "a subagent")
	f.Bind(projecttest.Host("s"), "call", "c")
	second := asked(f.Tick(), "m2")
	tell(f, child, second)
	log.Write(called(first.Asked, "m1") + called(second.Asked, "m2"))
	f.Count(child, log)
	details, err := view.DetailsOf(f.Ctx, f.Project, child, "c")
	require.NoError(t, err)
	assert.Equal(t, core.Usage{TokensIn: 500_000, CostUSD: 2, ToolCalls: 2}, details.Frame.Usage)
	assert.NotEqual(t, parent.ID, details.Frame.ID)
	assert.Zero(t, f.Spent(parent.ID))
}

func TestRequestsOfAChildWithoutAFrameAreOfTheOneItWorksForInTheEnd(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	parent := f.Push(projecttest.Host("s"), "work")
	require.False(t, f.StartChild("c", "no match").HasFrame())
	tell(f, projecttest.Child("c"), asked(f.Tick(), "m1"), asked(f.Tick(), "m2"))
	f.Sweep()
	assert.Zero(t, f.Spent(parent.ID), "it may still get one")
	f.Clock += 10_000
	f.Sweep()
	assert.InDelta(t, 2, f.Spent(parent.ID), 1e-9)
	assert.Empty(t, counting(f))
}

func TestUsageThatASupervisorCountsIsOnlyMetered(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	count := func(from core.Millis) {
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return project.CountFrom(tx, "s", from) }))
	}
	count(project.CountNever)
	during, late := asked(f.Tick(), "m1"), asked(f.Tick(), "m2")
	tell(f, s, during)
	count(f.Tick())
	after := asked(f.Tick(), "m3")
	tell(f, s, late, after)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	assert.EqualValues(t, 3, metered(f).Requests)
	details, err := view.DetailsOf(f.Ctx, f.Project, s, frame.ID)
	require.NoError(t, err)
	assert.Equal(t, 3, usage.Sum(details.Metered).Requests)
}

func TestAGatewayNeitherWakesNorResumesASession(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	f.Pop(s, "done")
	require.NoError(t, children.EndSession(f.Ctx, f.Project, s))
	before := f.Get(frame.Parent)
	tell(f, s, asked(f.Tick(), "late"))
	after := f.Get(frame.Parent)
	assert.Equal(t, before.Status, after.Status)
	assert.Equal(t, before.UpdatedAt, after.UpdatedAt)
	assert.InDelta(t, 1, after.Usage.CostUSD, 1e-9)
	listed, _, err := view.SessionsOf(f.Ctx, f.Project, view.SessionArgs{})
	require.NoError(t, err)
	assert.Empty(t, listed)
}

func TestTalliesTellFailuresAndClassesApart(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	f.Push(s, "work")
	refused := usage.MeteredRequest{Class: "main", Asked: f.Tick(), Status: 529, Given: 100, Sent: 100}
	lost := usage.MeteredRequest{Class: "main", Asked: f.Tick(), Given: 100, Sent: 50}
	fast, slow := asked(f.Tick(), "m1"), asked(f.Tick(), "m2")
	fast.First, slow.First = 100, 500
	slow.Usage.ToolCalls = 7 // that it does not count
	strange := asked(f.Tick(), "m3")
	strange.Class = strings.Repeat("brand new", 1000)
	tell(f, s, refused, lost, fast, slow, strange)
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	require.Len(t, stats.Metered, 2)
	one := stats.Metered[0]
	assert.Equal(t, "claude-code", one.Host)
	assert.Equal(t, "main", one.Class)
	assert.Equal(t, usage.Totals{
		Requests: 4, Failed: 2, Usage: core.Usage{TokensIn: 500_000, CostUSD: 2}, Begun: 2, FirstSum: 600, FirstMax: 500, BytesReceived: 2_200,
		BytesForwarded: 950,
	}, one.Totals)
	assert.EqualValues(t, 300, one.FirstMean)
	assert.EqualValues(t, 1_250, one.Spared)
	assert.Equal(t, "other", stats.Metered[1].Class)
}

func TestAnswersAreForgottenInTime(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	var many []usage.MeteredRequest
	for i := range 1_500 {
		many = append(many, asked(f.Tick(), fmt.Sprint("m", i)))
	}
	tell(f, s, many...)
	for _, r := range many[600:] { // those of the last thousand are still known
		log.Write(called(r.Asked, r.Answer))
	}
	f.Count(s, log)
	assert.InDelta(t, 1_500, f.Spent(frame.ID), 1e-9)
	require.NoError(t, f.Store.View(f.Ctx, func(tx project.Tx) error {
		var kept struct{ Answers []any }
		_, err := tx.Record("answers.joined", "s", &kept)
		assert.LessOrEqual(t, len(kept.Answers), 1_100)
		return err
	}))
}

func TestACopyInAForkIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	for _, gateway := range []bool{false, true} {
		f, log := projecttest.NewCounter(t)
		frame := f.Push(projecttest.Host("s"), "work")
		first := asked(f.Tick(), "m1")
		log.Answer("m1")
		f.Count(projecttest.Host("s"), log)
		copied, err := os.ReadFile(log.Path)
		require.NoError(t, err)

		fork := projecttest.NewLog(f, "fork.jsonl")
		fork.Write(string(copied))
		f.Tick()
		other := f.Push(projecttest.Host("fork"), "another way")
		second := asked(f.Tick(), "m2")
		fork.Answer("m2")
		f.Count(projecttest.Host("fork"), fork)
		if gateway {
			tell(f, projecttest.Host("s"), first)
			tell(f, projecttest.Host("fork"), second)
			f.Sweep()
		}
		assert.InDelta(t, 1, f.Spent(other.ID), 1e-9)
		assert.Zero(t, f.Spent(other.Parent))
		assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	}
}

func TestProcessesThatTellAndCountAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	now := f.Tick()
	other := func() *project.Project {
		kept := store.Open(f.Data, store.Options{})
		t.Cleanup(func() { assert.NoError(t, kept.Close()) })
		return &project.Project{
			Store: kept, Log: f.Log, NewID: f.NewID, Transcripts: hoststest.Known().Formats().Read, Now: func() core.Millis { return now },
		}
	}
	var requests []usage.MeteredRequest
	for i := range 60 {
		requests = append(requests, asked(now, fmt.Sprint("m", i)))
	}
	var all sync.WaitGroup
	for range 2 { // of which one repeats what the other tells
		gateway := other()
		all.Go(func() {
			for _, r := range requests {
				assert.NoError(t, turns.StoreReport(f.Ctx, gateway, s, turns.Report{Requests: []usage.MeteredRequest{r}}))
			}
		})
	}
	for range 2 {
		reader := other()
		all.Go(func() {
			for range 30 {
				assert.NoError(t, usage.CountLater(f.Ctx, reader, s, log.Path))
				assert.NoError(t, sweep.RunOnce(f.Ctx, reader))
			}
		})
	}
	for _, r := range requests {
		log.Write(called(now, r.Answer))
	}
	all.Wait()
	f.Clock = now
	f.Count(s, log)
	f.Sweep()
	assert.Equal(t, core.Usage{TokensIn: 60 * 250_000, CostUSD: 60, ToolCalls: 60}, f.Get(frame.ID).Usage)
	assert.EqualValues(t, 60, metered(f).Requests)
}
