package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// changing matches parts that differ between runs: current times, new ids, and durations.
var changing = regexp.MustCompile(`20[2-9]\d-\d\d-\d\d[ T][\d:]+(Z| UTC)?|plan-[a-z0-9]{8}|\b[\d.]+h\b`)

// TestCommandsSayWhichMachineAFrameBelongsTo shows a tree with a laptop's frames after the project
// has left its hub.
func TestCommandsSayWhichMachineAFrameBelongsTo(t *testing.T) {
	t.Parallel()
	b := newBounded(t)
	at := core.Millis(1_000_000_000_000) // long ago
	b.save([]core.Frame{
		{ID: "frame-ship0001", Status: core.InProgress, Goal: "Ship the shop", Session: "session", CreatedAt: at, StartedAt: at, UpdatedAt: at},
		{ID: "frame-form0001", Parent: "frame-ship0001", Machine: "laptop-x7k2", Status: core.InProgress, Goal: "Form", Session: "theirs",
			CreatedAt: at + 1, StartedAt: at + 1, UpdatedAt: at + 1},
		{ID: "frame-hash0001", Parent: "frame-ship0001", Machine: "laptop-x7k2", Status: core.Completed, Goal: "Hash", Summary: "argon2id",
			Session: "theirs", CreatedAt: at + 2, StartedAt: at + 2, EndedAt: at + 3, UpdatedAt: at + 3},
		{ID: "frame-mine0001", Parent: "frame-ship0001", Status: core.InProgress, Goal: "Cookie", Session: "session",
			CreatedAt: at + 4, StartedAt: at + 4, UpdatedAt: at + 4},
	})
	var text strings.Builder
	for _, line := range []string{
		"tree", "tree --json", "status", "show frame-hash0001", "show --json frame-hash0001", "context", "search argon2id", "search --json argon2id",
		"report --format md", "call flame_get_state", "log frame-hash0001", "pop --frame frame-form0001 completed",
		"goal --frame frame-hash0001 Another", "artifact --frame frame-form0001 a.go", "decision --frame frame-form0001 simple",
		"plan --frame frame-form0001 Labels", "activate frame-form0001", "artifact --frame frame-form0001 a.go",
		"invalidate frame-form0001 unused", "prune --delete", "events",
	} {
		cmd := b.command(t.Context(), strings.Fields(line)...)
		cmd.Env = append(cmd.Env, "TZ=UTC")
		said, err := cmd.CombinedOutput() // the test prints the status below
		text.WriteString("$ flame " + line + "\n" + string(said))
		if err != nil {
			text.WriteString(err.Error() + "\n")
		}
	}
	shown := changing.ReplaceAllString(text.String(), "*")
	file := filepath.Join("testdata", "machines.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), shown)
}
