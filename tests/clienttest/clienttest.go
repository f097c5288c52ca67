// Package clienttest tests how the programs of hosts are started: as an agent, and behind a gateway.
// Each host gives a table of cases in JSON.
package clienttest

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
)

// Machine returns an empty machine on which all programs are installed. Its folders need quoting.
func Machine(t *testing.T) hosts.Machine {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := hosts.Machine{
		Home: filepath.Join(top, `it's "home"`), Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
	}
	m.ProjectDir = filepath.Join(m.Home, "a project")
	require.NoError(t, os.MkdirAll(m.ProjectDir, 0o755))
	return m
}

// Apply returns a function that takes the steps of a plan, and returns what they said.
func Apply(t *testing.T) func(steps []hosts.SetupStep, err error) []string {
	return func(steps []hosts.SetupStep, err error) []string {
		require.NoError(t, err)
		said := []string{}
		require.NoError(t, hosts.Apply(t.Context(), steps, func(s hosts.SetupStep) { said = append(said, s.Description) }))
		return said
	}
}

// An Environment is what a program finds on a machine. Names of files begin in the home; PROJECT stands
// for the project's folder, HOME for the home.
type Environment struct {
	Files   map[string]json.RawMessage // a document, or the text in a string
	Environ map[string]string
}

// Put puts it on a machine.
func (s Environment) Put(t *testing.T, m *hosts.Machine) {
	for name, content := range s.Files {
		path := filepath.Join(m.Home, strings.Replace(name, "PROJECT", "a project", 1))
		var text string
		if json.Unmarshal(content, &text) != nil {
			text = string(content)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	m.Getenv = func(name string) string { return strings.ReplaceAll(s.Environ[name], "HOME", m.Home) }
}

// each runs the cases of a table.
func each[C any](t *testing.T, path string, run func(*testing.T, C)) {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var cases map[string]C
	require.NoError(t, json.Unmarshal(raw, &cases))
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, tt)
		})
	}
}

// Launches tests the commands for agents. Has and Not are parts of the command line, the variables and
// the files that are written for it.
func Launches(t *testing.T, on func(hosts.Machine) hosts.Launcher, path string) {
	t.Parallel()
	type launch struct {
		Environment
		Child    hosts.LaunchSpec
		Has, Not []string
		Stdin    string
		Refused  string // why there is no command
	}
	each(t, path, func(t *testing.T, tt launch) {
		m := Machine(t)
		tt.Put(t, &m)
		tt.Child.Dir, tt.Child.Flame, tt.Child.Prompt = t.TempDir(), "/opt/flame", "do it"
		got, err := on(m).Launch(tt.Child)
		if tt.Refused != "" {
			assert.ErrorContains(t, err, tt.Refused)
			return
		}
		require.NoError(t, err)
		line := strings.Join(got.Command, " ")
		assert.Equal(t, cmp.Or(tt.Stdin, "do it"), got.Stdin)
		assert.NotContains(t, line, "do it", "a task may be longer than a command line")
		all := line + "\n" + strings.Join(got.Env, "\n") + "\n" + files(t, tt.Child.Dir)
		for _, part := range tt.Has {
			assert.Contains(t, all, part)
		}
		for _, part := range tt.Not {
			assert.NotContains(t, all, part)
		}
	})
}

// files returns all that is in a folder.
func files(t *testing.T, dir string) (all string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all += string(text)
		return err
	}))
	return all
}

// A Behind is a command line, and how it runs behind a gateway. The gateway is at http://gateway, its
// mark is M=1, and the settings file is called FILE.
type Behind struct {
	Environment
	Args     []string
	Given    map[string]json.RawMessage // what else the host is told
	Refused  string                     // why it does not
	Plain    bool                       // it runs without
	Upstream string
	Notes    int
	Line     []string          // the arguments; nil: any
	Vars     []string          // the variables; nil: any
	Settings json.RawMessage   // in the file; nil: any
	Has      string            // a part of the file
	Network  map[string]string // some of the variables
}

// Behinds tests how command lines run behind a gateway.
func Behinds(t *testing.T, behind func(m hosts.Machine, tt Behind) (hosts.GatewayLaunch, error), path string) {
	t.Parallel()
	each(t, path, func(t *testing.T, tt Behind) {
		m := Machine(t)
		tt.Put(t, &m)
		for i, arg := range tt.Args {
			tt.Args[i] = strings.ReplaceAll(arg, "HOME", m.Home)
		}
		b, err := behind(m, tt)
		if tt.Refused != "" {
			assert.ErrorContains(t, err, tt.Refused)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, tt.Plain, b.Plain)
		assert.Len(t, b.Notes, tt.Notes)
		if tt.Plain {
			return
		}
		for _, note := range b.Notes {
			assert.Contains(t, note, "which flame ignores")
			assert.NotContains(t, note, "http://")
		}
		if tt.Upstream != "" {
			assert.Equal(t, tt.Upstream, b.Upstream.String())
		}
		written := ""
		args, vars, err := b.Start("http://gateway", "M=1", func(settings []byte) (string, error) {
			written = string(settings)
			return "FILE", nil
		})
		require.NoError(t, err)
		if tt.Line != nil {
			assert.Equal(t, tt.Line, args)
		}
		if tt.Vars != nil {
			assert.Equal(t, tt.Vars, vars)
		}
		if tt.Settings != nil {
			home, err := json.Marshal(m.Home)
			require.NoError(t, err)
			assert.JSONEq(t, strings.ReplaceAll(string(tt.Settings), "HOME", string(home[1:len(home)-1])), written)
		}
		assert.Contains(t, written, tt.Has)
		for name, value := range tt.Network {
			assert.Equal(t, value, b.Network[name], name)
		}
	})
}
