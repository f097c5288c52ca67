package hosts_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts"
)

// secret stands in what lies outside of a project.
const secret = "S3CRET"

// outsideOf makes a machine whose project lies beside a folder that is not its own.
func outsideOf(t *testing.T) (m hosts.Machine, outside string) {
	t.Helper()
	top := t.TempDir()
	m = hosts.Machine{Home: filepath.Join(top, "home"), ProjectDir: filepath.Join(top, "home", "project")}
	outside = filepath.Join(top, "home", "outside")
	for _, dir := range []string{m.ProjectDir, filepath.Join(outside, "plugin")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{"opencode.json", "plugin/flame.js"} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(secret), 0o644))
	}
	return m, outside
}

func TestFilesOfAProjectAreItsOwn(t *testing.T) {
	t.Parallel()
	m, outside := outsideOf(t)
	require.NoError(t, os.Symlink(outside, filepath.Join(m.ProjectDir, ".opencode")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(m.ProjectDir, "zero.json")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(m.ProjectDir, "pipe.json"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(m.ProjectDir, "large.json"), make([]byte, 4<<20+1), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(m.ProjectDir, "folder.json"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(m.ProjectDir, "plain.json"), []byte("{}"), 0o644))
	files := m.Files(hosts.ScopeProject)
	tests := map[string]string{
		".opencode/opencode.json":   "leads out of the project",
		".opencode/plugin/flame.js": "leads out of the project",
		".opencode/none":            "leads out of the project",
		"zero.json":                 "leads out of the project",
		"pipe.json":                 "is not a regular file",
		"folder.json":               "is not a regular file",
		"large.json":                "is larger than 4096 KB",
	}
	for name, says := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(m.ProjectDir, name)
			content, err := files.Read(path)
			assert.Empty(t, content)
			refused(t, err, path+" "+says)
			refused(t, files.Check(path), path+" "+says)
		})
	}
	for _, name := range []string{"plain.json", "none", "plain.json/none"} {
		assert.NoError(t, files.Check(filepath.Join(m.ProjectDir, name)), name)
	}
	content, err := files.Read(filepath.Join(m.ProjectDir, "plain.json"))
	require.NoError(t, err)
	assert.Equal(t, "{}", string(content))
}

// refused checks advice that says this.
func refused(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, core.ErrInvalid)
	require.EqualError(t, err, says)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.NotEmpty(t, problem.Hint)
	assert.NotContains(t, err.Error()+problem.Hint, secret)
}

func TestNothingIsWrittenOrDeletedOutsideOfAProject(t *testing.T) {
	t.Parallel()
	for _, link := range []string{".opencode", ".opencode/plugin"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			m, outside := outsideOf(t)
			files := m.Files(hosts.ScopeProject)
			target := map[string]string{".opencode": outside, ".opencode/plugin": filepath.Join(outside, "plugin")}[link]
			file := filepath.Join(m.ProjectDir, ".opencode", "plugin", "flame.js")
			planned, err := files.Write(file, []byte("new"), 0o644)
			require.NoError(t, err)
			deletion := files.Remove(filepath.Join(target, "flame.js"), outside)
			if link == ".opencode" {
				deletion = files.Remove(filepath.Join(outside, "plugin", "flame.js"), outside)
			}

			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(m.ProjectDir, link)), 0o755))
			require.NoError(t, os.Symlink(target, filepath.Join(m.ProjectDir, link)))
			_, err = files.Write(file, []byte("new"), 0o644)
			refused(t, err, file+" leads out of the project")
			for _, step := range append(append(planned, deletion...), files.Remove(file, m.ProjectDir)...) {
				assert.ErrorIs(t, step.Do(t.Context()), core.ErrInvalid, "a link that appeared after the plan")
			}
			assert.Equal(t, []string{"opencode.json", "plugin"}, names(t, outside))
			content, err := os.ReadFile(filepath.Join(outside, "plugin", "flame.js"))
			require.NoError(t, err)
			assert.Equal(t, secret, string(content))
			assert.Equal(t, []string{"flame.js"}, names(t, filepath.Join(outside, "plugin")))
		})
	}
}

func TestLinksInsideOfAProjectAreFollowed(t *testing.T) {
	t.Parallel()
	m, _ := outsideOf(t)
	require.NoError(t, os.MkdirAll(filepath.Join(m.ProjectDir, "config"), 0o755))
	require.NoError(t, os.Symlink("config", filepath.Join(m.ProjectDir, ".opencode")))
	files := m.Files(hosts.ScopeProject)
	file := filepath.Join(m.ProjectDir, ".opencode", "plugin", "flame.js")
	steps, err := files.Write(file, []byte("new"), 0o644)
	require.NoError(t, err)
	assert.Equal(t, []string{"write " + file}, apply(t, steps))
	assert.FileExists(t, filepath.Join(m.ProjectDir, "config", "plugin", "flame.js"))
	again, err := files.Write(file, []byte("new"), 0o644)
	require.NoError(t, err)
	assert.Empty(t, again)
	other, err := files.Write(file, []byte("NEW"), 0o644)
	require.NoError(t, err)
	assert.NotEmpty(t, other)
	apply(t, files.Remove(file, m.ProjectDir))
	assert.NoDirExists(t, filepath.Join(m.ProjectDir, "config", "plugin"))
	info, err := os.Lstat(filepath.Join(m.ProjectDir, ".opencode"))
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type(), "the link is not ours")
}

func TestLinksOfTheUsersOwnAreFollowed(t *testing.T) {
	t.Parallel()
	m, outside := outsideOf(t)
	config := filepath.Join(m.Home, ".config", "opencode")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o755))
	require.NoError(t, os.Symlink(outside, config))
	files := m.Files(hosts.ScopeUser)
	content, err := files.Read(filepath.Join(config, "opencode.json"))
	require.NoError(t, err)
	assert.Equal(t, secret, string(content))
	file := filepath.Join(config, "mine", "flame.js")
	steps, err := files.Write(file, []byte("new"), 0o644)
	require.NoError(t, err)
	apply(t, steps)
	assert.FileExists(t, filepath.Join(outside, "mine", "flame.js"))
	require.NoError(t, os.RemoveAll(filepath.Join(outside, "opencode.json")))
	require.NoError(t, os.RemoveAll(filepath.Join(outside, "plugin")))
	apply(t, files.Remove(file, filepath.Dir(config)))
	assert.Empty(t, names(t, outside))
	info, err := os.Lstat(config)
	require.NoError(t, err, "a link to an empty folder stays: it is the user's")
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
	require.NoError(t, syscall.Mkfifo(filepath.Join(outside, "pipe.json"), 0o644))
	_, err = files.Read(filepath.Join(config, "pipe.json"))
	assert.ErrorContains(t, err, "is not a regular file")
}

// Who works in the home folder has no project but what is their own.
func TestAProjectThatHoldsTheHomeFolderIsTheUsersOwn(t *testing.T) {
	t.Parallel()
	m, outside := outsideOf(t)
	for _, project := range []string{m.Home, filepath.Dir(m.Home), "/"} {
		m.ProjectDir = project
		link := filepath.Join(m.Home, "link")
		_ = os.Remove(link)
		require.NoError(t, os.Symlink(filepath.Join(outside, "opencode.json"), link))
		_, err := m.Files(hosts.ScopeProject).Read(link)
		assert.NoError(t, err, project)
	}
}
