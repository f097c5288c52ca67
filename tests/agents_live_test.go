package tests

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// spawnRule lets Claude Code start flame's agents without asking.
const spawnRule = "mcp__plugin_flame_flame__spawn_agent"

// spawns has the model start an agent.
func spawns(kind, description, prompt string, more map[string]any) model.Tool {
	input := map[string]any{"subagent_type": kind, "description": description, "prompt": prompt}
	for name, value := range more {
		input[name] = value
	}
	return model.Tool{Name: "spawn_agent", Input: input}
}

var agentID = regexp.MustCompile(`agent-[a-z0-9]{8}`)

// waitsFor has the model wait for the agent that the last answer of a tool names.
func waitsFor() model.Turn {
	return model.Turn{From: func(r model.Request) model.Turn {
		return calls("flame_agent_wait", map[string]any{"subagent_id": agentID.FindString(r.LastResult())})
	}}
}

func TestAnAgentWorksBelowItsCaller(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.must(u.flame, "setup", client)
			u.model.Play(model.Script{
				asked("child", "CHILDWORK", calls("flame_add_decision", map[string]any{"decision": "the child decides"}), model.Turn{Text: "CHILD-RESULT\nConfidence: 0.9"}),
				asked("main", "MAINWORK",
					model.Turn{Tools: []model.Tool{spawns("analyzer", "look at it", "CHILDWORK go", nil)}},
					waitsFor(),
					model.Turn{Text: "MAIN-RESULT"}),
			})
			if client == claudeCode {
				u.must("claude", "-p", "--output-format", "json", "--allowedTools", spawnRule, "--", "MAINWORK please")
			} else {
				u.must("opencode", "run", "--format", "json", "MAINWORK please")
			}
			t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log(), u.must(u.flame, "agents", "runs"))
			main := u.model.By("main")
			require.Len(t, main, 3)
			t.Log(main[1].LastResult(), main[2].LastResult())
			assert.Contains(t, main[2].LastResult(), "CHILD-RESULT")
			assert.Contains(t, main[2].LastResult(), "the child decides")
			assert.Contains(t, main[2].LastResult(), "Confidence: 0.90")
			root, child := u.frame("MAINWORK please"), u.frame("look at it")
			assert.Equal(t, root.SessionID, child.ParentSessionID)
			assert.Equal(t, "completed", child.Status)
			assert.Equal(t, []string{"the child decides"}, child.Decisions)
			request := u.model.By("child")[0]
			assert.Contains(t, request.Everything(), `<current-frame id="`+child.SessionID+`"`)
			for _, tool := range []string{"Write", "write", "Edit", "edit", "Bash", "bash"} {
				_, offered := request.Offered(tool)
				assert.False(t, offered, "an analyzer is offered %s", tool)
			}
		})
	}
}
