package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/graph"
	"flame/core"
)

func TestAPastSessionBecomesFinishedFrames(t *testing.T) {
	told := graph.LogGraph{Nodes: []graph.LogNode{
		{ID: "s", Kind: graph.KindSession, State: core.AgentActive, Prompt: "Do it\nwell", Started: 10},
		{
			ID: "a", Kind: graph.KindSubagent, Parent: "s", State: core.AgentCompleted, Description: "look", Result: "seen", Started: 20, Ended: 30,
			Usage: core.Usage{TokensIn: 7, CostUSD: 0.5},
		},
		{ID: "b", Kind: graph.KindSubagent, Parent: "gone", Unparented: true, State: core.AgentError, Error: "no luck"},
		{ID: "broken", Kind: graph.KindSession, State: core.AgentError, Error: "overloaded"},
	}}
	state := told.History()
	assert.Equal(t, state, told.History(), "the same log gives the same frames")
	byID := map[string]string{}
	for id, f := range state.Frames {
		assert.Regexp(t, `^frame-[a-z2-7]{8}$`, id)
		byID[f.Session] = id
	}
	session, agent, other := state.Frames[byID["s"]], state.Frames[byID["a"]], state.Frames[byID["b"]]
	assert.Equal(t, []string{byID["s"], byID["b"], byID["broken"]}, state.RootFrameIDs)
	assert.Equal(t, "Do it well", session.Goal)
	assert.Equal(t, core.Blocked, session.Status, "the log does not show its end")
	assert.Equal(t, byID["s"], agent.Parent)
	assert.Equal(t, core.Completed, agent.Status)
	assert.Equal(t, "seen", agent.Summary)
	assert.Equal(t, core.Millis(30), agent.EndedAt)
	assert.Equal(t, core.Usage{TokensIn: 7, CostUSD: 0.5}, agent.Usage)
	assert.Equal(t, core.Failed, other.Status)
	assert.Equal(t, "subagent b", other.Goal)
	assert.Equal(t, core.Blocked, state.Frames[byID["broken"]].Status, "flame would have recorded the same")
}
