// Package repository makes repositories of untrusted people, for tests.
package repository

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Write makes files below a folder, with the folders they need.
func Write(t testing.TB, root string, files map[string]string) {
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// Link makes links below a folder, "NAME -> TARGET" each; REPOSITORY in a target is that folder.
func Link(t testing.TB, root string, links ...string) {
	for _, link := range links {
		name, target, _ := strings.Cut(link, " -> ")
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.Symlink(strings.Replace(target, "REPOSITORY", root, 1), path))
	}
}

// Pipe makes a pipe without a writer.
func Pipe(t testing.TB, root, name string) {
	path := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, syscall.Mkfifo(path, 0o644))
}
