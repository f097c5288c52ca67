package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/guard"
)

func TestATokenIsMadeOnceAndOnlyItsOwnerReadsIt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "http-token")
	token, err := guard.LoadToken(path)
	require.NoError(t, err)
	assert.Regexp(t, `^[A-Za-z0-9_-]{43}$`, token, "32 bytes")
	again, err := guard.LoadToken(path)
	require.NoError(t, err)
	assert.Equal(t, token, again)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	assert.Equal(t, []string{"http-token"}, names(t, dir))
	other, err := guard.LoadToken(filepath.Join(dir, "other"))
	require.NoError(t, err)
	assert.NotEqual(t, token, other)
}

func names(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestServersThatStartTogetherUseTheSameToken(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		tokens := make([]string, 16)
		begin := make(chan struct{})
		var servers sync.WaitGroup
		for i := range tokens {
			servers.Go(func() {
				<-begin
				var err error
				tokens[i], err = guard.LoadToken(filepath.Join(dir, "http-token"))
				assert.NoError(t, err)
			})
		}
		close(begin)
		servers.Wait()
		for _, token := range tokens {
			assert.Equal(t, tokens[0], token)
		}
		assert.NotEmpty(t, tokens[0])
		assert.Equal(t, []string{"http-token"}, names(t, dir))
	}
}

func TestATokenMayComeFromAPerson(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http-token")
	require.NoError(t, os.WriteFile(path, []byte("  a-token-of-my-own\n"), 0o600))
	token, err := guard.LoadToken(path)
	require.NoError(t, err)
	assert.Equal(t, "a-token-of-my-own", token)
}

func TestATokenThatOthersMayKnowIsRefused(t *testing.T) {
	const token = "0123456789abcdef"
	// written makes the file as its owner would, and then changes it.
	written := func(content string, change func(path string) error) func(path string) error {
		return func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(content), 0o600), change(path))
		}
	}
	mode := func(mode os.FileMode) func(string) error {
		return written(token, func(path string) error { return os.Chmod(path, mode) })
	}
	kept := func(string) error { return nil }
	for name, tt := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"a link to a good one": {func(path string) error {
			return errors.Join(written(token, kept)(path+"2"), os.Symlink(path+"2", path))
		}, "is a symbolic link"},
		"a link to nothing":       {func(path string) error { return os.Symlink(path+"2", path) }, "is a symbolic link"},
		"a folder":                {func(path string) error { return os.Mkdir(path, 0o700) }, "is a folder; flame wants a file"},
		"a named pipe":            {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "is a pipe; flame wants a file"},
		"readable by the group":   {mode(0o640), "others may read"},
		"readable by all":         {mode(0o604), "others may read"},
		"writable by the group":   {mode(0o620), "others may write"},
		"writable by all":         {mode(0o602), "others may write"},
		"of another owner":        {written(token, func(path string) error { return os.Chown(path, 65534, -1) }), "belongs to another user"},
		"an empty one":            {written("", kept), "is empty"},
		"a blank one":             {written(" \n ", kept), "is empty"},
		"a short one":             {written("hunter2", kept), "has fewer than 16 characters"},
		"two in one file":         {written(token+"\n"+token, kept), "has blanks"},
		"one that is a long file": {written(strings.Repeat(token, 65), kept), "has more than 1 KB"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "owner") && os.Getuid() != 0 {
				t.Skip("only root can give a file away")
			}
			path := filepath.Join(t.TempDir(), "http-token")
			require.NoError(t, tt.put(path))
			before, err := os.Lstat(path)
			require.NoError(t, err)
			_, err = guard.LoadToken(path)
			assert.ErrorContains(t, err, path)
			assert.ErrorContains(t, err, tt.says)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.NotEmpty(t, problem.Hint)
			assert.NotContains(t, problem.Message+problem.Hint, "hunter2")
			after, err := os.Lstat(path)
			require.NoError(t, err)
			assert.Equal(t, before.ModTime(), after.ModTime(), "flame does not change it")
			assert.Equal(t, before.Mode(), after.Mode())
		})
	}
}

func TestATokenThatCannotBeStoredIsAProblem(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "http-token")
	_, err := guard.LoadToken(missing)
	var problem *core.Problem
	require.ErrorAs(t, err, &problem)
	assert.NotEmpty(t, problem.Hint)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
