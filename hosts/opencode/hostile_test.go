package opencode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
	"flame/hosts/opencode"
	"flame/tests/clienttest"
)

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
		launch, err := opencode.Client{Machine: s.Machine}.Launch(hosts.Child{})
		require.NoError(t, err)
		assert.True(t, strings.Contains(launch.Env[0], `"t39998":"deny","t39999":"deny"}`), "in its order")
		assert.False(t, strings.Contains(launch.Env[0], `"t7":`) || strings.Contains(launch.Env[0], `"t8":`), "the last of a name holds")
	})
}
