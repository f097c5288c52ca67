package claudecode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
)

// ours is flame's status line in a settings file of the user whose home is ~; it is set
// as an editor would, or on one line.
const (
	ours = `"statusLine": {
    "type": "command",
    "command": "~/.local/bin/flame status --line",
    "padding": 0
  }`
	oursShort = `"statusLine": {"type":"command","command":"~/.local/bin/flame status --line","padding":0}`
)

// machine is one that has this desk.
func (d desk) machine(env map[string]string) hosts.Machine {
	return hosts.Machine{Home: d.home, ProjectDir: d.project, Getenv: func(name string) string { return env[name] }}
}

// tied sets the status line and returns what was said.
func (d desk) tied(t *testing.T, m hosts.Machine) (said []string, note string) {
	t.Helper()
	steps, note, err := claudecode.TieIn(m, d.managed)
	require.NoError(t, err)
	return apply(t, steps), note
}

func (d desk) untied(t *testing.T, m hosts.Machine) []string {
	t.Helper()
	steps, err := claudecode.UntieIn(m)
	require.NoError(t, err)
	return apply(t, steps)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestTheStatusLineIsAddedToSettingsThatStayAsTheyAre(t *testing.T) {
	t.Parallel()
	tabbed := strings.NewReplacer("\n    ", "\n\t  ", "\n  }", "\n\t}").Replace(ours)
	windows := strings.ReplaceAll(ours, "\n", "\r\n")
	tests := map[string]struct{ before, after, removed string }{
		"no file":            {before: "-", after: "{\n  " + ours + "\n}\n", removed: "-"},
		"an empty file":      {before: "", after: "{\n  " + ours + "\n}\n", removed: "-"},
		"an empty object":    {before: "{}\n", after: "{\n  " + ours + "\n}\n", removed: "-"},
		"one member":         {before: "{\n  \"b\": 1\n}\n", after: "{\n  \"b\": 1,\n  " + ours + "\n}\n"},
		"an odd order":       {before: "{\n  \"z\": {\"b\" : 1},\n\n  \"a\":[ 1,2 ]}", after: "{\n  \"z\": {\"b\" : 1},\n\n  \"a\":[ 1,2 ],\n  " + ours + "}"},
		"tabs":               {before: "{\n\t\"b\": 1\n}", after: "{\n\t\"b\": 1,\n\t" + tabbed + "\n}"},
		"a line":             {before: `{"b": 1}`, after: `{"b": 1,` + oursShort + `}`},
		"lines of Windows":   {before: "\ufeff{\r\n  \"b\": 1\r\n}\r\n", after: "\ufeff{\r\n  \"b\": 1,\r\n  " + windows + "\r\n}\r\n"},
		"a member of a part": {before: "{\n  \"b\": {\"statusLine\": 1}\n}", after: "{\n  \"b\": {\"statusLine\": 1},\n  " + ours + "\n}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := at(t, nil)
			file := filepath.Join(d.home, ".claude/settings.json")
			if tt.before != "-" {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(tt.before), 0o640))
			}
			m := d.machine(nil)
			said, note := d.tied(t, m)
			assert.Len(t, said, 1)
			assert.Empty(t, note)
			assert.Equal(t, strings.ReplaceAll(tt.after, "~", d.home), read(t, file))
			if tt.before != "-" {
				info, err := os.Stat(file)
				require.NoError(t, err)
				assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
			}
			said, note = d.tied(t, m)
			assert.Empty(t, said, "the second call has nothing to do")
			assert.Empty(t, note)

			assert.Len(t, d.untied(t, m), 1)
			switch tt.removed {
			case "-":
				assert.NoFileExists(t, file)
			default:
				assert.Equal(t, tt.before, read(t, file))
			}
			assert.Empty(t, d.untied(t, m))
		})
	}
}

func TestAStatusLineThatIsSetStays(t *testing.T) {
	t.Parallel()
	const line = `{"statusLine": {"type": "command", "command": "mine.sh"}}`
	tests := map[string]struct {
		file  string
		text  string
		steps int
		note  string
	}{
		"by the user":             {file: "home/.claude/settings.json", text: line, note: "settings.json sets another status line, which stays"},
		"by the user, to nothing": {file: "home/.claude/settings.json", text: `{"statusLine": null}`, note: "sets another status line, which stays"},
		"by an administrator":     {file: "managed/managed-settings.json", text: line, note: "only an administrator"},
		"by the project":          {file: "project/.claude/settings.json", text: line, steps: 1, note: "which is shown in this project"},
		"for oneself":             {file: "project/.claude/settings.local.json", text: line, steps: 1, note: "which is shown in this project"},
		"by hand, to flame's":     {file: "home/.claude/settings.json", text: `{"statusLine": {"type": "command", "command": "/opt/flame status --line"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := at(t, map[string]string{tt.file: tt.text})
			said, note := d.tied(t, d.machine(nil))
			assert.Len(t, said, tt.steps)
			if tt.note == "" {
				assert.Empty(t, note)
			}
			assert.Contains(t, note, tt.note)
			assert.Equal(t, tt.text, read(t, filepath.Join(filepath.Dir(d.home), tt.file)))
			assert.Len(t, d.untied(t, d.machine(nil)), tt.steps, "a line that flame did not set stays")
		})
	}
}

func TestSettingsThatCannotBeEditedAreLeftWithAdvice(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"comments": "{\n  // mine\n  \"b\": 1\n}", "broken": `{"b": `, "a list": "[]", "binary": "\x00\xff", "two": "{} {}", "trailing commas": `{"b": 1,}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := at(t, map[string]string{"home/.claude/settings.json": text})
			_, _, err := claudecode.TieIn(d.machine(nil), d.managed)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.Contains(t, problem.Hint, `"statusLine"`)
			assert.Equal(t, text, read(t, filepath.Join(d.home, ".claude/settings.json")))
			assert.Empty(t, d.untied(t, d.machine(nil)))
		})
	}
}

func TestSettingsBehindALinkAreEditedWhereTheyAre(t *testing.T) {
	t.Parallel()
	d := at(t, map[string]string{"home/dotfiles/claude.json": "{}\n", "home/.claude/keep": ""})
	link, target := filepath.Join(d.home, ".claude/settings.json"), filepath.Join(d.home, "dotfiles/claude.json")
	require.NoError(t, os.Symlink("../dotfiles/claude.json", link))
	m := d.machine(nil)
	d.tied(t, m)
	assert.Contains(t, read(t, target), "status --line")
	to, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, "../dotfiles/claude.json", to)
	d.untied(t, m)
	assert.Equal(t, "{}\n", read(t, target))
	assert.FileExists(t, link)

	require.NoError(t, os.Remove(target))
	_, _, err = claudecode.TieIn(m, d.managed)
	assert.ErrorIs(t, err, core.ErrInvalid, "a link that leads nowhere")
	require.NoError(t, os.WriteFile(target, []byte("{}"), 0o400))
	steps, _, err := claudecode.TieIn(m, d.managed)
	require.NoError(t, err)
	assert.Error(t, hosts.Apply(t.Context(), steps, func(hosts.Step) {}), "the user protects it")
}

func TestTheStatusLineIsSetWhereClaudeCodeLooks(t *testing.T) {
	t.Parallel()
	d := at(t, map[string]string{"home/it's mine/keep": "", "project/keep": ""})
	d.home = filepath.Join(d.home, "it's mine")
	m := d.machine(map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(d.project, "conf")})
	steps, _, err := claudecode.TieIn(m, d.managed)
	require.NoError(t, err)
	// Another program adds to the file between plan and step: nothing is lost.
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, "conf"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(d.project, "conf/settings.json"), []byte(`{"enabledPlugins": {}}`), 0o600))
	apply(t, steps)
	text := read(t, filepath.Join(d.project, "conf/settings.json"))
	assert.Contains(t, text, `{"enabledPlugins": {},"statusLine": `)
	assert.Contains(t, text, `it'\\''s mine/.local/bin/flame' status --line`, "a shell reads it")
}

func TestTheInputOfTheStatusLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		document string
		want     hosts.Shown
		ok       bool
	}{
		"all":                {`{"session_id":"s","cwd":"/p/sub","workspace":{"project_dir":"/p"}}`, hosts.Shown{Session: "s", Folder: "/p"}, true},
		"an older one":       {`{"session_id":"s","cwd":"/p/sub"}`, hosts.Shown{Session: "s", Folder: "/p/sub"}, true},
		"a folder somewhere": {`{"session_id":"s","cwd":"../p","workspace":{"project_dir":"p"}}`, hosts.Shown{Session: "s"}, true},
		"another document":   {`{"sessionID":"s"}`, hosts.Shown{}, false},
		"of other types":     {`{"session_id":{},"cwd":1}`, hosts.Shown{}, false},
		"a list":             {`[]`, hosts.Shown{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := claudecode.Host().StatusLine.Shown([]byte(tt.document))
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.ok, ok)
		})
	}
}
