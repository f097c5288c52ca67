package tests

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// thread finds the id of the session in the output of codex exec.
var thread = regexp.MustCompile(`"thread_id":"([0-9a-f-]+)"`)

// exec has Codex work on a prompt, and returns the id of the session.
func (u *user) exec(args ...string) (session string) {
	out := u.must("codex", append([]string{"exec", "--json", "--skip-git-repo-check", "-c", `sandbox_mode="workspace-write"`}, args...)...)
	found := thread.FindStringSubmatch(out)
	require.NotNil(u.t, found, out)
	return found[1]
}

// sub has Codex's model start a subagent.
func sub(message string) model.Tool {
	return model.Tool{Name: "multi_agent_v1__spawn_agent", Input: map[string]any{"message": message}}
}

func mcpTool(name string, input map[string]any) model.Tool {
	return model.Tool{Name: "mcp__flame__" + name, Input: input}
}

// isPair checks the tree of a session with two subagents, each of which worked in a frame of its own.
func (u *user) isPair(session string) (root, piece stateFrame) {
	root, piece = u.frame("MAINWORK please"), u.frame("a piece")
	assert.Equal(u.t, root.SessionID, piece.ParentSessionID)
	assert.Equal(u.t, session, piece.Session)
	assert.Equal(u.t, "all seen", piece.CompactionSummary)
	for _, name := range []string{"ONE", "TWO"} {
		child := u.frame("SUB" + name + ": look at " + strings.ToLower(name))
		assert.Equal(u.t, piece.SessionID, child.ParentSessionID)
		assert.Equal(u.t, "SUB"+name+" is over", child.CompactionSummary)
		assert.NotEqual(u.t, session, child.Session)
		inside := u.frame("inside SUB" + name)
		assert.Equal(u.t, child.SessionID, inside.ParentSessionID, "the two do not mix up their frames")
		assert.Equal(u.t, "SUB"+name+" is clear", inside.CompactionSummary)
		assert.Contains(u.t, u.model.By("SUB" + name)[0].FirstUser(), "<flame-context")
	}
	for goal, f := range u.state().Frames {
		assert.Equal(u.t, "completed", f.Status, goal)
	}
	return root, piece
}

func TestCodexRestoresTheContextAfterACompaction(t *testing.T) {
	t.Parallel()
	u := ready(t, codex)
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "WE-STOPPED-HERE"}}},
		{Name: "main", Turns: []model.Turn{
			{Tools: []model.Tool{mcpTool("flame_push", map[string]any{"goal": "a long piece"})}, Usage: model.Usage{Input: 60_000, Output: 5}},
			{Text: "it goes on"},
		}},
	})
	u.exec("-c", "model_auto_compact_token_limit=50000", "LONGWORK please")
	assert.Equal(t, "WE-STOPPED-HERE", u.frame("a long piece").CompactionSummary)
	last := u.model.By("main")[1]
	assert.Contains(t, last.Everything(), "WE-STOPPED-HERE")
	assert.Contains(t, last.Everything(), "<flame-context", "a session's context comes again after a compaction")
}

// An agent of a session may do what the sandbox of that session allows, whatever the model asks for.
func TestCodexSessionsStartAgentsWithinTheirSandbox(t *testing.T) {
	t.Parallel()
	for sandbox, made := range map[string]bool{"workspace-write": true, "read-only": false} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			u := ready(t, codex)
			u.env = append(u.env, "FLAME_AGENT_HOST=codex")
			u.allowSpawn()
			u.model.Play(model.Script{
				{Name: "agent", Match: regexp.MustCompile("BUILDIT"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{{Name: "exec_command", Input: map[string]any{"cmd": "echo x > made-by-agent"}}}},
					{Text: "AGENT-ANSWER"},
				}},
				{Name: "main", Match: regexp.MustCompile("MAINWORK"), Where: model.FirstUser, Turns: []model.Turn{
					{Tools: []model.Tool{mcpTool("spawn_agent", map[string]any{
						"subagent_type": "builder", "prompt": "BUILDIT", "permission_mode": "bypassPermissions", "background": false,
					})}},
					{Text: "it is done"},
				}},
			})
			u.exec("-c", "sandbox_mode="+`"`+sandbox+`"`, "MAINWORK please")
			require.Len(t, u.model.By("main"), 2)
			assert.Contains(t, u.model.By("main")[1].LastResult(), "AGENT-ANSWER")
			_, err := os.Stat(filepath.Join(u.project, "made-by-agent"))
			assert.Equal(t, made, err == nil)
		})
	}
}

// allowSpawn has Codex allow flame's spawn_agent, as the documents say.
func (u *user) allowSpawn() {
	file, err := os.OpenFile(filepath.Join(u.home, ".codex", "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(u.t, err)
	_, err = file.WriteString("\n[plugins.\"flame@flame-setup\".mcp_servers.flame.tools.spawn_agent]\napproval_mode = \"approve\"\n")
	require.NoError(u.t, errors.Join(err, file.Close()))
}
