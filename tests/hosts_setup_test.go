package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config/env"
	"flame/tests/model"
)

// pluginFiles are the files from which OpenCode loads flame, by scope, below home and project.
var pluginFiles = map[string]string{
	"user":    ".config/opencode/plugin/flame.js",
	"project": ".opencode/plugin/flame.js",
}

// byHand registers flame without a setup, as README says.
func (u *user) byHand(client string) {
	if client == claudeCode {
		u.must("claude", "mcp", "add", "flame", "--", u.flame, "serve")
		return
	}
	u.write("opencode.json", openCodeConfig(u.t, u.model.URL, map[string]any{
		"flame": map[string]any{"type": "local", "command": []string{u.flame, "serve"}},
	}))
}

// offered returns flame's tools as a client offers them to its model.
func (u *user) offered(client string) []string {
	u.model.Play(model.Script{{Name: "look", Turns: []model.Turn{{Text: "I see."}}}})
	before := len(u.model.By("look"))
	u.ask(client, "What is there?")
	requests := u.model.By("look")
	require.Greater(u.t, len(requests), before)
	var tools []string
	for _, tool := range requests[before].Tools {
		if strings.Contains(tool, "flame_push") {
			tools = append(tools, tool)
		}
	}
	return tools
}

func TestSetupTwiceThenRemove(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"user", "project"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, claudeCode, openCode)
			planned := u.must(u.flame, "setup", "--scope", scope, "--dry-run")
			assert.Contains(t, planned, "flame@flame-setup")
			assert.Contains(t, planned, filepath.FromSlash(pluginFiles[scope]))
			assert.NoFileExists(t, filepath.Join(u.home, ".local/bin/flame"))
			assert.NoFileExists(t, u.pluginFile(scope))

			assert.Contains(t, u.must(u.flame, "setup", "--scope", scope), "Codex CLI: codex is not installed")
			assert.FileExists(t, filepath.Join(u.home, ".local/bin/flame"))
			u.must("claude", "plugin", "validate", "--strict", filepath.Join(u.home, ".local/share/flame/claude-code"))
			if scope == "user" {
				u.becomesOlder()
				u.must(u.flame, "setup")
				u.proves("no hook has reached this project yet", "serve offers")
			}
			assert.Equal(t, []string{"mcp__plugin_flame_flame__flame_push"}, u.offered(claudeCode))
			assert.Equal(t, []string{"flame_flame_push"}, u.offered(openCode))
			if scope == "user" {
				assert.NotContains(t, u.proves("its last hook here was "), "this flame has plugin", "what is loaded is what is installed")
			}

			before := u.snapshot()
			again := u.must(u.flame, "setup", "--scope", scope)
			assert.Contains(t, again, "already")
			assert.Equal(t, before, u.snapshot(), "the second time changes nothing")

			u.must(u.flame, "setup", "--remove", "--scope", scope)
			assert.Empty(t, u.offered(claudeCode))
			assert.Empty(t, u.offered(openCode))
			assert.NoFileExists(t, filepath.Join(u.home, ".local/bin/flame"))
			assert.NoFileExists(t, u.pluginFile(scope))
			assert.NoDirExists(t, filepath.Join(u.home, ".local/share/flame/claude-code"))
			u.must(u.flame, "setup", "--remove", "--scope", scope)
		})
	}
}

// proves checks what doctor says of both clients, and other words of it.
func (u *user) proves(says string, more ...string) (report string) {
	report = u.must(u.flame, "doctor", "-v")
	for _, words := range append(more, "Claude Code: "+says, "OpenCode: "+says) {
		assert.Contains(u.t, report, words)
	}
	return report
}

// becomesOlder puts older versions in place of the installed files.
func (u *user) becomesOlder() {
	for file, text := range map[string]string{
		filepath.Join(u.home, ".local/bin/flame"):                                "an older flame",
		filepath.Join(u.home, ".local/share/flame/claude-code/plugin/.mcp.json"): `{"mcpServers": {}}`,
		u.pluginFile("user"): "// Flame for OpenCode, older\n",
	} {
		require.NoError(u.t, os.WriteFile(file, []byte(text), 0o755))
	}
}

func (u *user) pluginFile(scope string) string {
	base := u.home
	if scope == "project" {
		base = u.project
	}
	return filepath.Join(base, filepath.FromSlash(pluginFiles[scope]))
}

// snapshot returns the modification time of every file that a setup may touch.
func (u *user) snapshot() map[string]string {
	files := map[string]string{}
	for _, top := range []string{
		filepath.Join(u.home, ".local/bin"), filepath.Join(u.home, ".local/share/flame"), filepath.Join(u.home, ".claude/settings.json"),
		filepath.Join(u.home, ".config/opencode/plugin"), filepath.Join(u.project, ".claude"), filepath.Join(u.project, ".opencode/plugin"),
	} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err == nil && !d.IsDir() {
				files[path] = info.ModTime().String()
			}
			return err
		})
		if err != nil {
			require.ErrorIs(u.t, err, fs.ErrNotExist)
		}
	}
	return files
}

func TestTheRepositoryIsAMarketplace(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	u.must("claude", "plugin", "validate", "--strict", repository)
	u.must("claude", "plugin", "validate", "--strict", filepath.Join(repository, "hosts/claudecode/plugin"))

	u.must("claude", "plugin", "marketplace", "add", repository)
	u.must("claude", "plugin", "install", "flame@flame")
	u.model.Play(model.Script{{Name: "look", Turns: []model.Turn{{Text: "I see."}}}})
	said := u.must("claude", "-p", "--verbose", "--output-format", "stream-json", "--", "What is there?")
	assert.Contains(t, said, "npm install -g "+env.NPM, "the plugin says what it needs")

	u.path = filepath.Dir(u.flame) + ":" + u.path
	assert.Equal(t, []string{"mcp__plugin_flame_flame__flame_push"}, u.offered(claudeCode))
	u.model.Play(model.Script{asked("main", "MAINWORK", model.Turn{Text: "done"})})
	u.ask(claudeCode, "MAINWORK please")
	u.frame("MAINWORK please")
	assert.Contains(t, u.must(u.flame, "doctor", "-v"), `Claude Code: plugin "flame@flame" in `)

	u.must(u.flame, "setup", claudeCode)
	stdout, _, err := u.run(u.flame, "doctor", "-v")
	require.Error(t, err, "flame is there twice")
	assert.Contains(t, stdout, "claude plugin uninstall flame@flame --scope user")
	u.must("claude", "plugin", "uninstall", "flame@flame", "--scope", "user")
	u.must(u.flame, "doctor", "-v")
}

// Registered by hand flame works; a setup on top of that says so.
func TestSetupReportsADoubleRegistration(t *testing.T) {
	t.Parallel()
	for client, tt := range map[string]struct {
		undo    string
		started int
	}{
		claudeCode: {undo: "claude mcp remove flame", started: 2},
		openCode:   {undo: "opencode.json", started: 1}, // our plugin yields to the user's own entry
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.byHand(client)
			u.model.Play(model.Script{{Name: "main", Turns: []model.Turn{calls("flame_push", map[string]any{"goal": parserGoal})}}})
			u.ask(client, "Begin the work.")
			assert.Equal(t, "in_progress", u.frame(parserGoal).Status)
			stdout, stderr, err := u.run(u.flame, "setup", client)
			require.NoError(t, err, stdout+stderr)
			assert.Contains(t, stdout+stderr, tt.undo)
			stdout, stderr, _ = u.run(u.flame, "doctor", "-v")
			assert.Contains(t, stdout+stderr, tt.undo)
			assert.Len(t, u.offered(client), tt.started)
		})
	}
}

func TestSetupWithAReadOnlyHome(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	before, err := os.ReadDir(u.home)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(u.home, 0o555))
	t.Cleanup(func() { _ = os.Chmod(u.home, 0o755) }) // so that t.TempDir can delete it
	u.unprivileged()
	stdout, stderr, err := u.run(u.flame, "setup", openCode)
	require.Error(t, err)
	assert.Contains(t, stderr, "permission denied", stdout)
	assert.Contains(t, stderr, filepath.Join(u.home, ".local"), "it says where")
	after, err := os.ReadDir(u.home)
	require.NoError(t, err)
	assert.Len(t, after, len(before), "nothing is half-written")
}

// The users of these hosts have to trust what a setup adds.
func TestAHostThatAsksIsSetUpAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	for client, tt := range map[string]struct {
		settings, plans, asks, reports string
		gone                           []string // from the settings and the home
	}{
		codex: {".codex/config.toml", "codex plugin add flame@flame-setup", "Hooks need review", "reviewed", []string{"[plugins", "[marketplaces"}},
		gemini: {
			".gemini/settings.json", "gemini extensions link", "Trust folder", "Trust folder",
			[]string{"flame", ".gemini/extensions/flame", ".gemini/policies/flame.toml"},
		},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			file := filepath.Join(u.home, tt.settings)
			before, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Contains(t, u.must(u.flame, "setup", client, "--dry-run"), tt.plans)
			assert.Contains(t, u.must(u.flame, "setup", client), tt.asks)
			report := u.must(u.flame, "doctor", "-v")
			assert.Regexp(t, "(?s)todo .*"+tt.reports, report, "what is not trusted does not run")
			u.trust()
			assert.NotContains(t, u.must(u.flame, "doctor", "-v"), tt.reports)
			assert.Contains(t, u.must(u.flame, "setup", client), "already set up")
			_, refusal, err := u.run(u.flame, "setup", client, "--scope", "project")
			require.Error(t, err)
			assert.Contains(t, refusal, "cannot be set up for one project")
			u.must(u.flame, "setup", client, "--remove")
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Contains(t, string(after), strings.TrimSpace(string(before)))
			for _, name := range append(tt.gone, ".local/share/flame/"+client, ".local/bin/flame") {
				assert.NotContains(t, string(after), name)
				_, err := os.Lstat(filepath.Join(u.home, name))
				assert.ErrorIs(t, err, fs.ErrNotExist, name)
			}
		})
	}
}
