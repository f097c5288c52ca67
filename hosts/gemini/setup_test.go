package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/gemini"
	"flame/tests/cases"
	"flame/tests/clienttest"
)

// A fakeGemini is Gemini CLI's command line, as far as setup uses it.
type fakeGemini struct{ home string }

func (f *fakeGemini) run(_ context.Context, dir, program string, args ...string) (string, error) {
	if program == "env" && args[0] == "GEMINI_CLI_TRUST_WORKSPACE=true" && strings.HasSuffix(dir, "/flame") {
		args = args[2:] // no folder becomes trusted
	}
	extension := filepath.Join(f.home, ".gemini", "extensions", "flame")
	switch line := strings.Join(args, " "); {
	case line == "--version":
		return "0.61.0\n", nil
	case strings.HasPrefix(line, "extensions link ") && args[3] == "--consent":
		if _, err := os.Stat(extension); err == nil {
			return "", errors.New("already installed")
		}
		raw, err := json.Marshal(map[string]string{"source": args[2], "type": "link"})
		return "", errors.Join(err, os.MkdirAll(extension, 0o755), os.WriteFile(filepath.Join(extension, ".gemini-extension-install.json"), raw, 0o644))
	case line == "extensions enable flame":
		return "", os.WriteFile(filepath.Join(filepath.Dir(extension), "extension-enablement.json"), []byte("{}"), 0o644)
	case line == "extensions uninstall flame":
		return "", os.RemoveAll(extension)
	}
	return "", errors.New("gemini does not know " + strings.Join(args, " "))
}

func client(t *testing.T) gemini.Client {
	t.Helper()
	m := clienttest.Machine(t)
	m.Run = (&fakeGemini{m.Home}).run
	return gemini.Client{OwnTools: func() []string { return []string{"flame_push", "spawn_agent", "flame_more"} }, Machine: m}
}

// own writes a file of Gemini CLI's own folder. HOME and PROJECT in it stand for the folders.
func own(t *testing.T, c gemini.Client, name, text string) {
	t.Helper()
	for word, folder := range map[string]string{"HOME": c.Machine.Home, "PROJECT": c.Machine.ProjectDir} {
		raw, err := json.Marshal(folder)
		require.NoError(t, err)
		text = strings.ReplaceAll(text, word, string(raw[1:len(raw)-1]))
	}
	path := filepath.Join(c.Machine.Home, ".gemini", name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestInstallTwiceIsOnceAndRemoveLeavesNothing(t *testing.T) {
	t.Parallel()
	c := client(t)
	did := clienttest.Apply(t)
	install := func() []string { return did(c.Install(t.Context(), hosts.ScopeUser)) }
	folder := filepath.Join(c.Machine.DataHome(), "flame", "gemini")
	assert.Len(t, install(), 3)
	assert.Empty(t, install())
	own(t, c, "extensions/extension-enablement.json", `{"flame": {"overrides": ["!HOME/*"]}}`)
	assert.Equal(t, []string{"run gemini extensions enable flame"}, install(), "switched on again")
	own(t, c, "extensions/flame/.gemini-extension-install.json", `{"source": "/elsewhere", "type": "link"}`)
	assert.Len(t, install(), 2, "a link to another folder is replaced")

	hooksFile, err := os.ReadFile(filepath.Join(folder, "hooks", "hooks.json"))
	require.NoError(t, err)
	assert.Contains(t, string(hooksFile), `it'\\''s \"home\"/.local/bin/flame' hook gemini`, "the path is one word of a shell")
	command, err := os.ReadFile(filepath.Join(folder, "commands", "flame", "push.toml"))
	require.NoError(t, err)
	assert.Contains(t, string(command), "{{args}}")
	policy, err := os.ReadFile(filepath.Join(c.Machine.Home, ".gemini", "policies", "flame.toml"))
	require.NoError(t, err)
	assert.Contains(t, string(policy), `toolName = ["flame_push", "flame_more"]`, "others are up to the user")
	manifest, err := os.ReadFile(filepath.Join(folder, "gemini-extension.json"))
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(manifest)), ""), `"args":["serve","--tools","lean"]`, "each request carries all tools")

	assert.Len(t, did(c.Remove(t.Context(), hosts.ScopeUser)), 3)
	assert.NoDirExists(t, folder)
	assert.NoDirExists(t, filepath.Join(c.Machine.Home, ".gemini", "policies"))
	assert.Empty(t, did(c.Remove(t.Context(), hosts.ScopeUser)))
}

func TestAProjectAloneCannotBeSetUp(t *testing.T) {
	t.Parallel()
	_, err := client(t).Install(t.Context(), hosts.ScopeProject)
	assert.ErrorIs(t, err, core.ErrNotFound, "other hosts are set up all the same")
}

func TestTheStatusSaysWhatTheUserMustAllow(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct{ Settings, Folders, Says string }](t, "testdata/trust.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t)
			own(t, c, "settings.json", tt.Settings)
			own(t, c, "trustedFolders.json", tt.Folders)
			clienttest.Apply(t)(c.Install(t.Context(), hosts.ScopeUser))
			status, err := c.Status(t.Context())
			require.NoError(t, err)
			assert.Contains(t, status.Consent.What, tt.Says)
			assert.Equal(t, tt.Says == "", status.Consent.What == "", status.Consent.What)
			require.Len(t, status.Installed, 1)
			assert.True(t, status.Installed[0].Current)
		})
	}
}

func TestServersByHandAreFound(t *testing.T) {
	t.Parallel()
	c := client(t)
	own(t, c, "settings.json", `{"mcpServers": {"docs": {"command": "docs"}, "mine": {"command": "/opt/flame", "args": ["serve"]}}}`)
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.ByHand, 1)
	assert.Equal(t, "gemini mcp remove --scope user mine", status.ByHand[0].Undo)
}

func TestAgents(t *testing.T) {
	clienttest.Launches(t, func(m hosts.Machine) hosts.Launcher {
		return gemini.Client{Machine: m, OwnTools: func() []string { return []string{"flame_push", "spawn_agent", "flame_more"} }}
	}, "testdata/launch.json")
}
