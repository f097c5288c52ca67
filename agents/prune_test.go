package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
)

// apart returns an agent that wrote new.txt in a worktree of its own.
func (s *service) apart() record.Agent {
	s.t.Helper()
	s.repository()
	s.git("update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(s.git("rev-parse", "HEAD"))+",mod")
	s.commit("a submodule")
	run := s.request(user, plan.Request{Type: "builder", Prompt: "write new.txt; done", Isolation: definition.Worktree})
	return s.over(run.ID, core.AgentCompleted, core.Completed)
}

func TestPruneKeepsChangesWithoutAPatch(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(s *service, run record.Agent) (file string){
		"what a person did there": func(s *service, run record.Agent) string {
			_, dir, err := s.ResumeCommand(s.ctx, run.ID)
			require.NoError(s.t, err)
			file := filepath.Join(dir, "by-hand.txt")
			require.NoError(s.t, os.WriteFile(file, []byte("days of work\n"), 0o600))
			return file
		},
		"what another did whose patch failed": func(s *service, run record.Agent) string {
			next, err := s.Continue(s.ctx, user, run.ID, "write more.txt; wait "+s.Dir+"/go; done")
			require.NoError(s.t, err)
			s.until(next.ID, core.AgentActive)
			lock := filepath.Join(strings.TrimSpace(s.git("-C", run.Worktree, "rev-parse", "--git-dir")), "index.lock")
			require.NoError(s.t, os.WriteFile(lock, nil, 0o600)) // of a git that was killed
			s.touch("go")
			next = s.over(next.ID, core.AgentCompleted, core.Completed)
			require.NoFileExists(s.t, filepath.Join(s.Folder(next.ID), changes.PatchFile))
			return filepath.Join(run.Worktree, "more.txt")
		},
		"what there is no patch of": func(s *service, run record.Agent) string {
			require.NoError(s.t, os.Remove(filepath.Join(s.Folder(run.ID), changes.PatchFile)))
			return filepath.Join(run.Worktree, "new.txt")
		},
		"what a person did in a submodule": func(s *service, run record.Agent) string {
			file := filepath.Join(run.Worktree, "mod", "by-hand.txt")
			require.NoError(s.t, os.WriteFile(file, []byte("days of work\n"), 0o600))
			return file
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			run := s.apart()
			file := more(s, run)
			_, err := s.Prune(s.ctx, s.Project.Now()+1, false)
			require.NoError(t, err)
			assert.FileExists(t, file)
			again, err := s.Prune(s.ctx, s.Project.Now()+1, false)
			require.NoError(t, err)
			assert.Empty(t, again.Agents, "files that stay are not reported as deleted")
		})
	}
}

func TestAPrunedAgentCanBeContinued(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	run := s.request(user, plan.Request{Type: "builder", Prompt: "write new.txt; done", Cwd: "sub", Isolation: "worktree"})
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	before, err := s.Result(s.ctx, run.ID)
	require.NoError(t, err)

	none, err := s.Prune(s.ctx, run.EndedAt, false)
	require.NoError(t, err)
	assert.Empty(t, none.Agents, "it ended exactly then")
	would, err := s.Prune(s.ctx, run.EndedAt+1, true)
	require.NoError(t, err)
	assert.Equal(t, []string{run.ID}, would.Agents)
	assert.DirExists(t, run.Worktree, "Prune only reported")
	pruned, err := s.Prune(s.ctx, run.EndedAt+1, false)
	require.NoError(t, err)
	assert.Equal(t, would, pruned)
	assert.NoDirExists(t, run.Worktree)
	assert.NoFileExists(t, filepath.Join(s.Folder(run.ID), supervise.OutputFile))
	assert.FileExists(t, filepath.Join(s.Folder(run.ID), changes.PatchFile))
	after, err := s.Result(s.ctx, run.ID)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	again, err := s.Prune(s.ctx, run.EndedAt+1, false)
	require.NoError(t, err)
	assert.Empty(t, again.Agents)

	next, err := s.Continue(s.ctx, user, run.ID, "hang")
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(run.Worktree, "sub", "new.txt"), "its worktree is restored")
	busy, err := s.Prune(s.ctx, s.Project.Now()+1, false)
	require.NoError(t, err)
	assert.Empty(t, busy.Agents, "another agent works there")
	_, err = s.Cancel(s.ctx, user, next.ID)
	require.NoError(t, err)
	s.over(next.ID, core.AgentCancelled, core.Blocked)
}
