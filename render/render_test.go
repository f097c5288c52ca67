package render

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
)

func TestCountsAreInWords(t *testing.T) {
	assert.Equal(t, "1 tool call", Count(1, "tool call"))
	assert.Equal(t, "0 retries", Count(0, "retry"))
	assert.Equal(t, "2 entries", Count(int64(2), "entry"))
}

func TestTimesAreAsShortAsTheReaderNeeds(t *testing.T) {
	at := func(year, month, day, hour int) core.Millis {
		return core.MillisOf(time.Date(year, time.Month(month), day, hour, 5, 9, 0, time.Local))
	}
	now := at(2026, 11, 28, 15)
	for want, of := range map[string]core.Millis{
		"14:05": at(2026, 11, 28, 14), "Nov 27 14:05": at(2026, 11, 27, 14), "Nov 28 2025 14:05": at(2025, 11, 28, 14), "": 0,
	} {
		assert.Equal(t, want, Time(of, now))
	}
	assert.Equal(t, "2025-12-24T18:13:20Z", Time(1_766_600_000_000, 0))
}

func TestDurationRoundsHalvesUp(t *testing.T) {
	for ms, want := range map[int64]string{
		1: "1ms", 1000: "1.0s", 1250: "1.3s", 1750: "1.8s", 2250: "2.3s", 1150: "1.1s", 60_000: "1.0m", 75_000: "1.3m", 4_500_000: "1.3h",
	} {
		assert.Equal(t, want, Duration(ms), "%d ms", ms)
	}
}

func TestTheLineOfAnAgentShowsItsPresentState(t *testing.T) {
	second := core.Millis(time.Second.Milliseconds())
	active := record.Agent{
		ID: "agent-1", Type: "builder", Description: "build", State: core.AgentActive, CreatedAt: 100 * second,
		Progress: supervise.Progress{ToolCalls: 1, LastTool: "Bash", LastLine: 110 * second, TreeUSD: 0.5},
	}
	stopping, ended, quiet := active, active, active
	stopping.CancelledBy = "s"
	ended.State, ended.EndedAt, ended.CancelledBy = core.AgentCancelled, 112*second, "s"
	quiet.Progress.LastLine, quiet.Progress.LastTool = 0, ""
	for name, tt := range map[string]struct {
		run  record.Agent
		now  core.Millis
		want string
	}{
		"time goes on between two lines": {active, 119 * second, `agent-1 (active) builder: "build": 1 tool call, 0 tokens, 19 s, $0.50, last Bash`},
		"a long silence is told": {
			active, 130 * second, `agent-1 (active) builder: "build": 1 tool call, 0 tokens, 30 s, $0.50, last Bash, silent for 20 s`,
		},
		"nothing printed yet is no silence":  {quiet, 130 * second, `agent-1 (active) builder: "build": 1 tool call, 0 tokens, 30 s, $0.50`},
		"told to stop, it is stopping":       {stopping, 111 * second, `agent-1 (stopping) builder: "build": 1 tool call, 0 tokens, 11 s, $0.50, last Bash`},
		"one that ended took what it took":   {ended, 900 * second, `agent-1 (cancelled) builder: "build": 1 tool call, 0 tokens, 12 s, $0.50`},
		"a clock behind the host's is no -5": {active, 95 * second, `agent-1 (active) builder: "build": 1 tool call, 0 tokens, 10 s, $0.50, last Bash`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, AgentLine(tt.run, tt.now))
		})
	}
}

func TestAnEmptyListOfAgentsSaysWhatToDo(t *testing.T) {
	running, ended := []record.Agent{{State: core.AgentActive}}, []record.Agent{{State: core.AgentCompleted}}
	assert.Equal(t, "No agents; spawn_agent starts one.", ToToolNames(Agents(nil, "running", 0)))
	assert.Equal(t, "No agent is running; flame_agent_list lists those that have ended.", ToToolNames(Agents(ended, "running", 0)))
	assert.Equal(t, "No agent has ended; flame_agent_list lists those that are running.", ToToolNames(Agents(running, "ended", 0)))
}

func TestASettledConflictNamesTheVersionOnDisk(t *testing.T) {
	first := record.Agent{ID: "agent-1", Cwd: "/p", CreatedAt: 1, EndedAt: 5}
	second := record.Agent{ID: "agent-2", Cwd: "/p", CreatedAt: 6, EndedAt: 9}
	beside := record.Agent{ID: "agent-3", Cwd: "/p", CreatedAt: 4, EndedAt: 7}
	elsewhere := record.Agent{ID: "agent-4", Cwd: "/p/sub", CreatedAt: 1, EndedAt: 9}
	for name, tt := range map[string]struct {
		by   []record.Agent
		want string
	}{
		"all in worktrees":        {nil, "each agent changed f in its own worktree"},
		"one in place":            {[]record.Agent{first}, "f on the disk is as agent-1 left it"},
		"one after the other":     {[]record.Agent{second, first}, "f on the disk is as agent-2 left it, which came last"},
		"at one time":             {[]record.Agent{first, beside}, "f on the disk is probably as agent-3 left it, which ended last"},
		"in different folders":    {[]record.Agent{first, elsewhere}, "it is not known whose f is on the disk"},
		"one of three beside two": {[]record.Agent{first, second, beside}, "f on the disk is probably as agent-2 left it, which ended last"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, onDisk("f", tt.by))
		})
	}
}

func TestAnAgentsAnswerCanBeParsedAgain(t *testing.T) {
	run := record.Agent{
		ID: "agent-k3x9", Type: "builder", Description: `say "hi": 2`, State: core.AgentActive, CreatedAt: 1,
		Frame: "frame-a1", Depth: 2, Host: "claude-code", Session: "s-1", Progress: supervise.Progress{ToolCalls: 1},
	}
	told := op.AgentAnswer{ID: run.ID, Type: run.Type, Description: run.Description, State: "active", Frame: run.Frame}
	read, ok := op.ParseAgentAnswer(Result(record.Result{Agent: run}, 5, 0, 0))
	assert.True(t, ok)
	assert.Equal(t, told, read)
	told.Host, told.Session = run.Host, run.Session
	line := AgentLine(run, 5) + "\n"
	read, ok = op.ParseAgentAnswer(line + answerOf(run).Place() + "Mode: plan\n")
	assert.True(t, ok)
	assert.Equal(t, told, read)
	_, ok = op.ParseAgentAnswer("He said: " + line + answerOf(run).Place())
	assert.False(t, ok)
}

func TestAResultWithAnErrorDoesNotMentionMissingText(t *testing.T) {
	failed := record.Result{Agent: record.Agent{ID: "agent-1", State: core.AgentError}}
	assert.Contains(t, Result(failed, 0, 0, 0), "(error with no text)")
	failed.Outcome = &supervise.Outcome{Error: "no such model"}
	told := Result(failed, 0, 0, 0)
	assert.Contains(t, told, "Error: no such model\n")
	assert.NotContains(t, told, "no text")
}

func TestWhatJustHappenedHasNoFigure(t *testing.T) {
	t.Parallel()
	for ms, want := range map[core.Millis]string{-2000: "just now", 0: "just now", 4999: "just now", 5000: "5 s ago", 7_200_000: "2 h ago"} {
		assert.Equal(t, want, Ago(10_000_000, 10_000_000-ms), ms)
	}
}

func TestEachKindOfEventHasWords(t *testing.T) {
	for _, kind := range core.EventKinds {
		assert.NotContains(t, EventWords(core.Event{Event: kind}), kind)
	}
	assert.Len(t, eventTexts(), len(core.EventKinds))
}

func TestAnEventNamesItsMachine(t *testing.T) {
	for data, want := range map[string]string{
		`{"status": "failed", "machine": "laptop-x7k2"}`:       "ended (failed: @laptop-x7k2)",
		`{"machine": "laptop-x7k2"}`:                           "ended (@laptop-x7k2)",
		`{"machine": "laptop-x7k2", "fields": ["decisions"]}`:  "changed (decisions: @laptop-x7k2)",
		`{"from": "planned", "fromMachine": "laptop-x7k2"}`:    "taken up (from @laptop-x7k2)",
		`{"machine": "tower-1", "fromMachine": "laptop-x7k2"}`: "opened again (@tower-1: from @laptop-x7k2)",
	} {
		kind := map[string]string{"e": core.FrameCompleted, "c": core.FrameUpdated, "t": core.FrameActivated, "o": core.FrameReopened}[want[:1]]
		assert.Equal(t, want, EventWords(core.Event{Event: kind, Data: []byte(data)}))
	}
}

func TestAnEventFitsItsLine(t *testing.T) {
	e := core.Event{Seq: 12, Event: core.FrameCompleted, TS: 1, Frame: "frame-k3x9a1b2", Data: []byte(`{"status": "completed"}`)}
	goal := "Fix the login, and whatever else is wrong with sessions"
	assert.Contains(t, Event(e, goal, 0, 0), `frame-k3x9a1b2: ended (completed) "`+goal+`"`)
	narrow := Event(e, goal, 0, 80)
	assert.LessOrEqual(t, len([]rune(narrow)), 80)
	assert.Contains(t, narrow, `frame-k3x9a1b2: ended (completed) "Fix`)
	e.Event, e.Data = core.RequestAnswered, []byte(`{"class": "main", "status": 200, "out": 1200000, "cost": 0.019404000000000001}`)
	assert.Contains(t, Event(e, "", 0, 0), "a request to the model (main: 200: 1.2 M tokens out: $0.02)")
	e.Event, e.Data = core.FrameCompleted, []byte("what is no JSON")
	assert.Contains(t, Event(e, "", 0, 80), "frame-k3x9a1b2: ended")
	e.Frame, e.Event, e.SubagentID = "", "OfTomorrow", ""
	assert.Regexp(t, `^12 \S+ OfTomorrow$`, Event(e, "", 0, 80))
}
