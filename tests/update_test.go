package tests

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	replacing "flame/cli/update"
	"flame/tests/effort"
)

// fakeRelease writes a folder with a release, whose program prints its version and nothing else.
func fakeRelease(t *testing.T, version string) string {
	t.Helper()
	dir, name := t.TempDir(), replacing.Archive(version, runtime.GOOS, runtime.GOARCH)
	program := "#!/bin/sh\necho '{\"version\": \"v" + version + "\"}'\n"
	var packed bytes.Buffer
	pressed := gzip.NewWriter(&packed)
	files := tar.NewWriter(pressed)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: strings.TrimSuffix(name, ".tar.gz") + "/flame", Mode: 0o755, Size: int64(len(program))}))
	_, err := files.Write([]byte(program))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, pressed.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), packed.Bytes(), 0o644))
	list := fmt.Sprintf("%x  %s\n", sha256.Sum256(packed.Bytes()), name)
	require.NoError(t, os.WriteFile(filepath.Join(dir, replacing.Sums), []byte(list), 0o644))
	return dir
}

// updatable puts flame at the place of setup's, in a home of its own.
func updatable(t *testing.T) *user {
	t.Helper()
	u := newUser(t)
	u.install(u.flame)
	return u
}

func TestUpdateUnderARunningServer(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	u, from := updatable(t), fakeRelease(t, "9.0.0")
	assert.Contains(t, u.must(u.flame, "update", "--check", "--from", from), "version 9.0.0 is there")
	var said struct {
		Offered string
		Updated bool
	}
	require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "update", "--check", "--json", "--from", from)), &said))
	assert.Equal(t, "9.0.0", said.Offered)
	assert.False(t, said.Updated)

	push := u.session()
	assert.Contains(t, u.must(u.flame, "update", "--from", from), "is now version 9.0.0")
	push("after the update")
	assert.Equal(t, "{\"version\": \"v9.0.0\"}\n", u.must(u.flame))
	u.flame += ".previous"
	assert.Contains(t, u.must(u.flame, "tree"), "after the update")
	stdout, _, _ := u.run(u.flame, "doctor")
	assert.Contains(t, stdout, "which is version 9.0.0", "hosts start another flame than this one")
}

func TestUpdateInAFolderThatIsNotTheUsers(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	u, from := updatable(t), fakeRelease(t, "9.0.0")
	dir := filepath.Dir(u.flame)
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	u.unprivileged()
	for path := from; path != filepath.Clean(os.TempDir()); path = filepath.Dir(path) {
		require.NoError(t, os.Chmod(path, 0o755))
	}
	_, stderr, err := u.run(u.flame, "update", "--from", from)
	require.Error(t, err)
	assert.Contains(t, stderr, "permission denied")
	assert.Contains(t, stderr, "hint: nothing was changed")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// A limit on the size of files fails a write as a full disk does: in its middle.
func TestUpdateOnAFullDisk(t *testing.T) {
	t.Parallel()
	u, from := updatable(t), fakeRelease(t, "9.0.0")
	before, err := os.Stat(u.flame)
	require.NoError(t, err)
	cmd := u.command(t.Context(), "/bin/sh", "-c", `trap '' XFSZ; ulimit -f 1000; exec "$0" update --from "$1"`, u.flame, from)
	said, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(said), syscall.EFBIG.Error(), "the copy of the current program does not fit")
	after, err := os.Stat(u.flame)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	entries, err := os.ReadDir(filepath.Dir(u.flame))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left")
}

func TestUpdateWithoutAnAddressSaysSo(t *testing.T) {
	t.Parallel()
	u := updatable(t)
	_, stderr, err := u.run(u.flame, "update")
	require.Error(t, err)
	assert.Contains(t, stderr, "no public address")
	assert.Contains(t, stderr, "flame update --from PLACE")
}
