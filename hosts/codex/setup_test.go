package codex_test

import (
	"cmp"
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
	"flame/hosts/codex"
	"flame/tests/clienttest"
)

// A fakeCodex is Codex's command line, as far as setup uses it.
type fakeCodex struct {
	market  string // folder of our marketplace
	version string // of the installed plugin
	off     bool
	servers []any
	trust   string // that its app server reports
	reviews string // of hooks, in its configuration: JSON
	wrote   string // to its configuration, through its app server
	broken  bool
}

func (f *fakeCodex) run(_ context.Context, _, _ string, args ...string) (string, error) {
	if f.broken {
		return "", errors.New("codex: invalid configuration")
	}
	var answer any
	switch line := strings.Join(args, " "); {
	case line == "--version":
		return "codex-cli 0.169.0\n", nil
	case line == "plugin marketplace list --json":
		markets := []any{}
		if f.market != "" {
			markets = append(markets, map[string]any{"name": "flame-setup", "root": f.market})
		}
		answer = map[string]any{"marketplaces": markets}
	case line == "plugin list --json":
		installed := []any{}
		if f.version != "" {
			installed = append(installed, map[string]any{"pluginId": "flame@flame-setup", "version": f.version, "enabled": !f.off})
		}
		answer = map[string]any{"installed": installed}
	case line == "mcp list --json":
		answer = append([]any{}, f.servers...)
	case line == "mcp list --json -c mcp_servers.docs.enabled=false":
		answer = []any{map[string]any{"name": "docs", "enabled": false}}
	case line == `mcp list --json -c mcp_servers.ofplugin={command="true",enabled=false}`:
		answer = []any{map[string]any{"name": "ofplugin", "enabled": false}}
	case strings.HasPrefix(line, "plugin marketplace add "):
		f.market = args[3]
	case line == "plugin marketplace remove flame-setup":
		f.market = ""
	case line == "plugin add flame@flame-setup":
		manifest, err := os.ReadFile(filepath.Join(f.market, "plugin", ".codex-plugin", "plugin.json"))
		if err != nil {
			return "", err
		}
		var plugin struct{ Version string }
		f.off, err = false, json.Unmarshal(manifest, &plugin)
		f.version = plugin.Version
		return "", err
	case line == "plugin remove flame@flame-setup":
		f.version = ""
	default:
		return "", errors.New("codex does not know " + line)
	}
	raw, err := json.Marshal(answer)
	return string(raw), err
}

// converse is its app server.
func (f *fakeCodex) converse(_ context.Context, _, input string, isLast func(string) bool, _ string, _ ...string) error {
	switch {
	case strings.Contains(input, "config/read"):
		isLast(`{"id":1,"result":{"config":{"hooks":{"state":` + cmp.Or(f.reviews, "null") + `}}}}`)
		return nil
	case strings.Contains(input, "config/batchWrite"):
		f.wrote = input
		isLast(`{"id":1,"result":{"status":"ok"}}`)
		return nil
	case !strings.Contains(input, "hooks/list") || f.trust == "":
		return errors.New("no answer")
	}
	hook := `{"pluginId":"flame@flame-setup","enabled":true,"trustStatus":"` + f.trust + `"}`
	list := `{"id":1,"result":{"data":[{"hooks":[{"pluginId":"other@x","trustStatus":"untrusted"},` + hook + `]}]}}`
	for _, line := range []string{`{"id":0,"result":{}}`, "noise", list} {
		if isLast(line) {
			return nil
		}
	}
	return errors.New("no answer")
}

func client(t *testing.T, f *fakeCodex) codex.Client {
	t.Helper()
	m := clienttest.Machine(t)
	m.Run, m.Converse = f.run, f.converse
	return codex.Client{Settings: func() []string { return []string{"FLAME_DIR"} }, Machine: m}
}

func TestInstallTwiceIsOnceAndRemoveLeavesNothing(t *testing.T) {
	t.Parallel()
	f := &fakeCodex{}
	c := client(t, f)
	did := clienttest.Apply(t)
	install := func() []string { return did(c.Install(t.Context(), hosts.ScopeUser)) }
	folder := filepath.Join(c.Machine.DataHome(), "flame", "codex")
	assert.Len(t, install(), 3)
	assert.Equal(t, folder, f.market)
	assert.Empty(t, install())

	f.off = true
	assert.Equal(t, []string{"run codex plugin add flame@flame-setup"}, install(), "switched on again")
	f.version = "0.9.0+old"
	assert.Equal(t, []string{"run codex plugin add flame@flame-setup"}, install(), "updated")
	f.market = "/elsewhere"
	assert.Len(t, install(), 2, "a marketplace in another folder is replaced")

	hooksFile, err := os.ReadFile(filepath.Join(folder, "plugin", "hooks", "hooks.json"))
	require.NoError(t, err)
	assert.Contains(t, string(hooksFile), `it'\\''s \"home\"/.local/bin/flame' hook codex`, "the path is one word of a shell")
	server, err := os.ReadFile(filepath.Join(folder, "plugin", ".mcp.json"))
	require.NoError(t, err)
	assert.Contains(t, string(server), "FLAME_AGENT")
	assert.Contains(t, string(server), "FLAME_DIR")
	assert.Contains(t, strings.Join(strings.Fields(string(server)), ""), `"args":["serve","--tools","lean"]`, "each request carries all tools")
	policy, err := os.ReadFile(filepath.Join(folder, "plugin", "skills", "push", "agents", "openai.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(policy), "allow_implicit_invocation: false", "no request lists the skills")

	f.reviews = `{"flame@flame-setup:hooks/hooks.json:stop:0:0":{},"other@x:hooks.json:stop:0:0":{}}`
	assert.Len(t, did(c.Remove(t.Context(), hosts.ScopeUser)), 4)
	assert.NoDirExists(t, folder)
	assert.Contains(t, f.wrote, `"keyPath":"hooks.state.\"flame@flame-setup:hooks/hooks.json:stop:0:0\""`)
	assert.NotContains(t, f.wrote, "other@x")
	f.reviews = ""
	assert.Empty(t, did(c.Remove(t.Context(), hosts.ScopeUser)))
}

func TestAProjectAloneCannotBeSetUp(t *testing.T) {
	t.Parallel()
	_, err := client(t, &fakeCodex{}).Install(t.Context(), hosts.ScopeProject)
	assert.ErrorIs(t, err, core.ErrNotFound, "other hosts are set up all the same")
}

func TestABrokenConfigurationIsToldAndNotTouched(t *testing.T) {
	t.Parallel()
	c := client(t, &fakeCodex{broken: true})
	_, err := c.Install(t.Context(), hosts.ScopeUser)
	require.ErrorContains(t, err, "invalid configuration")
	_, err = c.Status(t.Context())
	require.ErrorContains(t, err, "invalid configuration")
	assert.NoDirExists(t, filepath.Join(c.Machine.Home, ".local"))
}

func TestTheStatusSaysWhetherHooksWereReviewed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		trust, says string
		todo        bool
	}{
		"reviewed":     {"trusted", "", false},
		"managed":      {"managed", "", false},
		"not reviewed": {"untrusted", "only after you have reviewed them", true},
		"changed":      {"modified", "has changed since you reviewed", true},
		"no answer":    {"", "cannot find out", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeCodex{trust: tt.trust}
			c := client(t, f)
			clienttest.Apply(t)(c.Install(t.Context(), hosts.ScopeUser))
			status, err := c.Status(t.Context())
			require.NoError(t, err)
			assert.Contains(t, status.Consent.What, tt.says)
			assert.Equal(t, tt.says == "", status.Consent.What == "")
			assert.Equal(t, tt.todo, status.Consent.Todo, "a step that comes next")
			assert.False(t, status.Consent.Broken)
			require.Len(t, status.Installed, 1)
			assert.True(t, status.Installed[0].Current)
			assert.Empty(t, status.ByHand)
		})
	}
}

func server(name, command string, args ...string) any {
	return map[string]any{"name": name, "enabled": true, "transport": map[string]any{"type": "stdio", "command": command, "args": args}}
}

func TestServersByHandAreFound(t *testing.T) {
	t.Parallel()
	f := &fakeCodex{servers: []any{server("docs", "/usr/bin/docs"), server("mine", "/opt/flame", "serve")}}
	status, err := client(t, f).Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.ByHand, 1)
	assert.Equal(t, "codex mcp remove mine", status.ByHand[0].Undo)
}

func TestAgents(t *testing.T) {
	clienttest.Launches(t, func(m hosts.Machine) hosts.Launcher {
		f := &fakeCodex{servers: []any{server("docs", "docs"), server("ofplugin", "ofplugin")}}
		if odd := m.Getenv("SERVER"); odd != "" {
			f.servers = []any{server(odd, "odd")}
		}
		m.Run = f.run
		return codex.Client{Machine: m, Settings: func() []string { return nil }}
	}, "testdata/launch.json")
}
