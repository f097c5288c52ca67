package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

const minute = core.Millis(60_000)

// at is a project in a transaction.
func at(t *testing.T, do func(tx project.Tx)) {
	t.Helper()
	w := projecttest.New(t)
	again := false // functions in Update may run twice
	require.NoError(t, w.Store.Update(w.Ctx, func(tx project.Tx) error {
		if !again {
			again = true
			do(tx)
		}
		return nil
	}))
}

func enrol(t *testing.T, tx project.Tx, run record.Agent) {
	t.Helper()
	run.Tree, run.CreatedAt = "tree", run.CreatedAt+1
	require.NoError(t, record.Create(tx, run))
}

func TestAMachineSendsItsOwnAgents(t *testing.T) {
	at(t, func(tx project.Tx) {
		enrol(t, tx, record.Agent{ID: "agent-own", State: core.AgentActive, Description: "do\nit", Queue: "gpu", Worker: "box-1"})
		enrol(t, tx, record.Agent{ID: "agent-guest", State: core.AgentActive, Requester: "other-1"})
		text, err := record.LocalAgents(tx, minute)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "agent-guest", "the asking machine sends it")
		require.NoError(t, record.StoreStates(tx, "desk-1", text, minute))
		all, err := record.ListRemote(tx, minute)
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, record.RemoteAgent{
			ID: "agent-own", Machine: "desk-1", Description: "do it", On: "gpu", Worker: "box-1", State: core.AgentActive, Asked: 1, Heard: minute,
		}, all[0])

		require.NoError(t, record.ActiveAgents.Delete(tx, "agent-own"))
		run := record.Agent{ID: "agent-own", State: core.AgentError, EndedAt: minute, CreatedAt: 1, Outcome: &supervise.Outcome{Reason: "worker lost"}}
		require.NoError(t, record.Agents.Save(tx, run.ID, run))
		require.NoError(t, record.RemoveFromTree(tx, run))
		text, err = record.LocalAgents(tx, 2*minute)
		require.NoError(t, err)
		assert.Contains(t, string(text), "worker lost", "an ended agent is sent for some minutes")
		text, err = record.LocalAgents(tx, 7*minute)
		require.NoError(t, err)
		assert.Nil(t, text)
	})
}

// An agent stays among the active ones until all that follows its end is done.
func TestAnEndedAgentIsUnsettledButNotRunning(t *testing.T) {
	at(t, func(tx project.Tx) {
		for id, state := range map[string]core.AgentState{"agent-1": core.AgentActive, "agent-2": core.AgentCompleted} {
			require.NoError(t, record.Create(tx, record.Agent{ID: id, State: state}))
		}
		running, err := record.Running(tx)
		require.NoError(t, err)
		require.Len(t, running, 1)
		assert.Equal(t, "agent-1", running[0].ID)
		unsettled, err := record.UnsettledAgents(tx)
		require.NoError(t, err)
		assert.Len(t, unsettled, 2)
	})
}

func TestReportsOfOtherMachinesAreChecked(t *testing.T) {
	good := `{"id":"agent-1","type":"builder","host":"claude-code","description":"x","state":"active","asked":5}`
	for name, c := range map[string]struct {
		text string
		kept int
	}{
		"good":         {`[` + good + `]`, 1},
		"an older one": {`[` + strings.Replace(good, `"asked"`, `"shared":["logs","x"],"asked"`, 1) + `]`, 1},
		"nothing":      {``, 0},
		"garbage":      {`[{"id":`, 0},
		"no list":      {good, 0},
		"path as id":   {`[` + strings.Replace(good, "agent-1", "../x", 1) + `,` + good + `]`, 1},
		"no state":     {`[` + strings.Replace(good, "active", "asleep", 1) + `]`, 0},
		"minus tokens": {`[` + strings.Replace(good, `"asked":5`, `"used":{"tokensIn":-5}`, 1) + `]`, 0},
		"too many":     {`[` + strings.Repeat(good+",", 300) + good + `]`, 100},
		"too large":    {`[` + strings.Replace(good, `"x"`, `"`+strings.Repeat("x", 300<<10)+`"`, 1) + `]`, 0},
		"not its name": {`[` + strings.Replace(good, `"asked"`, `"machine":"mine-1","heard":99999999,"asked"`, 1) + `]`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(tx project.Tx) {
				require.NoError(t, record.StoreStates(tx, "desk-1", json.RawMessage(`[`+good+`]`), 0))
				require.NoError(t, record.StoreStates(tx, "desk-1", json.RawMessage(c.text), minute))
				all, err := record.ListRemote(tx, minute)
				require.NoError(t, err)
				assert.Len(t, all, c.kept)
				if c.kept > 0 {
					missing := core.NotFoundf("there is no agent %q", "1")
					explained := record.ExplainNotFound(tx, "1", missing)
					require.ErrorIs(t, explained, core.ErrNotFound)
					assert.ErrorContains(t, explained, "agent-1 is an agent of the machine desk-1: its data is there")
					assert.Equal(t, missing, record.ExplainNotFound(tx, "2", missing))
				}
				for _, a := range all {
					assert.Equal(t, "desk-1", a.Machine)
					assert.Equal(t, minute, a.Heard)
				}
			})
		})
	}
}

func TestSilentMachinesAreForgotten(t *testing.T) {
	at(t, func(tx project.Tx) {
		for i, machine := range []string{"desk-1", "box-1"} {
			text := fmt.Sprintf(`[{"id":"agent-%d","state":"active"}]`, i)
			require.NoError(t, record.StoreStates(tx, machine, json.RawMessage(text), minute))
		}
		require.NoError(t, record.RetainMachines(tx, []string{"box-1"}))
		all, err := record.AllRemote(tx)
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, "box-1", all[0].Machine)
		all, err = record.ListRemote(tx, 5*minute)
		require.NoError(t, err)
		assert.Empty(t, all, "no machine was connected")
	})
}

// news returns the events of agents that came after one, in words.
func news(t *testing.T, tx project.Tx, after int64) (said []string, last int64) {
	t.Helper()
	events, err := tx.FindEvents(project.EventQuery{AfterSeq: after})
	require.NoError(t, err)
	last = after
	for _, e := range events {
		assert.Contains(t, string(e.Data), `"machine_id":"desk-1"`)
		said, last = append(said, e.Event+" "+e.SubagentID), e.Seq
	}
	return said, last
}

func TestAgentsElsewhereHaveEventsOfTheirBeginAndEnd(t *testing.T) {
	at(t, func(tx project.Tx) {
		enrol(t, tx, record.Agent{ID: "agent-own", State: core.AgentActive})
		seq := int64(0)
		for i, c := range []struct {
			text string
			want []string
		}{
			{`[{"id":"agent-a","state":"active","turns":1}]`, []string{"SubagentSpawned agent-a"}},
			{`[{"id":"agent-a","state":"active","turns":2}]`, nil},
			{`[{"id":"agent-own","state":"completed"},{"id":"agent-a","state":"active"}]`, nil}, // that one is not theirs
			{
				`[{"id":"agent-b","state":"error"},{"id":"agent-a","state":"completed"}]`,
				[]string{"SubagentSpawned agent-b", "SubagentStop agent-b", "SubagentStop agent-a"},
			},
			{`[{"id":"agent-b","state":"error"},{"id":"agent-a","state":"timeout"}]`, nil},
			{`garbage`, nil},
			{`[{"id":"agent-c","state":"active"}]`, []string{"SubagentSpawned agent-c"}},
		} {
			require.NoError(t, record.StoreStates(tx, "desk-1", json.RawMessage(c.text), minute))
			var said []string
			said, seq = news(t, tx, seq)
			assert.Equal(t, c.want, said, "%d", i)
		}
		require.NoError(t, record.RetainMachines(tx, nil))
		require.NoError(t, record.StoreStates(tx, "desk-1", json.RawMessage(`[{"id":"agent-c","state":"active"}]`), minute))
		said, _ := news(t, tx, seq)
		assert.Empty(t, said, "a machine that returns writes no new events")
	})
}
