package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/tests/cases"
	"flame/tests/repository"
)

func TestAnAgentWorksOnlyInFoldersOfTheProject(t *testing.T) {
	t.Parallel()
	s := newServiceWith(t, func(k *kept) { k.Bounds.Concurrent = 100 })
	s.startNone()
	repository.Write(t, s.Dir, map[string]string{
		"plain/a/x": "", "claude/.claude/settings.local.json": "{}", "servers/.mcp.json": "{}", "open/opencode.jsonc": "{}", "file/.claude": "",
	})
	outside := t.TempDir()
	repository.Link(t, s.Dir, "out -> "+outside, "up -> ..", "plain/in -> a", "linked/.claude -> "+outside, "linked/b/c -> ../../plain", "piped/x -> y")
	repository.Pipe(t, s.Dir, "piped/.mcp.json")
	for name, tt := range cases.Read[struct {
		Cwd  string `json:"cwd"`
		Says string `json:"says"`
	}](t, "testdata/folders.yaml") {
		cwd := strings.NewReplacer("PROJECT", s.Dir, "OUTSIDE", outside).Replace(tt.Cwd)
		_, err := s.Spawn(s.ctx, user, plan.Request{Inline: json.RawMessage(`{"description":"d","prompt":"p"}`), Prompt: "done", Cwd: cwd})
		if tt.Says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, tt.Says, name)
		}
	}
}
