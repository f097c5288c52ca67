package place

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func text(content string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, content)
		return err
	}
}

func read(t *testing.T, path string) string {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func TestWriteIsAtomic(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, WriteAtomic(file, 0o600, text("first")))
	broken := errors.New("broken")
	assert.ErrorIs(t, WriteAtomic(file, 0o600, func(to io.Writer) error { return errors.Join(text("half")(to), broken) }), broken)
	assert.Equal(t, "first", read(t, file))
	require.NoError(t, WriteAtomic(file, 0o644, text("second")))
	assert.Equal(t, "second", read(t, file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no other file is left")
	assert.ErrorContains(t, WriteAtomic(filepath.Join(dir, "none", "file"), 0o600, text("")), "does not exist")
}

func TestSaveFollowsALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, Save(link, 0o600, text("saved")))
	assert.Equal(t, "saved", read(t, target))
	require.NoError(t, WriteAtomic(link, 0o600, text("written")))
	assert.Equal(t, "saved", read(t, target))
	assert.Equal(t, "written", read(t, link))
}

func TestWriteReplacesNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	assert.ErrorContains(t, WriteAtomic(pipe, 0o600, text("x")), "is not a regular file")
	got := make(chan string)
	go func() {
		content, _ := os.ReadFile(pipe)
		got <- string(content)
	}()
	require.NoError(t, Save(pipe, 0o600, text("through")))
	assert.Equal(t, "through", <-got)
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeNamedPipe)
}
