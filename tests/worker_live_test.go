package tests

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// begins starts a command that goes on until the test ends, and returns the first match of
// what it says on stderr.
func (u *user) begins(says *regexp.Regexp, args ...string) (found []string) {
	u.t.Helper()
	cmd := u.command(u.t.Context(), u.flame, args...)
	said, err := cmd.StderrPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Start())
	u.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be over
		_ = cmd.Wait()
	})
	var all []string
	for lines := bufio.NewScanner(said); found == nil && lines.Scan(); {
		all = append(all, lines.Text())
		found = says.FindStringSubmatch(lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // until it is over
	require.NotNil(u.t, found, strings.Join(all, "\n"))
	return found
}

// joinedUsers returns two users whose projects are clones of one repository with these
// files, and have joined the hub of the first.
func joinedUsers(t *testing.T, files map[string]string) (desk, box *user) {
	t.Helper()
	server := filepath.Dir(natsServer(t))
	desk, box = newUser(t, claudeCode), newUser(t, claudeCode)
	box.model.Close()
	box.model = desk.model
	for name, text := range files {
		desk.write(name, text)
	}
	git := func(args ...string) {
		out, err := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("-C", desk.project, "add", "-A")
	git("-C", desk.project, "commit", "-q", "-m", "one")
	require.NoError(t, os.RemoveAll(box.project))
	git("clone", "-q", desk.project, box.project)
	for _, u := range []*user{desk, box} {
		u.path = server + ":" + u.path
		u.must(u.flame, "setup", claudeCode)
	}
	desk.begins(listensOn, "hub", "--temporary", "--listen", "127.0.0.1:0")
	desk.must(desk.flame, "join")
	found := joinLine.FindStringSubmatch(desk.must(desk.flame, "hub", "invite"))
	require.NotNil(t, found)
	box.must(box.flame, "join", found[1])
	return desk, box
}

func TestASessionHasAgentsWorkOnAnotherMachine(t *testing.T) {
	t.Parallel()
	sprung := filepath.Join(t.TempDir(), "sprung")
	hook := fmt.Sprintf(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch '%s'"}]}]}}`, sprung)
	desk, box := joinedUsers(t, map[string]string{".claude/settings.json": hook})
	script := model.Script{}
	var spawned []model.Tool
	for _, n := range []string{"ONE", "TWO", "THREE"} {
		script = append(script, asked(n, n+"WORK",
			calls("flame_add_decision", map[string]any{"decision": n + " decides"}),
			calls("Write", map[string]any{"file_path": n + ".txt", "content": n}),
			model.Turn{Text: n + "-RESULT"}))
		spawned = append(spawned, spawns("builder", "do "+n, n+"WORK go", map[string]any{"on": "gpu"}))
	}
	turns := append([]model.Turn{{Tools: spawned}}, waitsForAll(3)...)
	desk.model.Play(append(script, asked("main", "MAINWORK", append(turns, model.Turn{Text: "MAIN-RESULT"})...)))
	box.begins(regexp.MustCompile("serving queue gpu"), "worker", "--queue", "gpu", "--slots", "3")
	allowed := spawnRule + ",mcp__plugin_flame_flame__flame_agent_wait"
	desk.must("claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", allowed, "--", "MAINWORK please")
	t.Log(desk.must(desk.flame, "tree"), desk.must(desk.flame, "agents", "runs"), box.must(box.flame, "agents", "runs"))
	main := desk.model.By("main")
	all := main[len(main)-1].Everything()
	for _, n := range []string{"ONE", "TWO", "THREE"} {
		assert.Contains(t, all, n+"-RESULT")
		assert.Contains(t, all, n+" decides", "its decisions come with the tree")
		assert.Equal(t, "completed", desk.frame("do "+n).Status)
		require.Eventually(t, func() bool {
			tree, _, err := box.run(box.flame, "tree")
			return err == nil && strings.Contains(tree, "✓ do "+n)
		}, hubPatience, 100*time.Millisecond, "the other's tree shows the same")
	}
	patches, err := filepath.Glob(filepath.Join(desk.data(), "agents", "*", "changes.patch"))
	require.NoError(t, err)
	assert.Len(t, patches, 3)
	_ = os.Remove(sprung) // the desk's own session runs the project's hooks, which its user trusts
	again := desk.must(desk.flame, "agents", "spawn", "builder", "ONEWORK once more", "--on", "gpu", "--wait")
	assert.Contains(t, again, "ONE-RESULT")
	assert.NoFileExists(t, sprung, "a repository of another machine runs nothing of its own")
}
