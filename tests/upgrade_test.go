package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/cli/app"
	"flame/tests/effort"
)

// firstInPlace is the first commit whose data lies where it does today.
const firstInPlace = "160aad3"

// oldFlame builds the program of a commit of this repository.
func oldFlame(t *testing.T, commit string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "old")
	if err := exec.Command("git", "-C", "..", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skip("this clone lacks the commit " + commit)
	}
	for _, args := range [][]string{{"clone", "--quiet", "--shared", "--no-checkout", "..", dir}, {"-C", dir, "checkout", "--quiet", "--detach", commit}} {
		said, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(t, err, string(said))
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "flame"), ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath") // what the others compiled
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	return filepath.Join(dir, "flame")
}

// install replaces the program of setup as setup does: whole, by a rename. Another process writes
// it: one that this process starts meanwhile could hold the file open, which then is busy.
func (u *user) install(program string) {
	u.flame = filepath.Join(u.home, ".local/bin/flame")
	require.NoError(u.t, os.MkdirAll(filepath.Dir(u.flame), 0o755))
	require.NoError(u.t, exec.Command("cp", program, u.flame+".next").Run())
	require.NoError(u.t, os.Rename(u.flame+".next", u.flame))
}

// session starts a server of the installed flame, as a host does; push starts a frame in it.
func (u *user) session() (push func(goal string)) {
	ctx, stop := context.WithCancel(u.t.Context())
	server, err := app.StartServer(ctx, u.flame, []string{"HOME=" + u.home, "FLAME_PROJECT_DIR=" + u.project}, "test")
	require.NoError(u.t, err)
	u.t.Cleanup(func() { stop(); _ = server.Close() })
	return func(goal string) { pushIn(ctx, u.t, server, goal) }
}

func pushIn(ctx context.Context, t *testing.T, server *client.Client, goal string) {
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Arguments = "flame_push", map[string]any{"goal": goal}
	answer, err := server.CallTool(ctx, call)
	require.NoError(t, err, goal)
	require.False(t, answer.IsError, "%s: %v", goal, answer.Content)
}

// TestUpgradeUnderRunningSessionsAndBack goes from the oldest flame whose data this one takes over
// to this one and back, while sessions of both run. The older one refuses the data then, but what
// already runs goes on.
func TestUpgradeUnderRunningSessionsAndBack(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	u := newUser(t)
	current, old := u.flame, oldFlame(t, firstInPlace)
	everything := func(goals ...string) {
		tree := u.must(u.flame, "tree")
		for _, goal := range goals {
			assert.Contains(t, tree, goal)
		}
	}

	u.install(old)
	inOld := u.session()
	inOld("by the old one")
	u.must(u.flame, "push", "by an old command")

	u.install(current)
	inNew := u.session()
	inNew("by the new one")
	inOld("by the old one, after the upgrade")
	u.must(u.flame, "push", "by a new command")
	everything("by the old one", "by an old command", "by the new one", "by the old one, after the upgrade", "by a new command")
	assert.NotContains(t, u.must(u.flame, "doctor"), "damaged")

	u.install(old)
	_, stderr, err := u.run(u.flame, "push", "by the old one again")
	require.Error(t, err)
	assert.Contains(t, stderr, "written by a newer flame")
	inNew("by the new one, after the return")
	inOld("by the old one, after the return")
	u.install(current)
	everything("by the old one", "by the new one", "by a new command", "by the new one, after the return", "by the old one, after the return")
}
