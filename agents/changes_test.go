package agents_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/agents/converge"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/tests/cases"
)

// repository makes the folder that agents work in a git repository with one file
// in a folder of its own.
func (s *service) repository() {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Join(s.Dir, "sub"), 0o700))
	require.NoError(s.t, os.WriteFile(filepath.Join(s.Dir, "sub", "old.txt"), []byte("old\n"), 0o600))
	require.NoError(s.t, os.WriteFile(filepath.Join(s.Dir, ".gitignore"), []byte(".data\n"), 0o600))
	s.git("init", "-q")
	s.git("add", ".")
	s.commit("one")
}

// commit commits what the index holds.
func (s *service) commit(message string) {
	s.t.Helper()
	s.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", message)
}

func (s *service) git(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", s.Dir}, args...)...).CombinedOutput()
	require.NoError(s.t, err, string(out))
	return string(out)
}

func TestAnAgentWithAWorktreeOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	run := s.request(user, plan.Request{Type: "builder", Prompt: "write new.txt; write old.txt; remove ../.gitignore; done", Cwd: "sub", Isolation: "worktree"})
	assert.NotEmpty(t, run.Base)
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	require.Equal(t, []string{".gitignore", "sub/new.txt", "sub/old.txt"}, changes.Paths(run.Changes))
	gone, made, changed := run.Changes[0], run.Changes[1], run.Changes[2]
	assert.True(t, gone.Deleted)
	assert.Empty(t, gone.Hash)
	assert.False(t, made.Existed)
	assert.True(t, changed.Existed)
	assert.Contains(t, changed.Excerpt, "-old\n+written")
	assert.Equal(t, made.Hash, changed.Hash, "both files have the same content")
	patch, err := os.ReadFile(filepath.Join(s.Folder(run.ID), changes.PatchFile))
	require.NoError(t, err)
	assert.Contains(t, string(patch), "new.txt")
	assert.FileExists(t, filepath.Join(run.Worktree, "sub", "new.txt"), "the work is kept")
	assert.NoFileExists(t, filepath.Join(s.Dir, "sub", "new.txt"))
	assert.Empty(t, s.git("status", "--porcelain"), "the user's own folder is as it was")
	_, dir, err := s.ResumeCommand(s.ctx, run.ID)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(run.Worktree, "sub"), dir, "its session continues in the same folder")
	s.git("apply", "--check", filepath.Join(s.Folder(run.ID), changes.PatchFile))
}

func TestChangesThatCannotBeReadAreNoLackOfChanges(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	var ids []string
	for prompt, lacks := range map[string]string{"write new.txt; remove .git; done": "its .git is gone", "write new.txt; done": ""} {
		run := s.request(user, plan.Request{Type: "builder", Prompt: prompt, Isolation: "worktree"})
		run = s.over(run.ID, core.AgentCompleted, core.Completed)
		ids = append(ids, run.ID)
		if lacks == "" {
			assert.Empty(t, run.Unread)
			continue
		}
		assert.Contains(t, run.Unread, lacks)
		assert.Contains(t, run.Unread, run.Worktree)
		pruned, err := s.Prune(s.ctx, run.EndedAt+1, false)
		require.NoError(t, err)
		assert.Contains(t, pruned.Kept, run.Worktree)
		assert.FileExists(t, filepath.Join(run.Worktree, "new.txt"))
	}
	r, err := s.Converge(s.ctx, user, ids, converge.Options{Strategy: converge.StrategyMerge})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Result.NotCompared, "; "), "which could not be read")
}

func TestAWorktreeWithoutChangesIsRemoved(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	definition := json.RawMessage(`{"name":"apart","description":"d","prompt":"p","isolation":"worktree"}`)
	run := s.over(s.request(user, plan.Request{Inline: definition, Prompt: "say x; done"}).ID, core.AgentCompleted, core.Completed)
	assert.NotEmpty(t, run.Worktree)
	assert.NoDirExists(t, run.Worktree)
	assert.Empty(t, run.Changes)
	assert.Equal(t, 1, strings.Count(s.git("worktree", "list"), "\n"))
	none := s.over(s.request(user, plan.Request{Inline: definition, Prompt: "done", Isolation: "none"}).ID, core.AgentCompleted, core.Completed)
	assert.Empty(t, none.Worktree, "the call decides")
}

func TestAWorktreeWithWorkInASubmoduleIsKept(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	s.git("update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(s.git("rev-parse", "HEAD"))+",sub/mod")
	s.commit("a submodule")
	asked := plan.Request{Type: "builder", Prompt: "write sub/mod/new.txt; done", Isolation: definition.Worktree}
	run := s.over(s.request(user, asked).ID, core.AgentCompleted, core.Completed)
	assert.FileExists(t, filepath.Join(run.Worktree, "sub", "mod", "new.txt"), "git does not list it")
}

// A repository that came with its .git folder has git run what it likes.
func TestAnAgentsWorktreeRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	mark, trap := filepath.Join(t.TempDir(), "sprung"), filepath.Join(t.TempDir(), "trap")
	require.NoError(t, os.WriteFile(trap, []byte("#!/bin/sh\necho \"$*\" >>"+mark+"\ncat\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, ".git", "info", "attributes"), []byte("*.txt filter=x diff=x\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(s.Dir, ".git", "hooks"), 0o700))
	require.NoError(t, os.Symlink(trap, filepath.Join(s.Dir, ".git", "hooks", "post-checkout")))
	for _, key := range []string{"core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.command", "diff.x.textconv"} {
		s.git("config", key, trap)
	}
	s.git("worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "control"))
	require.FileExists(t, mark, "the trap is broken")
	require.NoError(t, os.Remove(mark))

	asked := plan.Request{Type: "builder", Prompt: "write sub/old.txt; write new.txt; done", Isolation: definition.Worktree}
	run := s.over(s.request(user, asked).ID, core.AgentCompleted, core.Completed)
	require.Len(t, run.Changes, 2)
	pruned, err := s.Prune(s.ctx, s.Project.Now()+1, false)
	require.NoError(t, err)
	require.Equal(t, []string{run.ID}, pruned.Agents)
	next, err := s.Continue(s.ctx, user, run.ID, "done")
	require.NoError(t, err)
	next = s.over(next.ID, core.AgentCompleted, core.Completed)
	require.Len(t, next.Changes, 2)
	asked.Prompt = "done"
	none := s.over(s.request(user, asked).ID, core.AgentCompleted, core.Completed)
	require.NoDirExists(t, none.Worktree)
	assert.NoFileExists(t, mark)
}

func TestAnAgentContinuesInARemovedWorktree(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	run := s.over(s.request(user, plan.Request{Type: "builder", Prompt: "done", Cwd: "sub", Isolation: "worktree"}).ID, core.AgentCompleted, core.Completed)
	require.NoDirExists(t, run.Worktree)
	next, err := s.Continue(s.ctx, user, run.ID, "write new.txt; done")
	require.NoError(t, err)
	next = s.over(next.ID, core.AgentCompleted, core.Completed)
	require.Len(t, next.Changes, 1)
	assert.Equal(t, "sub/new.txt", next.Changes[0].Path)
	assert.FileExists(t, filepath.Join(s.Folder(next.ID), changes.PatchFile))

	clean := s.over(s.request(user, plan.Request{Type: "builder", Prompt: "done", Isolation: "worktree"}).ID, core.AgentCompleted, core.Completed)
	_, dir, err := s.ResumeCommand(s.ctx, clean.ID)
	require.NoError(t, err)
	assert.DirExists(t, dir, "a person can continue there, too")
}

func TestAWorktreeNeedsACommit(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*service){
		"outside of git":         func(*service) {},
		"in an empty repository": func(s *service) { s.git("init", "-q") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			prepare(s)
			run, err := s.Spawn(s.ctx, user, plan.Request{Type: "builder", Prompt: "done", Isolation: "worktree"})
			assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "worktree of its own")
			assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "isolation")
			s.over(run.ID, core.AgentError, core.Failed)
		})
	}
}
