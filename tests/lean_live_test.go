package tests

import (
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// names returns a call of flame_set_goal through flame_more.
func names(goal string) model.Turn {
	return calls("flame_more", map[string]any{"tool": "flame_set_goal", "arguments": map[string]any{"goal": goal}})
}

// finds has Claude Code's model look up a tool of flame's that is not in view.
func finds(client, tool string) []model.Turn {
	if client == openCode {
		return nil
	}
	return []model.Turn{{Tools: []model.Tool{{Name: "ToolSearch", Input: map[string]any{"query": "select:mcp__plugin_flame_flame__" + tool}}}}}
}

func TestWorkWithFewToolsAndOneCallAFrame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		client string
		child  model.Tool
		run    func(u *user)
	}{
		"OpenCode":    {openCode, task("do one", "ONEWORK go"), func(u *user) { u.converse("MAINWORK please") }},
		"Claude Code": {claudeCode, agent("do one", "ONEWORK go", false), func(u *user) { u.must("claude", "-p", "MAINWORK please") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, tt.client)
			u.must(u.flame, "setup", tt.client)
			if tt.client == openCode {
				u.configure(nil)
			}
			u.model.Play(model.Script{
				asked("one", "ONEWORK", append(finds(tt.client, "flame_more"), names("the goal of one"), model.Turn{Text: "ONE-RESULT"})...),
				asked("main", "MAINWORK", slices.Concat(finds(tt.client, "flame_more"), []model.Turn{
					names("the goal of main"),
					calls("flame_push", map[string]any{"goal": "first"}),
					{Tools: []model.Tool{tt.child}},
					calls("flame_pop", map[string]any{
						"status": "completed", "summary": "FIRST-SUMMARY", "decisions": []string{"so"}, "artifacts": []string{"x.go"}, "next": "second",
					}),
					calls("flame_pop", map[string]any{"status": "completed", "summary": "SECOND-SUMMARY"}),
					{Text: "MAIN-RESULT"},
				})...),
			})
			tt.run(u)

			root, first, one, second := u.frame("the goal of main"), u.frame("first"), u.frame("the goal of one"), u.frame("second")
			assert.Equal(t, root.SessionID, first.ParentSessionID)
			assert.Equal(t, first.SessionID, one.ParentSessionID, "the subagent named its own frame")
			assert.Equal(t, root.SessionID, second.ParentSessionID)
			assert.Equal(t, []string{"so"}, first.Decisions)
			assert.Equal(t, []string{"x.go"}, first.Artifacts)
			assert.Equal(t, "SECOND-SUMMARY", second.CompactionSummary)

			requests := u.model.By("main")
			require.NotEmpty(t, requests)
			last := requests[len(requests)-1].Everything()
			assert.Contains(t, last, first.SessionID+" is completed")
			assert.Contains(t, last, "Started "+second.SessionID+" ")
			assert.NotContains(t, last, "agent_id")
			if tt.client == openCode {
				offered := requests[0].Tools
				assert.True(t, lo.SomeBy(offered, func(tool string) bool { return strings.HasSuffix(tool, "_flame_more") }), offered)
				assert.False(t, lo.SomeBy(offered, func(tool string) bool { return strings.HasSuffix(tool, "_flame_set_goal") }), offered)
			}
		})
	}
}
