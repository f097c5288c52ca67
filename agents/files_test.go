package agents_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/plan"
	"flame/core"
	"flame/project/files"
)

func TestChangesAreKeptWithTheAgentsFrame(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{
		"claude-code": `{"type":"user","session_id":"s1","timestamp":"2026-11-22T17:45:12.964Z","message":{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"c1","content":"ok"}]},"tool_use_result":{"filePath":"DIR/a.go","oldString":"a","newString":"b",` +
			`"originalFile":"a\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}}`,
		"opencode": `{"type":"tool_use","timestamp":1795168760000,"sessionID":"ses_1","part":{"type":"tool","tool":"edit","callID":"c1",` +
			`"state":{"status":"completed","input":{"filePath":"DIR/a.go","oldString":"a","newString":"b"},"output":"ok",` +
			`"metadata":{"diff":"--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b\n"}},"id":"prt_1","sessionID":"ses_1","messageID":"msg_1"}}`,
	}
	for host, line := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.Host = host
			line = strings.ReplaceAll(line, "DIR", s.Dir) + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "log"), []byte(line+line+lastLine[host]+"\n"), 0o600))
			run := s.over(s.spawn("cat log").ID, core.AgentCompleted, core.Completed)
			l, err := agents.FilesOf(s.ctx, s.Agents, user, run.Frame)
			require.NoError(t, err)
			for i := range l.Files {
				l.Files[i].Path = filepath.Base(l.Files[i].Path)
			}
			assert.Equal(t, files.List{Files: []files.File{{
				Path: "a.go", Kind: core.FileModified, Added: 1, Removed: 1, Changes: 1, Patch: "@@ -1,1 +1,1 @@\n-a\n+b\n",
			}}}, l)
		})
	}
}

func TestAWorktreesChangesAreListedByFile(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	run := s.request(user, plan.Request{Type: "builder", Prompt: "write new.txt; write old.txt; done", Cwd: "sub", Isolation: "worktree"})
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	l, err := agents.FilesOf(s.ctx, s.Agents, user, run.Frame)
	require.NoError(t, err)
	require.Len(t, l.Files, 2)
	assert.Equal(t, files.File{Path: "sub/old.txt", Kind: core.FileModified, Added: 1, Removed: 1, Changes: 1, Patch: l.Files[1].Patch}, l.Files[1])
	assert.Equal(t, core.FileAdded, l.Files[0].Kind)
	assert.Contains(t, l.Files[1].Patch, "-old\n+written")

	patch := filepath.Join(s.Folder(run.ID), changes.PatchFile)
	require.NoError(t, os.Rename(patch, patch+"2"))
	l, err = agents.FilesOf(s.ctx, s.Agents, user, run.Frame)
	require.NoError(t, err)
	assert.Empty(t, l.Files, "without the patch, the list has what its host reported")
	require.NoError(t, os.Symlink(patch+"2", patch))
	l, err = agents.FilesOf(s.ctx, s.Agents, user, run.Frame)
	require.NoError(t, err)
	assert.Contains(t, l.Trouble, "cannot be read", "no link is followed")
}

func TestAPatchIsSplitByFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "core.autocrlf=false"}, args...)...)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	git("init", "-q")
	write("sp ace b", "a\n-- b\n")
	write("q\"uo\tte", "x")
	write("bin", "\x00\x01")
	write("ü", "1\n")
	git("add", "-A")
	git("commit", "-qm", "one")
	write("sp ace b", "a\n")
	require.NoError(t, os.Remove(filepath.Join(dir, "q\"uo\tte")))
	write("bin", "\x00\x02")
	write("ü", "2\n")
	write("new", "diff --git a/x b/x\n")
	git("add", "-N", ".")
	patch := git("diff", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "--binary", "HEAD", "--")
	var told []string
	for _, c := range changes.Split(patch, false) {
		told = append(told, fmt.Sprint(c.Path, " ", c.Kind, " +", c.Added, " -", c.Removed))
	}
	assert.ElementsMatch(t, []string{
		"sp ace b modified +0 -1", "q\"uo\tte deleted +0 -1", "bin modified +0 -0", "ü modified +1 -1", "new added +1 -0",
	}, told)
	for cut := range len(patch) { // whatever is left of it
		for _, c := range changes.Split(patch[:cut], true) {
			assert.NotEmpty(t, c.Path)
		}
	}
	for _, odd := range []string{"", "diff --git ", "diff --git \n", "diff --git a b\n", "diff --git \"a/\\9\" \"b/\\9\"\n@@ ", "\x00\xff", "@@ -1 +1 @@\n+a\n"} {
		assert.NotPanics(t, func() { changes.Split(odd, true) }, odd)
	}
}
