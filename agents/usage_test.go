package agents_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/sweep"
	"flame/project/usage"
	"flame/project/view"
	"flame/tests/projecttest"
)

func TestTheUsageOfAnAgentCountsForItsFrame(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.over(s.spawn("use 100; use 50; cost 0.25; done it").ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, int64(150), run.Progress.Tokens())
	assert.Equal(t, run.Progress.Used(), s.frame(run.Frame).Usage)
	stats, err := view.StatsOf(s.ctx, s.Project)
	require.NoError(t, err)
	assert.Equal(t, core.Usage{TokensIn: 150, CostUSD: 0.25}, stats.Usage)
	told := data(t, s.events(run.ID, core.SubagentStop)[0])
	assert.InDelta(t, 150, told["tokens"], 0)
	assert.InDelta(t, 0.25, told["costUSD"], 0)
}

// TestAnAgentIsCountedByItsSupervisorOnly is about agents whose host has flame's hooks as
// well: these count the same answers, by the host's log.
func TestAnAgentIsCountedByItsSupervisorOnly(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.request(user, plan.Request{Type: "builder", Prompt: "use 100; wait go; done it"})
	s.until(run.ID, core.AgentActive)
	run, err := s.Find(s.ctx, run.ID)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "log.jsonl")
	logged := func(at core.Millis, id string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(projecttest.AnswerAt(at, id))
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	count := func() {
		require.NoError(t, usage.CountLater(s.ctx, s.Project, as(run), path))
		s.Project.Transcripts = s.Hosts.Formats().Read
		require.NoError(t, sweep.RunOnce(s.ctx, s.Project))
		s.shift.Add(10)
	}
	logged(s.Project.Now(), "m1")
	count()
	logged(core.MillisOf(time.Now()), "m2") // by the clock of the agent's processes, which is not ahead
	s.touch("go")
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	count()
	assert.Equal(t, int64(100), s.frame(run.Frame).Usage.TokensIn, "the usage of the run is recorded already")

	s.shift.Add(time.Minute.Milliseconds())
	logged(s.Project.Now(), "m3")
	count()
	assert.Equal(t, int64(100+250_000), s.frame(run.Frame).Usage.TokensIn, "later, a person talks to the session")
}

// TestAHostsOwnSubagentsCountOnce is about the cost of an agent, which hosts tell with
// that of the subagents below it.
func TestAHostsOwnSubagentsCountOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.request(user, plan.Request{Type: "builder", Prompt: "use 100; wait go; cost 0.75; done it"})
	s.until(run.ID, core.AgentActive)
	run, err := s.Find(s.ctx, run.ID)
	require.NoError(t, err)
	below := project.Caller{Session: "own", Parent: run.Session, Host: "claude-code", Trust: project.TrustHook}
	_, err = children.StartSession(s.ctx, s.Project, below, "Look (@explorer subagent)")
	require.NoError(t, err)
	s.touch("go")
	run = s.ended(run.ID)
	assert.InDelta(t, 0.75, run.Progress.Cost(), 0)
	assert.Zero(t, s.frame(run.Frame).Usage.CostUSD, "the subagent's frame has its cost")
}

func TestTheEndOfAnAgentNamesTheFilesThatItWrote(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run := s.over(s.spawn("edit a.go; done it").ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, []any{"a.go"}, data(t, s.events(run.ID, core.SubagentStop)[0])["artifact_paths"])
}
