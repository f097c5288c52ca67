package tests

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// Sessions of all hosts work in one folder at the same time, two of them in Claude Code, each behind a
// gateway of its own, and in the host that does not say which session calls a tool.
func TestSessionsOfAllHostsShareATree(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode, openCode, codex, gemini)
	begin := map[string][]string{ // without the prompt
		"ALPHA": append([]string{u.flame, "claude"}, printed()...),
		"BRAVO": {"opencode", "run", "--format", "json"},
		"CECIL": {"codex", "exec", "--json", "--skip-git-repo-check"},
		"DELTA": {"gemini", "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--prompt"},
		"FOXES": append([]string{u.flame, "claude"}, printed()...),
		"EAGLE": {"gemini", "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--prompt"},
	}
	script := model.Script{}
	for name := range begin {
		prompt := `(?m)^"?` + name + ` please"?$` // contexts name the others' prompts within lines
		turns := []model.Turn{calls("flame_push", map[string]any{"goal": "piece of " + name}), calls("flame_push", map[string]any{"goal": "part of " + name})}
		if begin[name][0] == u.flame {
			turns = append(turns, slices.Repeat([]model.Turn{shell("IN-" + name)}, 4)...)
		}
		script = append(script, asked(name, prompt, append(turns, pop("SUMMARY-"+name), model.Turn{Text: "it is done"})...))
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
		if begin[name][0] == u.flame {
			assert.NotContains(t, u.newestOf(name).Everything(), "IN-"+name, "its own gateway folds")
		}
	}
	require.Len(t, owners, len(begin))
	assert.Len(t, u.state().Frames, 3*len(begin))
}
