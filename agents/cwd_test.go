package agents_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/agents/plan"
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
	tests := map[string]struct{ cwd, says string }{
		"a folder":                          {cwd: "plain/a"},
		"the project's own":                 {cwd: "."},
		"by its whole path":                 {cwd: filepath.Join(s.Dir, "plain")},
		"by a link inside":                  {cwd: "plain/in"},
		"where a file has a host's name":    {cwd: "file"},
		"one that is not there":             {"none", "is not a folder"},
		"a file":                            {"plain/a/x", "is not a folder"},
		"one outside":                       {outside, "is not in the project"},
		"one outside by a link":             {"out", "is not in the project"},
		"the one above by a link":           {"up", "is not in the project"},
		"the one above":                     {"..", "is not in the project"},
		"one with a host's settings":        {"claude", "has settings of its own (claude/.claude/settings.local.json)"},
		"one with the other's":              {"open", "has settings of its own (open/opencode.jsonc)"},
		"one with servers":                  {"servers", "has settings of its own (servers/.mcp.json)"},
		"one whose settings are a pipe":     {"piped", "has settings of its own (piped/.mcp.json)"},
		"one whose settings lie outside":    {"linked", "has settings of its own (linked/.claude/settings.json)"},
		"one below that, which leads aside": {cwd: "linked/b/c"},
		"one below that":                    {"linked/b", "has settings of its own (linked/.claude/settings.json)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Spawn(s.ctx, user, plan.Request{Inline: json.RawMessage(`{"description":"d","prompt":"p"}`), Prompt: "done", Cwd: tt.cwd})
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
		})
	}
}
