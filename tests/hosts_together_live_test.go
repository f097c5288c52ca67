package tests

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// Sessions of all hosts work in one folder at the same time, two of them in Claude Code, and
// in the host that does not say which session calls a tool.
func TestSessionsOfAllHostsShareATree(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode, openCode, codex, gemini)
	begin := map[string][]string{ // without the prompt
		"ALPHA": {"claude", "-p", "--output-format", "json", "--allowedTools", "mcp__plugin_flame_flame,mcp__flame", "--"},
		"BRAVO": {"opencode", "run", "--format", "json"},
		"CECIL": {"codex", "exec", "--json", "--skip-git-repo-check"},
		"DELTA": {"gemini", "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--prompt"},
		"FOXES": {"claude", "-p", "--output-format", "json", "--allowedTools", "mcp__plugin_flame_flame,mcp__flame", "--"},
		"EAGLE": {"gemini", "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--prompt"},
	}
	script := model.Script{}
	for name := range begin {
		prompt := `(?m)^"?` + name + ` please"?$` // contexts name the others' prompts within lines
		script = append(script, asked(name, prompt, calls("flame_push", map[string]any{"goal": "piece of " + name}),
			calls("flame_push", map[string]any{"goal": "part of " + name}),
			calls("flame_pop", map[string]any{"status": "completed", "summary": "SUMMARY-" + name}), model.Turn{Text: "it is done"}))
	}
	u.model.Play(script)
	var sessions sync.WaitGroup
	failed := make(chan error, len(begin))
	for name, args := range begin {
		sessions.Go(func() {
			if out, errs, err := u.run(args[0], append(args[1:], name+" please")...); err != nil {
				failed <- fmt.Errorf("%s: %w\n%s\n%s", args[0], err, out, errs)
			}
		})
	}
	sessions.Wait()
	close(failed)
	for err := range failed {
		assert.NoError(t, err)
	}
	owners := map[string]string{}
	for name := range begin {
		root, piece, part := u.frame(name+" please"), u.frame("piece of "+name), u.frame("part of "+name)
		assert.Empty(t, root.ParentSessionID)
		assert.Equal(t, root.SessionID, piece.ParentSessionID, name)
		assert.Equal(t, piece.SessionID, part.ParentSessionID, name)
		assert.Equal(t, "SUMMARY-"+name, part.CompactionSummary)
		assert.Equal(t, root.Session, part.Session, name)
		owners[root.Session] = name
	}
	require.Len(t, owners, len(begin))
	assert.Len(t, u.state().Frames, 3*len(begin))
}
