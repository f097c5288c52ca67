package claudecode_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/tests/cases"
	"flame/tests/clienttest"
)

// A fakeClaude answers the commands of Claude Code that a setup runs, with the
// effects seen in version 2.1.328.
type fakeClaude struct {
	marketplaces []map[string]any
	plugins      []map[string]any
	ran          []string
	fails        error // of every command that changes something
	refuses      error // of the check of a plugin
	version      string
}

func (f *fakeClaude) run(_ context.Context, dir, _ string, args ...string) (string, error) {
	line := strings.Join(args, " ")
	switch {
	case line == "--version":
		return cmp.Or(f.version, "2.1.328 (Claude Code)") + "\n", nil
	case strings.HasPrefix(line, "plugin validate "):
		return "", f.refuses
	case line == "plugin list --json":
		return asJSON(f.plugins)
	case line == "plugin marketplace list --json":
		return asJSON(f.marketplaces)
	}
	f.ran = append(f.ran, line)
	if f.fails != nil {
		return "", f.fails
	}
	scope := args[len(args)-1]
	switch strings.Join(args[:min(3, len(args))], " ") {
	case "plugin marketplace add":
		f.marketplaces = []map[string]any{{"name": "flame-setup", "source": "directory", "path": args[3]}}
	case "plugin marketplace remove":
		f.marketplaces, f.plugins = nil, nil
	case "plugin uninstall flame@flame-setup":
		f.plugins = slices.DeleteFunc(f.plugins, func(p map[string]any) bool { return p["scope"] == scope })
	case "plugin install flame@flame-setup":
		f.install(dir, scope)
	case "plugin update flame@flame-setup":
		f.plugins = nil
		f.install(dir, scope)
	}
	return "", nil
}

func (f *fakeClaude) install(dir, scope string) {
	manifest, _ := os.ReadFile(filepath.Join(f.marketplaces[0]["path"].(string), "plugin", ".claude-plugin", "plugin.json"))
	var plugin struct{ Version string }
	_ = json.Unmarshal(manifest, &plugin)
	p := map[string]any{"id": "flame@flame-setup", "version": plugin.Version, "scope": scope, "enabled": true, "installPath": dir}
	if scope != "user" {
		p["projectPath"] = dir
	}
	f.plugins = append(f.plugins, p)
}

func asJSON(list []map[string]any) (string, error) {
	text, err := json.Marshal(append([]map[string]any{}, list...))
	return string(text), err
}

// machine is an empty one with the fake on PATH.
func machine(t *testing.T, claude *fakeClaude) hosts.Machine {
	t.Helper()
	m := clienttest.Machine(t)
	m.Run = claude.run
	return m
}

func install(t *testing.T, s claudecode.Client, scope hosts.Scope) []string {
	t.Helper()
	return clienttest.Apply(t)(s.Install(t.Context(), scope))
}

func remove(t *testing.T, s claudecode.Client, scope hosts.Scope) []string {
	t.Helper()
	return clienttest.Apply(t)(s.Remove(t.Context(), scope))
}

func status(t *testing.T, s claudecode.Client) hosts.Status {
	t.Helper()
	found, err := s.Status(t.Context())
	require.NoError(t, err)
	return found
}

func TestInstallTwiceIsOnce(t *testing.T) {
	t.Parallel()
	for _, scope := range []hosts.Scope{hosts.ScopeUser, hosts.ScopeProject} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			claude := &fakeClaude{}
			s := claudecode.Client{Machine: machine(t, claude)}
			folder := filepath.Join(s.Machine.Home, ".local/share/flame/claude-code")
			assert.Len(t, install(t, s, scope), 3)
			assert.Equal(t, []string{
				"plugin marketplace add " + folder,
				"plugin install flame@flame-setup --scope " + string(scope),
			}, claude.ran)
			assert.Empty(t, install(t, s, scope))

			found := status(t, s)
			require.Len(t, found.Installed, 1)
			assert.Equal(t, scope, found.Installed[0].Scope)
			assert.True(t, found.Installed[0].Current)
			assert.Equal(t, "2.1.328 (Claude Code)", found.Version)
			assert.False(t, found.RegisteredTwice())
		})
	}
}

func TestPluginRunsTheInstalledBinary(t *testing.T) {
	t.Parallel()
	s := claudecode.Client{Machine: machine(t, &fakeClaude{})}
	install(t, s, hosts.ScopeUser)
	content, err := os.ReadFile(filepath.Join(s.Machine.DataHome(), "flame/claude-code/plugin/.mcp.json"))
	require.NoError(t, err)
	const few = "${FLAME_TOOLS:-lean,flame_plan_children,flame_activate,flame_search,flame_status,flame_invalidate,flame_agent_wait}"
	assert.JSONEq(t, `{"mcpServers": {"flame": {"command": "`+strings.ReplaceAll(s.Machine.Binary(), `"`, `\"`)+`", "args": ["serve", "--host", "claude-code"],
		"env": {"FLAME_TOOLS": "`+few+`"}}}}`, string(content))
	byCommands, err := os.ReadFile("plugin/.mcp.json")
	require.NoError(t, err)
	assert.Contains(t, string(byCommands), `"env": {"FLAME_TOOLS": "`+few+`"}`)
}

func TestHooksCallTheServerWhereTheClientLoadsSuchAPlugin(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		claude  fakeClaude
		setting string
		calls   bool
	}{
		"the version known":        {calls: true},
		"a newer one":              {claude: fakeClaude{version: "2.2.0 (Claude Code)"}, calls: true},
		"an older one":             {claude: fakeClaude{version: "2.1.99 (Claude Code)"}},
		"a version without digits": {claude: fakeClaude{version: "unknown"}},
		"one that refuses it":      {claude: fakeClaude{refuses: errors.New("unknown hook type")}},
		"the user's choice":        {setting: "Command"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := claudecode.Client{Machine: machine(t, &tt.claude)}
			s.Machine.Getenv = func(name string) string { return map[string]string{"FLAME_HOOKS": tt.setting}[name] }
			install(t, s, hosts.ScopeUser)
			hooks, err := os.ReadFile(filepath.Join(s.Machine.DataHome(), "flame/claude-code/plugin/hooks/hooks.json"))
			require.NoError(t, err)
			assert.Equal(t, tt.calls, strings.Contains(string(hooks), "mcp_tool"))
			s.Machine.Getenv = func(string) string { return "" }
			found := status(t, s)
			assert.True(t, found.Installed[0].Current, "this flame installs it in either form")
			assert.Empty(t, found.Refused)
		})
	}
}

func TestInstallBringsBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		harm func(*testing.T, *fakeClaude, hosts.Machine)
		want []string
	}{
		"an older plugin": {
			harm: func(t *testing.T, f *fakeClaude, m hosts.Machine) {
				f.plugins[0]["version"] = "0.0.9"
				require.NoError(t, os.Remove(filepath.Join(m.DataHome(), "flame/claude-code/plugin/.mcp.json")))
			},
			want: []string{"plugin update flame@flame-setup --scope user"},
		},
		"a plugin that is switched off": {
			harm: func(_ *testing.T, f *fakeClaude, _ hosts.Machine) { f.plugins[0]["enabled"] = false },
			want: []string{"plugin install flame@flame-setup --scope user"},
		},
		"a marketplace that points elsewhere": {
			harm: func(_ *testing.T, f *fakeClaude, _ hosts.Machine) { f.marketplaces[0]["path"] = "/elsewhere" },
			want: []string{"plugin marketplace add "},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claude := &fakeClaude{}
			s := claudecode.Client{Machine: machine(t, claude)}
			install(t, s, hosts.ScopeUser)
			claude.ran = nil
			tt.harm(t, claude, s.Machine)
			install(t, s, hosts.ScopeUser)
			require.Len(t, claude.ran, len(tt.want))
			for i, want := range tt.want {
				assert.Contains(t, claude.ran[i], want)
			}
		})
	}
}

func TestRemoveUndoesInstall(t *testing.T) {
	t.Parallel()
	claude := &fakeClaude{}
	s := claudecode.Client{Machine: machine(t, claude)}
	install(t, s, hosts.ScopeUser)
	install(t, s, hosts.ScopeProject)

	assert.Equal(t, []string{"run claude plugin uninstall flame@flame-setup --scope project"}, remove(t, s, hosts.ScopeProject),
		"the other scope keeps the marketplace")
	assert.Len(t, remove(t, s, hosts.ScopeUser), 3)
	assert.Empty(t, remove(t, s, hosts.ScopeUser), "the second call has nothing to do")
	assert.Empty(t, status(t, s).Installed)
	assert.NoDirExists(t, filepath.Join(s.Machine.DataHome(), "flame"))
}

func TestRemoveLeavesNoEmptySettings(t *testing.T) {
	t.Parallel()
	for left, stays := range map[string]bool{
		`{}`: false, `{"enabledPlugins": {}}`: false, `{"enabledPlugins": {}, "model": "opus"}`: true, `{"enabledPlugins": {"x@y": true}}`: true,
	} {
		claude := &fakeClaude{}
		s := claudecode.Client{Machine: machine(t, claude)}
		install(t, s, hosts.ScopeProject)
		file := filepath.Join(s.Machine.ProjectDir, ".claude", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(left), 0o600)) // as the client leaves it
		remove(t, s, hosts.ScopeProject)
		if stays {
			assert.FileExists(t, file, left)
		} else {
			assert.NoDirExists(t, filepath.Dir(file), left)
		}
	}
}

func TestTheStatusSaysWhatBecameOfThePlugin(t *testing.T) {
	t.Parallel()
	claude := &fakeClaude{}
	s := claudecode.Client{Machine: machine(t, claude)}
	install(t, s, hosts.ScopeUser)
	assert.Empty(t, status(t, s).Refused)
	claude.refuses = errors.New("unknown hook type")
	assert.Equal(t, "unknown hook type", status(t, s).Refused)
	install(t, s, hosts.ScopeUser)
	assert.Empty(t, status(t, s).Refused, "setup installs a form that the client loads")

	assert.False(t, status(t, s).Installed[0].Off)
	claude.plugins[0]["enabled"] = false
	assert.True(t, status(t, s).Installed[0].Off)

	claude.plugins = append(claude.plugins, map[string]any{"id": "flame@flame", "scope": "user", "enabled": true}) // of a clone
	found := status(t, s)
	require.True(t, found.RegisteredTwice())
	assert.Equal(t, "claude plugin uninstall flame@flame --scope user", found.ByHand[0].Undo)

	claude.install(filepath.Join(t.TempDir(), "gone"), "project")
	assert.Contains(t, remove(t, s, hosts.ScopeUser), "run claude plugin marketplace remove flame-setup", "it forgets projects that are gone")
}

func TestWithoutClaudeCode(t *testing.T) {
	t.Parallel()
	s := claudecode.Client{Machine: machine(t, &fakeClaude{})}
	install(t, s, hosts.ScopeUser)
	s.Machine.LookPath = func(string) (string, error) { return "", errors.New("not on PATH") }
	_, err := s.Install(t.Context(), hosts.ScopeUser)
	require.ErrorIs(t, err, core.ErrNotFound)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Hint, claudecode.Host().Setup.Manual)
	assert.Empty(t, status(t, s).Program)
	assert.Len(t, remove(t, s, hosts.ScopeUser), 1, "flame removes the folder without Claude Code")
}

func TestFailuresSayWhatClaudeCodeSaid(t *testing.T) {
	t.Parallel()
	claude := &fakeClaude{fails: errors.New("settings.json: permission denied")}
	s := claudecode.Client{Machine: machine(t, claude)}
	steps, err := s.Install(t.Context(), hosts.ScopeUser)
	require.NoError(t, err)
	err = hosts.Apply(t.Context(), steps, func(hosts.SetupStep) {})
	require.ErrorIs(t, err, core.ErrUnavailable)
	assert.ErrorContains(t, err, "claude plugin marketplace add")
	assert.ErrorContains(t, err, "settings.json: permission denied")
}

func TestStatusSeesWhatWasRegisteredByHand(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		File string // under Home
		Text string
		Want []string // what undoes it
	}](t, "testdata/registered.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := claudecode.Client{Machine: machine(t, &fakeClaude{})}
			install(t, s, hosts.ScopeUser)
			home, err := json.Marshal(s.Machine.Home)
			require.NoError(t, err)
			text := strings.ReplaceAll(tt.Text, "HOME", string(home[1:len(home)-1]))
			require.NoError(t, os.WriteFile(filepath.Join(s.Machine.Home, tt.File), []byte(text), 0o600))
			found := status(t, s)
			var undo []string
			for _, r := range found.ByHand {
				undo = append(undo, r.Undo)
			}
			assert.Equal(t, tt.Want, undo)
			assert.Equal(t, len(tt.Want) > 0, found.RegisteredTwice())
		})
	}
}

func TestAnUnreadableFileIsNamed(t *testing.T) {
	t.Parallel()
	s := claudecode.Client{Machine: machine(t, &fakeClaude{})}
	require.NoError(t, os.WriteFile(filepath.Join(s.Machine.Home, ".claude.json"), []byte("{"), 0o600))
	_, err := s.Status(t.Context())
	assert.ErrorContains(t, err, ".claude.json")
}

func TestTheNewestSessionOfAProject(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	m := hosts.Machine{Home: home, ProjectDir: "/srv/My_shop.2/é", Getenv: func(string) string { return "" }}
	past, err := claudecode.Host().Logs.Newest(t.Context(), m)
	require.NoError(t, err)
	assert.Zero(t, past)

	dir := filepath.Join(home, ".claude", "projects", "-srv-My-shop-2--")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "newer-folder.jsonl"), 0o700))
	for name, minute := range map[string]int{"old.jsonl": 1, "new.jsonl": 2, "newest.json": 3} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Date(2026, 11, 24, 10, minute, 0, 0, time.UTC)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	past, err = claudecode.Host().Logs.Newest(t.Context(), m)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "new.jsonl"), past.Path)
}

// What a project denies may lie where flame does not look and Claude Code does, so no agent is started
// without it.
func TestFilesThatLeadOutOfTheProject(t *testing.T) {
	clienttest.Traps(t, func(m hosts.Machine) hosts.Client {
		m.Run = (&fakeClaude{}).run
		return claudecode.Client{Machine: m}
	},
		clienttest.Trap{File: ".claude/settings.json", Launch: true, Setup: true},
		clienttest.Trap{File: ".claude/settings.local.json", Launch: true},
		clienttest.Trap{File: ".mcp.json", Status: true},
	)
}

func TestCommandLinesBehindAGateway(t *testing.T) {
	clienttest.Behinds(t, func(m hosts.Machine, tt clienttest.Behind) (hosts.GatewayLaunch, error) {
		return claudecode.BehindIn(m, filepath.Join(m.Home, "managed"), tt.Args)
	}, "testdata/behind.json")
}

func TestAgents(t *testing.T) {
	clienttest.Launches(t, func(m hosts.Machine) hosts.Launcher { return claudecode.Client{Machine: m} }, "testdata/launch.json")
}

func TestTheInputOfTheStatusLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		document string
		want     hosts.LinePlace
		ok       bool
	}{
		"all":                {`{"session_id":"s","cwd":"/p/sub","workspace":{"project_dir":"/p"}}`, hosts.LinePlace{Session: "s", Folder: "/p"}, true},
		"an older one":       {`{"session_id":"s","cwd":"/p/sub"}`, hosts.LinePlace{Session: "s", Folder: "/p/sub"}, true},
		"a folder somewhere": {`{"session_id":"s","cwd":"../p","workspace":{"project_dir":"p"}}`, hosts.LinePlace{Session: "s"}, true},
		"another document":   {`{"sessionID":"s"}`, hosts.LinePlace{}, false},
		"of other types":     {`{"session_id":{},"cwd":1}`, hosts.LinePlace{}, false},
		"a list":             {`[]`, hosts.LinePlace{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := claudecode.Host().Gateway.StatusLine([]byte(tt.document))
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.ok, ok)
		})
	}
}
