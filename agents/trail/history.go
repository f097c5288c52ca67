package trail

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"flame/agents/graph"
	"flame/core"
	"flame/project/transfer"
)

// maxGoal is the length in characters to which descriptions are cut as goals.
const maxGoal = 80

// maxSummary is the length in characters to which an agent's last words are cut
// as the summary of its frame; its results have them in full.
const maxSummary = 2_000

// History returns a frame for each session and agent of a trail, with its
// usage, in the form that a project imports. What is past is finished: a run
// whose end the logs do not show is blocked. The ids derive from those of the
// host, so the same log gives the same frames.
func (t Trail) History() transfer.State {
	state := transfer.State{Version: transfer.StateVersion, Frames: map[string]transfer.StateFrame{}}
	known := map[string]bool{}
	for _, n := range t.Nodes {
		known[n.ID] = true
	}
	for _, n := range t.Nodes {
		f := n.frame()
		if known[n.Parent] {
			f.ParentSessionID = frameOf(n.Parent)
		} else {
			state.RootFrameIDs = append(state.RootFrameIDs, f.SessionID)
		}
		state.Frames[f.SessionID] = f
	}
	return state
}

// frame returns the node as a finished frame.
func (n Node) frame() transfer.StateFrame {
	usage := n.Usage
	usage.CostUSD += n.UntoldUSD
	end := max(n.Ended, n.Started)
	f := transfer.StateFrame{
		SessionID: frameOf(n.ID), Session: n.ID, Goal: cmp.Or(core.OneLine(cmp.Or(n.Description, n.Prompt), maxGoal), string(n.Kind)+" "+n.ID),
		Status: n.pastStatus(), CreatedAt: n.Started, StartedAt: n.Started, EndedAt: end, UpdatedAt: end,
		Artifacts: []string{}, Decisions: []string{}, Usage: &usage,
	}
	if words := strings.TrimSpace(cmp.Or(n.Result, n.Error)); words != "" {
		f.CompactionSummary, _ = core.Truncate(words, maxSummary/4, " [truncated]")
		f.Results = words
	}
	return f
}

// pastStatus returns the status of a run in hindsight. Sessions take it as when they end
// while flame sees them: one that failed is blocked.
func (n Node) pastStatus() core.Status {
	switch {
	case n.State == core.AgentCompleted:
		return core.Completed
	case n.Kind == graph.KindSubagent && (n.State == core.AgentError || n.State == core.AgentTimeout):
		return core.Failed
	}
	return core.Blocked
}

// frameOf returns the id of the frame for a host's session or agent.
func frameOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "frame-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
