package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/opencode"
	"flame/tests/cases"
	"flame/tests/clienttest"
)

func setup(t *testing.T) opencode.Client {
	t.Helper()
	return on(clienttest.Machine(t)).(opencode.Client)
}

func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	files := map[hosts.Scope]string{
		hosts.ScopeUser:    ".config/opencode/plugin/flame.js",
		hosts.ScopeProject: "a project/.opencode/plugin/flame.js",
	}
	for scope, name := range files {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			file := filepath.Join(s.Machine.Home, name)
			did := clienttest.Apply(t)
			assert.Len(t, did(s.Install(t.Context(), scope)), 1)
			assert.Empty(t, did(s.Install(t.Context(), scope)), "the second call has nothing to do")
			found, err := s.Status(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []hosts.Installation{{Scope: scope, Where: file, Current: true}}, found.Installed)
			assert.Equal(t, "1.18.33", found.Version)
			written, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Contains(t, string(written), fmt.Sprintf("\nconst given = {\"version\":%q,\"tools\":[\"flame_push\",\"spawn_agent\"],", found.AvailableVersion))
			assert.Contains(t, string(written), "is (?:completed|blocked|failed)", "the statuses of frames that have ended")
			s.OwnTools = func() []string { return []string{"flame_push"} }
			changed, err := s.Status(t.Context())
			require.NoError(t, err)
			assert.NotEqual(t, found.AvailableVersion, changed.AvailableVersion, "other tools are another version")

			older := "// Flame for OpenCode, of an older release\n"
			require.NoError(t, os.WriteFile(file, []byte(older), 0o644))
			assert.Len(t, did(s.Install(t.Context(), scope)), 1, "an older file is replaced")

			assert.Len(t, did(s.Remove(t.Context(), scope)), 1)
			assert.NoDirExists(t, filepath.Dir(file))
			assert.Empty(t, did(s.Remove(t.Context(), scope)), "the second call has nothing to do")
		})
	}
}

func TestAForeignFileStays(t *testing.T) {
	t.Parallel()
	s := setup(t)
	file := filepath.Join(s.Machine.ConfigHome(), "opencode", "plugin", "flame.js")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("export const Mine = 1\n"), 0o644))
	_, err := s.Install(t.Context(), hosts.ScopeUser)
	require.ErrorIs(t, err, core.ErrInvalid)
	steps, err := s.Remove(t.Context(), hosts.ScopeUser)
	require.NoError(t, err)
	assert.Empty(t, steps)
}

func TestWithoutOpenCode(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Machine.LookPath = func(string) (string, error) { return "", errors.New("not on PATH") }
	_, err := s.Install(t.Context(), hosts.ScopeUser)
	require.ErrorIs(t, err, core.ErrNotFound)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Hint, opencode.Host(s.OwnTools).Setup.Manual)
}

func TestStatusSeesWhatWasRegisteredByHand(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		File, Text string
		Want       []string
	}](t, "testdata/registered.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			file := filepath.Join(s.Machine.Home, tt.File)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(tt.Text), 0o644))
			found, err := s.Status(t.Context())
			require.NoError(t, err)
			var names []string
			for _, r := range found.ByHand {
				names = append(names, r.Name)
				assert.Equal(t, file, r.File)
			}
			assert.Equal(t, tt.Want, names)
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
	clienttest.Apply(t)(s.Install(t.Context(), hosts.ScopeUser))
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

// on returns OpenCode on a machine.
func on(m hosts.Machine) hosts.Client {
	m.Run = func(context.Context, string, string, ...string) (string, error) { return "1.18.33\n", nil }
	return opencode.Client{Machine: m, OwnTools: func() []string { return []string{"flame_push", "spawn_agent"} }}
}

func TestAgents(t *testing.T) {
	clienttest.Launches(t, func(m hosts.Machine) hosts.Launcher { return on(m) }, "testdata/launch.json")
}

// OpenCode itself may act on a configuration that flame does not read.
func TestFilesThatLeadOutOfTheProject(t *testing.T) {
	clienttest.Traps(t, on,
		clienttest.Trap{File: "opencode.json", Launch: true, Status: true},
		clienttest.Trap{File: "opencode.jsonc", Launch: true, Status: true},
		clienttest.Trap{File: ".opencode/opencode.json", Launch: true, Status: true},
		clienttest.Trap{File: ".opencode/plugin/flame.js", Setup: true, Links: true},
	)
}

// A map of a repository's may have any number of entries.
func TestPermissionsOfAnyNumberAreReadInTime(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var rules strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&rules, `"t%d": "deny", `, i)
	}
	config := `{"permission": {` + rules.String() + `"t7": "allow", "t8": {"*": "ask"}}}`
	require.NoError(t, os.WriteFile(filepath.Join(s.Machine.ProjectDir, "opencode.json"), []byte(config), 0o644))
	clienttest.Soon(t, func() {
		launch, err := opencode.Client{Machine: s.Machine}.Launch(hosts.LaunchSpec{})
		require.NoError(t, err)
		assert.True(t, strings.Contains(launch.Env[0], `"t39998":"deny","t39999":"deny"}`), "in its order")
		assert.False(t, strings.Contains(launch.Env[0], `"t7":`) || strings.Contains(launch.Env[0], `"t8":`), "the last of a name holds")
	})
}
