package opencode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/opencode"
)

// secret stands in what lies outside of a project.
const secret = "S3CRET"

// outsideOf makes a folder beside the project that has all that OpenCode would read.
func outsideOf(t *testing.T, s opencode.Client) string {
	t.Helper()
	outside := filepath.Join(filepath.Dir(s.Machine.ProjectDir), "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "plugin"), 0o755))
	config := `{"permission": {"` + secret + `": "deny"}, "mcp": {"flame": {"command": ["flame", "` + secret + `"]}}}`
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(config), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(outside, "plugin", "flame.js"), []byte("// Flame for OpenCode "+secret), 0o644))
	return outside
}

// soon fails the test where f does not come back.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, "it hangs")
	}
}

// advises checks that an error tells what to do, and nothing of what lies outside.
func advises(t *testing.T, err error) {
	t.Helper()
	var problem *core.Problem
	if assert.ErrorAs(t, err, &problem) {
		assert.NotEmpty(t, problem.Hint)
		assert.NotContains(t, err.Error()+problem.Hint, secret)
	}
}

func TestNoAgentStartsPastAConfigurationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ link, target, pipe string }{
		"a link to a file outside":       {link: "opencode.json", target: "../outside/opencode.json"},
		"a link to another":              {link: "opencode.jsonc", target: "../outside/opencode.jsonc"},
		"a link to what never ends":      {link: "opencode.json", target: "/dev/zero"},
		"a link to nothing outside":      {link: ".opencode/opencode.json", target: "../../outside/none"},
		"a folder outside":               {link: ".opencode", target: "../outside"},
		"the root of the disk":           {link: ".opencode", target: "/"},
		"a pipe":                         {pipe: "opencode.jsonc"},
		"a pipe in the project's folder": {pipe: ".opencode/opencode.json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			outsideOf(t, s)
			if tt.link != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.Machine.ProjectDir, tt.link)), 0o755))
				require.NoError(t, os.Symlink(tt.target, filepath.Join(s.Machine.ProjectDir, tt.link)))
			} else {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.Machine.ProjectDir, tt.pipe)), 0o755))
				require.NoError(t, syscall.Mkfifo(filepath.Join(s.Machine.ProjectDir, tt.pipe), 0o644))
			}
			soon(t, func() {
				launch, err := opencode.Client{Machine: s.Machine}.Launch(hosts.Child{})
				advises(t, err)
				assert.Empty(t, launch)
				_, err = s.Status(t.Context())
				advises(t, err)
			})
		})
	}
}

func TestSetupWritesAndDeletesNothingOutsideOfTheProject(t *testing.T) {
	t.Parallel()
	for link, target := range map[string]string{
		".opencode": "../outside", ".opencode/plugin": "../../outside/plugin", ".opencode/plugin/flame.js": "../../../outside/plugin/flame.js",
	} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			outside := outsideOf(t, s)
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.Machine.ProjectDir, link)), 0o755))
			require.NoError(t, os.Symlink(target, filepath.Join(s.Machine.ProjectDir, link)))
			steps, err := s.Install(t.Context(), hosts.Project)
			advises(t, err)
			assert.Empty(t, steps)
			steps, err = s.Remove(t.Context(), hosts.Project)
			advises(t, err)
			assert.Empty(t, steps)
			content, err := os.ReadFile(filepath.Join(outside, "plugin", "flame.js"))
			require.NoError(t, err)
			assert.Equal(t, "// Flame for OpenCode "+secret, string(content))
			entries, err := os.ReadDir(filepath.Join(outside, "plugin"))
			require.NoError(t, err)
			assert.Len(t, entries, 1)
			steps, err = s.Install(t.Context(), hosts.User)
			require.NoError(t, err, "links in the user's own folder are allowed")
			assert.NotEmpty(t, steps)
		})
	}
}

// What OpenCode asks about unless it is told otherwise, no list of tools allows.
func TestInvalidToolsAllowNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tools := []string{"read", "external_directory", "doom_loop"}
	launch, err := opencode.Client{Machine: s.Machine}.Launch(hosts.Child{Tools: hosts.ToolSet{}.Only(&tools)})
	require.NoError(t, err)
	const want = `"permission":{"*":"deny","read":"allow","external_directory":"ask","doom_loop":"ask","flame_*":"allow"}`
	assert.Contains(t, launch.Env[0], want)
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
	soon(t, func() {
		launch, err := opencode.Client{Machine: s.Machine}.Launch(hosts.Child{})
		require.NoError(t, err)
		assert.True(t, strings.Contains(launch.Env[0], `"t39998":"deny","t39999":"deny"}`), "in its order")
		assert.False(t, strings.Contains(launch.Env[0], `"t7":`) || strings.Contains(launch.Env[0], `"t8":`), "the last of a name holds")
	})
}
