package hosts_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
	"flame/tests/clienttest"
)

// apply takes all steps and returns what they said.
func apply(t *testing.T, steps []hosts.SetupStep) []string {
	t.Helper()
	return clienttest.Apply(t)(steps, nil)
}

func TestInstallBinary(t *testing.T) {
	t.Parallel()
	m := hosts.Machine{Home: filepath.Join(t.TempDir(), `it's "home"`)}
	source := filepath.Join(t.TempDir(), "built")
	require.NoError(t, os.WriteFile(source, []byte("one"), 0o755))

	steps, err := m.InstallBinary(source)
	require.NoError(t, err)
	assert.NoDirExists(t, m.Home, "a plan changes nothing")
	assert.Equal(t, []string{"write " + m.Binary()}, apply(t, steps))
	info, err := os.Stat(m.Binary())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())

	again, err := m.InstallBinary(source)
	require.NoError(t, err)
	assert.Empty(t, again, "the same content is not written again")

	fromThere, err := m.InstallBinary(m.Binary())
	require.NoError(t, err)
	assert.Empty(t, fromThere, "it may run from where it is installed")

	running, err := os.Open(m.Binary())
	require.NoError(t, err)
	defer running.Close()
	require.NoError(t, os.WriteFile(source, []byte("two"), 0o755))
	steps, err = m.InstallBinary(source)
	require.NoError(t, err)
	apply(t, steps)
	old := make([]byte, 3)
	_, err = running.Read(old)
	require.NoError(t, err)
	assert.Equal(t, "one", string(old), "a program that runs keeps its file")
	assert.Equal(t, []string{"flame"}, names(t, filepath.Dir(m.Binary())), "no temporary file is left")

	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(source), "flame-hub"), []byte("hub"), 0o755))
	steps, err = m.InstallBinary(source)
	require.NoError(t, err)
	assert.Equal(t, []string{"write " + m.Binary() + "-hub"}, apply(t, steps), "what is beside it comes along")

	apply(t, m.RemoveBinary())
	assert.Empty(t, names(t, filepath.Dir(m.Binary())))
	assert.Empty(t, m.RemoveBinary())
}

func TestApplyStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	full := errors.New("disk is full")
	step := func(says string, err error) hosts.SetupStep {
		return hosts.SetupStep{Description: says, Do: func(context.Context) error { return err }}
	}
	var done []string
	err := hosts.Apply(t.Context(), []hosts.SetupStep{step("write a", nil), step("write b", full), step("write c", nil)},
		func(s hosts.SetupStep) { done = append(done, s.Description) })
	assert.Equal(t, []string{"write a"}, done)
	require.ErrorIs(t, err, full)
	require.ErrorIs(t, err, core.ErrUnavailable)
	assert.ErrorContains(t, err, "could not write b: disk is full")
}

func TestWriteFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "parent", "folder")
	first := map[string][]byte{"a.txt": []byte("a"), "sub/b.txt": []byte("b")}
	apply(t, hosts.WriteFolder(dir, first))
	assert.Equal(t, []string{"a.txt", "sub"}, names(t, dir))
	assert.Empty(t, hosts.WriteFolder(dir, first), "the second call has nothing to do")

	tests := map[string]map[string][]byte{
		"a file changes":   {"a.txt": []byte("A"), "sub/b.txt": []byte("b")},
		"a file goes away": {"a.txt": []byte("a")},
		"a file comes":     {"a.txt": []byte("a"), "sub/b.txt": []byte("b"), "c.txt": nil},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			apply(t, hosts.WriteFolder(dir, first))
			require.NotEmpty(t, hosts.WriteFolder(dir, files))
			apply(t, hosts.WriteFolder(dir, files))
			assert.Empty(t, hosts.WriteFolder(dir, files))
			assert.Equal(t, []string{"folder"}, names(t, filepath.Dir(dir)), "no temporary file is left")
		})
	}
}

func TestRemovingAFileRemovesEmptyFolders(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	file := filepath.Join(top, "host", "plugin", "flame.js")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(top, "host", "theirs"), nil, 0o644))
	apply(t, hosts.Files{}.Remove(file, top))
	assert.Equal(t, []string{"theirs"}, names(t, filepath.Join(top, "host")))
}

func TestFoldersFollowXDG(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ variable, want string }{
		"unset":                              {"", "/home/u/.config"},
		"absolute":                           {"/etc/mine", "/etc/mine"},
		"relative, which XDG says to ignore": {"mine", "/home/u/.config"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := hosts.Machine{Home: "/home/u", Getenv: func(string) string { return tt.variable }}
			assert.Equal(t, tt.want, m.ConfigHome())
		})
	}
}

func TestThisMachineRunsPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, err := hosts.ThisMachine(dir)
	require.NoError(t, err)
	out, err := m.Run(t.Context(), dir, "sh", "-c", "pwd; echo aside >&2")
	require.NoError(t, err)
	assert.Contains(t, out, filepath.Base(dir))
	assert.NotContains(t, out, "aside")
	_, err = m.Run(t.Context(), dir, "sh", "-c", "echo the reason >&2; exit 3")
	assert.ErrorContains(t, err, "the reason")
}

// An agent's start waits for such an answer: it says what the program said, and waits within a limit.
func TestAProgramThatFailsOrHangsIsTold(t *testing.T) {
	t.Parallel()
	for says, run := range map[string]func(context.Context) (string, error){
		"cannot read the answer of codex mcp list": func(context.Context) (string, error) { return "", nil },
		"no server of that name":                   func(context.Context) (string, error) { return "", errors.New("no server of that name") },
		"codex mcp list gave no answer within 20 s": func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := hosts.Machine{Run: func(ctx context.Context, _, _ string, _ ...string) (string, error) { return run(ctx) }}
				err := hosts.Program{Machine: m, Name: "codex", Path: "codex"}.RunJSON(t.Context(), new(any), "mcp", "list")
				assert.ErrorIs(t, err, core.ErrUnavailable)
				assert.ErrorContains(t, err, says)
			})
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
