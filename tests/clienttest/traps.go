package clienttest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
)

// secret stands in what lies outside of a project.
const secret = "S3CRET"

// A Trap is a file of a project in whose place a repository may ship something else, and what is then
// refused.
type Trap struct {
	File                  string
	Launch, Status, Setup bool
	Links                 bool // as far as it is a link
}

// A bait is what stands in the place of the file or of a folder above it.
type bait struct{ link, target, pipe, large string } // OUTSIDE stands for the folder beside the project

// baits are those for a file, by name.
func (tr Trap) baits() map[string]bait {
	file := tr.File
	top, _, _ := strings.Cut(file, "/")
	all := map[string]bait{
		"a link to a file outside":  {link: file, target: "OUTSIDE/" + filepath.Base(file)},
		"a link to nothing outside": {link: file, target: "OUTSIDE/none"},
		"a link to what never ends": {link: file, target: "/dev/zero"},
		"a pipe":                    {pipe: file},
		"a file without measure":    {large: file},
		"in a folder outside":       {link: top, target: "OUTSIDE"},
		"in the folder above":       {link: top, target: ".."},
		"in a folder of those":      {link: filepath.Dir(file), target: "OUTSIDE"},
	}
	maps.DeleteFunc(all, func(name string, b bait) bool {
		return tr.Links && b.link == "" || top == file && strings.HasPrefix(name, "in ")
	})
	return all
}

// lay puts it into a project, and something worth reading beside it.
func (b bait) lay(t *testing.T, m hosts.Machine) (outside string) {
	outside = filepath.Join(filepath.Dir(m.ProjectDir), "outside")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "plugin"), 0o755))
	text := strings.ReplaceAll(`{"permissions": {"deny": ["SECRET"]}, "permission": {"SECRET": "deny"}, "enabledPlugins": {"flame@x": true},
		"mcpServers": {"SECRET": {"command": "flame"}}, "mcp": {"flame": {"command": ["flame", "SECRET"]}}}`, "SECRET", secret)
	for _, name := range []string{"settings.json", "settings.local.json", ".mcp.json", "opencode.json", "opencode.jsonc"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644))
	}
	for _, name := range []string{"flame.js", "plugin/flame.js"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte("// Flame for OpenCode "+secret), 0o644))
	}
	in := func(name string) string {
		path := filepath.Join(m.ProjectDir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		return path
	}
	switch {
	case b.link != "":
		require.NoError(t, os.Symlink(strings.Replace(b.target, "OUTSIDE", outside, 1), in(b.link)))
	case b.pipe != "":
		require.NoError(t, syscall.Mkfifo(in(b.pipe), 0o644))
	default:
		require.NoError(t, os.WriteFile(in(b.large), []byte(strings.Repeat(" ", 4<<20+1)), 0o644))
	}
	return outside
}

// Traps tests that what a repository ships leads a host nowhere: it is refused with advice, in time, and
// nothing outside of the project is read or changed.
func Traps(t *testing.T, on func(hosts.Machine) hosts.Client, traps ...Trap) {
	t.Parallel()
	for _, tr := range traps {
		for name, bait := range tr.baits() {
			t.Run(tr.File+", "+name, func(t *testing.T) {
				t.Parallel()
				m := Machine(t)
				outside := bait.lay(t, m)
				before := files(t, outside)
				Soon(t, func() { tr.spring(t, on(m)) })
				assert.Equal(t, before, files(t, outside))
			})
		}
	}
}

// spring has the host do all that could meet the trap.
func (tr Trap) spring(t *testing.T, client hosts.Client) {
	launch, err := client.Launch(hosts.LaunchSpec{Mode: hosts.ModePlan})
	switch {
	case tr.Launch:
		advises(t, err)
		assert.Empty(t, launch)
	case !tr.Setup:
		assert.NoError(t, err)
		assert.NotContains(t, strings.Join(slices.Concat(launch.Command, launch.Env), " "), secret)
	}
	if tr.Status {
		_, err := client.Status(t.Context())
		advises(t, err)
	}
	if !tr.Setup {
		return
	}
	for _, plan := range []func(context.Context, hosts.Scope) ([]hosts.SetupStep, error){client.Install, client.Remove} {
		steps, err := plan(t.Context(), hosts.ScopeProject)
		advises(t, err)
		assert.Empty(t, steps)
	}
	steps, err := client.Install(t.Context(), hosts.ScopeUser)
	require.NoError(t, err, "links in the user's own folder are allowed")
	assert.NotEmpty(t, steps)
}

// advises checks that an error tells what to do, and nothing of what lies outside.
func advises(t *testing.T, err error) {
	var problem *core.Problem
	if assert.ErrorAs(t, err, &problem) {
		assert.NotEmpty(t, problem.Hint)
		assert.NotContains(t, err.Error()+problem.Hint, secret)
	}
}

// Soon fails the test where f does not come back.
func Soon(t *testing.T, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(t, "it hangs")
	}
}
