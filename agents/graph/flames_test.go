package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/core"
	"flame/tests/hoststest"
)

// delegated are logs of a session that has flame start two agents, the first of
// which has it start one more.
const (
	delegatedClaude  = "delegated/claude/-project/"
	delegatedSession = delegatedClaude + "7b3fb223-dd55-4e29-be00-6ab28f0ae27b.jsonl"
)

func TestLogsOfFlamesAgentsMayComeInAnyOrder(t *testing.T) {
	logs, err := hoststest.Known().Formats().Detect(logSamples+delegatedClaude, nil)
	require.NoError(t, err)
	require.Len(t, logs, 4)
	nodes := map[string]bool{}
	for i := range 24 {
		told, err := graph.ReadLogs(t.Context(), permutation(logs, i)...)
		require.NoError(t, err)
		for i := range told.Nodes {
			told.Nodes[i].Usage.CostUSD = 0 // sums of fractions depend on the order a little
		}
		slices.SortFunc(told.Nodes, func(a, b graph.LogNode) int { return strings.Compare(a.ID, b.ID) })
		nodes[fmt.Sprintf("%+v", told.Nodes)] = true
	}
	assert.Len(t, nodes, 1, "every order gives the same trail")
}

// said is a message of a session's.
func said(session string, role core.Role, parts ...core.Part) core.Message {
	return core.Message{ID: "m", Role: role, Session: session, Parts: parts, Final: true, Usage: core.Usage{CostUSD: 0.25}}
}

func text(words string) core.Part { return core.Part{Type: core.PartText, Text: words} }

// spawning is the call of a tool with its answer.
func spawning(tool, call, input, answer string) []core.Part {
	return []core.Part{
		{Type: core.PartToolCall, Tool: tool, CallID: call, Input: []byte(input)},
		{Type: core.PartToolResult, CallID: call, Text: answer},
	}
}

// started is what flame answers when it starts an agent, told its session or not.
func started(agent, frame, session string) string {
	answer := agent + ` (initializing) builder: "it": 0 tool calls, 0 tokens, 0s` + "\nFrame: " + frame + ", depth 1, in opencode\n"
	if session != "" {
		answer += "Session: " + session + "\n"
	}
	return answer + "Mode: default\n"
}

func prompt(task, frame string) core.Part {
	return text(task + "\n\n<flame-context session=\"" + frame + "\">\n</flame-context>\n\nYour last message is all.")
}

func TestAnAgentIsKnownByItsFrameInAnotherHostToo(t *testing.T) {
	type heard struct {
		host string
		core.Message
	}
	messages := []heard{
		{"claude-code", said("root", core.RoleUser, text("go"))},
		{"claude-code", said("root", core.RoleAssistant, spawning(
			"mcp__flame__spawn_agent", "c1", `{"prompt":"do it","subagent_type":"builder"}`, started("agent-1", "frame-1", ""),
		)...)},
		{"opencode", said("child", core.RoleUser, prompt("do it well", "frame-1"))},
		{
			"opencode",
			said("child", core.RoleAssistant, spawning("flame_spawn_agent", "c1", `{"description":"below","prompt":"B"}`, started("agent-2", "frame-2", "leaf"))...),
		},
		{"claude-code", said("leaf", core.RoleUser, prompt("B", "frame-2"))},
	}
	const want = "session  \"go\" completed\n  subagent builder \"it\" completed\n    subagent builder \"below\" initializing\n"
	for i := range 6 {
		tracker := graph.NewTracker()
		for _, session := range permutation([]string{"root", "child", "leaf"}, i) {
			for _, m := range messages {
				if m.Session == session {
					tracker.Add(m.host, m.Message)
				}
			}
		}
		told := tracker.Trail()
		require.Equal(t, want, outline(told), "order %d", i)
		child := told.Nodes[1]
		assert.Equal(t, []string{"child", "agent-1", "frame-1", "child", "opencode", "do it well"},
			[]string{child.ID, child.Agent, child.Frame, child.Session, child.Host, child.Prompt})
		assert.InDelta(t, 0.25, told.Nodes[0].Usage.CostUSD, 1e-9)
	}
}

func TestAnAgentOfFlamesWithoutALogIsANode(t *testing.T) {
	tracker := graph.NewTracker()
	tracker.Add(
		"opencode",
		said("root", core.RoleAssistant, spawning("flame_spawn_agent", "c1", `{"prompt":"do it","subagent_type":"builder"}`, started("agent-1", "frame-1", ""))...),
	)
	told := tracker.Trail()
	require.Len(t, told.Nodes, 2)
	assert.Equal(t, []string{"agent-1", "root", "do it", "opencode"}, []string{told.Nodes[1].ID, told.Nodes[1].Parent, told.Nodes[1].Prompt, told.Nodes[1].Host})
	assert.Equal(t, core.AgentInitializing, told.Nodes[1].State)
	tracker.Add("opencode", said("root", core.RoleAssistant, spawning("flame_flame_agent_wait", "c2", `{}`,
		"agent-1 (timeout) builder: \"it\": 3 tool calls, 9 tokens, 1s\nFrame: frame-1\nEnded: idle\n")...))
	assert.Equal(t, core.AgentTimeout, tracker.Trail().Nodes[1].State)
}

func TestOnlyAnswersOfFlamesToolsNameAgents(t *testing.T) {
	root := said("root", core.RoleUser, text("go"))
	other := said("other", core.RoleUser, prompt("do it", "frame-1"))
	apart := "session  \"go\" completed\nsession  \"do it\" initializing\n"
	refused := spawning("flame_spawn_agent", "c", `{"description":"it"}`, "there is no agent \"buildr\"")
	refused[1].Failed = true
	tests := map[string]struct {
		parts []core.Part
		want  string
	}{
		"another tool's answer": {spawning("Bash", "c", `{}`, started("agent-1", "frame-1", "other")), apart},
		"words of the model":    {[]core.Part{text(started("agent-1", "frame-1", "other"))}, apart},
		"a report":              {spawning("flame_agent_status", "c", `{}`, started("agent-1", "frame-1", "other")), apart},
		"an answer without a sense": {spawning("flame_spawn_agent", "c", `[]`, "\"agent-1\" Session: other"),
			"session  \"go\" completed\n  subagent  \"\" initializing\nsession  \"do it\" initializing\n"},
		"a call that was refused": {refused, "session  \"go\" completed\n  subagent  \"it\" error\nsession  \"do it\" initializing\n"},
		"another's session": {spawning("flame_spawn_agent", "c", `{"description":"it"}`, started("agent-1", "frame-1", "third")),
			"session  \"go\" completed\n  subagent builder \"it\" initializing\nsession  \"do it\" initializing\n"},
		"the caller itself": {spawning("flame_spawn_agent", "c", `{"description":"it"}`, started("agent-1", "frame-9", "root")),
			"session  \"go\" completed\n  subagent  \"it\" initializing\nsession  \"do it\" initializing\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tracker := graph.NewTracker()
			for _, m := range []core.Message{root, said("root", core.RoleAssistant, tt.parts...), other} {
				tracker.Add("opencode", m)
			}
			assert.Equal(t, tt.want, outline(tracker.Trail()))
		})
	}
}

func TestALabelIsTheTask(t *testing.T) {
	for prompt, want := range map[string]string{
		" go\n": "go",
		"write it\n\n<flame-context session=\"frame-1\">…": "write it",
		"<flame-context session=\"frame-1\"> alone":        "<flame-context session=\"frame-1\"> alone",
		"<command-message>flame:delegate</command-message>\n<command-name>/flame:delegate</command-name>\n<command-args>write it</command-args>": "write it",
		"<command-name>/init</command-name>\n<command-message>init</command-message>\n<command-args></command-args>":                             "/init",
		"<command-name>/torn":                                     "<command-name>/torn",
		"<system-reminder>\nx\n</system-reminder>\n go":           "go",
		"<ide_opened_file>The user opened x.</ide_opened_file>go": "go",
		"what does <command-args>x</command-args> mean?":          "what does <command-args>x</command-args> mean?",
	} {
		tracker := graph.NewTracker()
		tracker.Add("claude-code", said("s", core.RoleUser, text(prompt)))
		told := tracker.Trail()
		assert.Equal(t, want, told.Nodes[0].Prompt)
		for _, f := range told.History().Frames {
			assert.Equal(t, want, f.Goal)
		}
	}
}

func TestTheGoalOfAPastSessionIsWhatAPersonAskedFirst(t *testing.T) {
	command := func(name, args string) core.Message {
		return said("s", core.RoleUser, text(fmt.Sprintf(
			"<command-message>%[1]s</command-message>\n<command-name>/%[1]s</command-name>\n<command-args>%[2]s</command-args>", name, args)))
	}
	client := func(words string) core.Message {
		m := said("s", core.RoleUser, text(words))
		m.Synthetic = true
		return m
	}
	output, fix := client("<local-command-stdout></local-command-stdout>"), said("s", core.RoleUser, text("Fix the parser"))
	answer := said("s", core.RoleAssistant, text("done"))
	for want, log := range map[string][][]core.Message{
		"Fix the parser": {
			{command("clear", ""), output, fix, answer}, {command("model", "opus"), output, fix, answer},
			{said("s", core.RoleUser, text("[Request interrupted by user]")), fix, answer},
			{
				said("s", core.RoleUser, text("<bash-input>ls</bash-input>")),
				said("s", core.RoleUser, text("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>")), fix,
			},
			{said("s", core.RoleUser, text("<system-reminder>x</system-reminder>"), text("Fix the parser")), answer},
		},
		"/review-pr 158": {{command("review-pr", "158"), client("Review pull request 158"), answer, fix}},
		"/clear":         {{command("clear", ""), output}},
	} {
		for i, messages := range log {
			tracker := graph.NewTracker()
			for _, m := range messages {
				tracker.Add("claude-code", m)
			}
			assert.Equal(t, want, tracker.Trail().Nodes[0].Prompt, i)
		}
	}
}
