package transcripts

import (
	"slices"
	"strings"

	"flame/core"
)

// A claudeInside tells subagents apart whose lines stand in their session's own file, as Claude Code 1.0
// wrote them. Such lines name no agent: each names the line before it, and the first one has the prompt of
// the call that started the agent. The id of the first line serves as the agent's.
type claudeInside struct {
	first recent[string] // by line: the first line of its agent
	tasks []claudeInner  // the last ones
}

// A claudeInner is a subagent, of which at first only its call or its first line is known.
type claudeInner struct{ prompt, call, agent string }

// maxInner bounds the subagents whose calls and first lines are remembered.
const maxInner = 64

// agent returns the agent that wrote a line; empty if the line does not stand in its session's file.
func (c *claudeInside) agent(l claudeLine) string {
	if !l.Sidechain || l.AgentID != "" || l.ID == "" {
		return ""
	}
	agent, known := c.first.values[l.Parent]
	if !known {
		agent = l.ID
	}
	c.first.set(l.ID, agent)
	return agent
}

// notes returns what a message says about such agents.
func (c *claudeInside) notes(m core.Message, l claudeLine) (notes []core.AgentInfo) {
	if l.AgentID != "" {
		return nil
	}
	if m.Agent != "" && m.Agent == l.ID {
		n := core.AgentInfo{ID: l.ID, Spawn: true, Parent: m.Session, Started: m.Time, State: core.AgentActive}
		n.Call = c.join(claudeInner{prompt: strings.TrimSpace(firstText(m.Parts)), agent: l.ID}).call
		notes = append(notes, n)
	}
	for _, p := range m.Parts {
		switch {
		case p.Type == core.PartToolCall && (p.Tool == "Task" || p.Tool == "Agent"):
			var in taskInput
			DecodeLenient(p.Input, &in)
			t := c.join(claudeInner{prompt: strings.TrimSpace(in.Prompt), call: p.CallID})
			if t.agent != "" {
				notes = append(notes, core.AgentInfo{ID: t.agent, Call: t.call, Spawn: true})
			}
		case p.Type == core.PartToolResult && !p.Failed:
			notes = append(notes, c.ended(m, p, l.ToolUseResult.spawned)...)
		}
	}
	return notes
}

// join returns a subagent with what is known of it, and remembers it.
func (c *claudeInside) join(t claudeInner) claudeInner {
	i := slices.IndexFunc(c.tasks, func(o claudeInner) bool {
		return o.prompt == t.prompt && (o.agent == "") != (t.agent == "") && (o.call == "") != (t.call == "")
	})
	if i >= 0 {
		t = claudeInner{t.prompt, t.call + c.tasks[i].call, t.agent + c.tasks[i].agent}
		c.tasks[i] = t
		return t
	}
	c.tasks = append(c.tasks, t)[max(0, len(c.tasks)+1-maxInner):]
	return t
}

// ended returns the note of a call's result. Other agents have their id in theirs.
func (c *claudeInside) ended(m core.Message, p core.Part, answer claudeSpawnResult) []core.AgentInfo {
	i := slices.IndexFunc(c.tasks, func(t claudeInner) bool { return t.call == p.CallID })
	if i < 0 || p.CallID == "" || c.tasks[i].agent == "" || answer.AgentID != "" {
		return nil
	}
	n := core.AgentInfo{ID: c.tasks[i].agent, Call: p.CallID, State: core.AgentCompleted, Ended: m.Time, Result: p.Text}
	if n.Tokens, n.ToolCalls = answer.Tokens, answer.ToolCalls; answer.Interrupted {
		n.State = core.AgentCancelled
	}
	return []core.AgentInfo{n}
}
