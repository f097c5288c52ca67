package definition_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"flame/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write makes files below a folder, with the folders they need.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// A repository is one that somebody else wrote, with files of the user's beside it.
type repository struct {
	t   *testing.T
	dir string
}

// link lays links, "NAME -> TARGET" each.
func (r repository) link(links ...string) {
	r.t.Helper()
	for _, link := range links {
		name, target, _ := strings.Cut(link, " -> ")
		path := filepath.Join(r.dir, name)
		require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(r.t, os.Symlink(strings.Replace(target, "REPOSITORY", r.dir, 1), path))
	}
}

// pipe lays a pipe that nobody writes to.
func (r repository) pipe(name string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, syscall.Mkfifo(path, 0o644))
}

// problem checks an error that a user or model can act on, and returns its text with
// the hint.
func problem(t *testing.T, err error, kind error) string {
	t.Helper()
	require.ErrorIs(t, err, kind)
	var p *core.Problem
	require.ErrorAs(t, err, &p)
	assert.NotEmpty(t, p.Hint, "no advice: %v", err)
	return p.Error() + " " + p.Hint
}
