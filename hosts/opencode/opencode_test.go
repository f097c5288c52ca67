package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/opencode"
	"flame/tests/clienttest"
)

func setup(t *testing.T) opencode.Client {
	t.Helper()
	return on(clienttest.Machine(t)).(opencode.Client)
}

func apply(t *testing.T, steps []hosts.Step, err error) int {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, hosts.Apply(t.Context(), steps, func(hosts.Step) {}))
	return len(steps)
}

func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	files := map[hosts.Scope]string{
		hosts.User:    ".config/opencode/plugin/flame.js",
		hosts.Project: "a project/.opencode/plugin/flame.js",
	}
	for scope, name := range files {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			file := filepath.Join(s.Machine.Home, name)
			plan := func(f func(context.Context, hosts.Scope) ([]hosts.Step, error)) int {
				steps, err := f(t.Context(), scope)
				return apply(t, steps, err)
			}
			assert.Equal(t, 1, plan(s.Install))
			assert.Zero(t, plan(s.Install), "the second call has nothing to do")
			found, err := s.Status(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []hosts.Installation{{Scope: scope, Where: file, Current: true}}, found.Installed)
			assert.Equal(t, "1.18.33", found.Version)
			written, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Contains(t, string(written), fmt.Sprintf("\nconst given = {\"version\":%q,\"tools\":[\"flame_push\",\"spawn_agent\"],", found.Offers))
			assert.Contains(t, string(written), "is (?:completed|blocked|failed)", "the statuses of frames that have ended")
			s.OwnTools = func() []string { return []string{"flame_push"} }
			changed, err := s.Status(t.Context())
			require.NoError(t, err)
			assert.NotEqual(t, found.Offers, changed.Offers, "other tools are another version")

			older := "// Flame for OpenCode, of an older release\n"
			require.NoError(t, os.WriteFile(file, []byte(older), 0o644))
			assert.Equal(t, 1, plan(s.Install), "an older file is replaced")

			assert.Equal(t, 1, plan(s.Remove))
			assert.NoDirExists(t, filepath.Dir(file))
			assert.Zero(t, plan(s.Remove), "the second call has nothing to do")
		})
	}
}

func TestAForeignFileStays(t *testing.T) {
	t.Parallel()
	s := setup(t)
	file := filepath.Join(s.Machine.ConfigHome(), "opencode", "plugin", "flame.js")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("export const Mine = 1\n"), 0o644))
	_, err := s.Install(t.Context(), hosts.User)
	require.ErrorIs(t, err, core.ErrInvalid)
	steps, err := s.Remove(t.Context(), hosts.User)
	require.NoError(t, err)
	assert.Empty(t, steps)
}

func TestWithoutOpenCode(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Machine.LookPath = func(string) (string, error) { return "", errors.New("not on PATH") }
	_, err := s.Install(t.Context(), hosts.User)
	require.ErrorIs(t, err, core.ErrNotFound)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Hint, opencode.Host(s.OwnTools).ByHand)
}

func TestStatusSeesWhatWasRegisteredByHand(t *testing.T) {
	t.Parallel()
	const entry = `{"mcp": {"flame": {"type": "local", "command": ["flame", "serve"]}}}`
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"for the user":            {".config/opencode/opencode.json", entry, []string{"flame"}},
		"for the project":         {"a project/opencode.json", entry, []string{"flame"}},
		"in the project's folder": {"a project/.opencode/opencode.jsonc", entry, []string{"flame"}},
		"under another name":      {"a project/opencode.json", `{"mcp": {"frames": {"command": ["/opt/flame", "serve"]}}}`, []string{"frames"}},
		"as a remote server":      {"a project/opencode.json", `{"mcp": {"flame": {"type": "remote", "url": "http://127.0.0.1:1/mcp"}}}`, []string{"flame"}},
		"but switched off":        {"a project/opencode.json", `{"mcp": {"flame": {"command": ["flame"], "enabled": false}}}`, nil},
		"as a plugin from npm": {"a project/opencode.json", `{"plugin": ["other", "` + env.NPM + `@1.2.3", ["` + env.NPM + `", {"a": 1}], ["x"], 7]}`,
			[]string{env.NPM + "@1.2.3", env.NPM}},
		"not at all":    {"a project/opencode.json", `{"mcp": {"other": {"command": ["x"]}}}`, nil},
		"an empty file": {"a project/opencode.json", "", nil},
		"with comments and commas": {"a project/opencode.jsonc", `{
			// "mcp": {"commented": {"command": ["flame"]}},
			"theme": "https://x/*y*/", /* "mcp": {} */
			"mcp": {"flame": {"command": ["flame", "serve",],},
			},
		}`, []string{"flame"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			file := filepath.Join(s.Machine.Home, tt.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o644))
			found, err := s.Status(t.Context())
			require.NoError(t, err)
			var names []string
			for _, r := range found.ByHand {
				names = append(names, r.Name)
				assert.Equal(t, file, r.File)
			}
			assert.Equal(t, tt.want, names)
		})
	}
}

func TestAnUnreadableFileIsNamed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	file := filepath.Join(s.Machine.ProjectDir, "opencode.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o644))
	_, err := s.Status(t.Context())
	assert.ErrorContains(t, err, file)
}

// installed returns flame.js as setup writes it, with these names of flame's tools.
func installed(t *testing.T, names func() []string) string {
	t.Helper()
	s := setup(t)
	s.OwnTools = names
	steps, err := s.Install(t.Context(), hosts.User)
	apply(t, steps, err)
	plugin, err := os.ReadFile(filepath.Join(s.Machine.ConfigHome(), "opencode", "plugin", "flame.js"))
	require.NoError(t, err)
	return string(plugin)
}

func TestPluginHasTheCommandsOfTheTable(t *testing.T) {
	t.Parallel()
	plugin := installed(t, func() []string { return nil })
	for _, c := range op.Commands {
		for _, text := range []string{"flame:" + c.Name, c.Description, c.Prompt(op.CommandLine)} {
			quoted, err := json.Marshal(text)
			require.NoError(t, err)
			assert.Contains(t, plugin, string(quoted))
		}
	}
}
