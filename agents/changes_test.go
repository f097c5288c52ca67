package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
)

// A fileCall is a tool call as a log has it.
type fileCall struct {
	tool, input string
	failed      bool
}

// line is the call as one line of each host's output, with its answer.
func (c fileCall) line(host string, n int) string {
	if host == "opencode" {
		state := map[bool]string{true: "error", false: "completed"}[c.failed]
		return fmt.Sprintf(`{"type":"tool_use","timestamp":%d,"sessionID":"ses_1","part":{"type":"tool","tool":%q,"callID":"c%d",`+
			`"state":{"status":%q,"input":%s,"output":"ok","error":"no"},"id":"prt_%d","sessionID":"ses_1","messageID":"msg_1"}}`,
			1795168760000+n, strings.ToLower(c.tool), n, state, c.input, n)
	}
	return fmt.Sprintf(`{"type":"assistant","session_id":"s1","message":{"id":"a%d","content":[`+
		`{"type":"tool_use","id":"c%d","name":%q,"input":%s}]}}`, n, n, c.tool, c.input) + "\n" +
		fmt.Sprintf(`{"type":"user","session_id":"s1","message":{"role":"user","content":[`+
			`{"type":"tool_result","tool_use_id":"c%d","is_error":%t,"content":"ok"}]}}`, n, c.failed)
}

// lastLine is how a host says that it is done.
var lastLine = map[string]string{
	"claude-code": `{"type":"result","subtype":"success","session_id":"s1","result":"ok","usage":{}}`,
	"opencode": `{"type":"text","timestamp":1795168790000,"sessionID":"ses_1","part":{"id":"prt_t","messageID":"msg_2",` +
		`"sessionID":"ses_1","type":"text","text":"ok","time":{"start":1,"end":2}}}` + "\n" +
		`{"type":"step_finish","timestamp":1795168790001,"sessionID":"ses_1","part":{"id":"prt_f","reason":"stop","messageID":"msg_2",` +
		`"sessionID":"ses_1","type":"step-finish","tokens":{"total":1,"input":1,"output":0,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}`,
}

// changed returns what an agent of a host changed that makes these calls.
func changed(t *testing.T, host string, calls ...fileCall) []changes.Change {
	t.Helper()
	s := newService(t)
	s.Host = host
	lines := lo.Map(calls, func(c fileCall, n int) string {
		c.input = strings.ReplaceAll(c.input, "DIR", s.Dir)
		return c.line(host, n)
	})
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "log"), []byte(strings.Join(append(lines, lastLine[host]), "\n")+"\n"), 0o600))
	return s.over(s.spawn("cat log").ID, core.AgentCompleted, core.Completed).Changes
}

func TestChangesAreReadFromAnAgentsLog(t *testing.T) {
	t.Parallel()
	path := map[string]string{"claude-code": "file_path", "opencode": "filePath"}
	tests := map[string]struct {
		calls []fileCall
		want  []string // paths
	}{
		"an edit":                      {[]fileCall{{tool: "Edit", input: `{"PATH":"DIR/a.go","old":"x","new":"y"}`}}, []string{"a.go"}},
		"a file outside of its folder": {[]fileCall{{tool: "Write", input: `{"PATH":"/elsewhere/a.go","content":"x"}`}}, []string{"/elsewhere/a.go"}},
		"several, in order": {
			[]fileCall{{tool: "Write", input: `{"PATH":"DIR/b/c.go"}`}, {tool: "Edit", input: `{"PATH":"a.go"}`}, {tool: "Edit", input: `{"PATH":"DIR/a.go"}`}},
			[]string{"a.go", "b/c.go"},
		},
		"failed calls do not count": {[]fileCall{{tool: "Edit", input: `{"PATH":"DIR/a.go"}`, failed: true}}, nil},
		"what was tried again": {
			[]fileCall{{tool: "Edit", input: `{"PATH":"DIR/a.go"}`, failed: true}, {tool: "Edit", input: `{"PATH":"DIR/a.go"}`}}, []string{"a.go"},
		},
		"reading does not count": {[]fileCall{{tool: "Read", input: `{"PATH":"DIR/a.go"}`}, {tool: "Bash", input: `{"command":"rm a.go"}`}}, nil},
		"a patch": {
			[]fileCall{{tool: "apply_patch", input: `{"patchText":"*** Begin Patch\n*** Add File: n.go\n+x\n` +
				`*** Update File: o.go\n@@\n-x\n*** Delete File: p.go\n*** End Patch"}`}},
			[]string{"n.go", "o.go", "p.go"},
		},
		"whatever the tool is called": {
			[]fileCall{
				{tool: "MultiEdit", input: `{"PATH":"DIR/a.go"}`}, {tool: "NotebookEdit", input: `{"notebook_path":"DIR/b.ipynb"}`},
				{tool: "patch", input: `{"PATH":"DIR/c.go"}`},
			},
			[]string{"a.go", "b.ipynb", "c.go"},
		},
		"not a call without a path": {[]fileCall{{tool: "Edit", input: `{}`}, {tool: "Edit", input: `"odd"`}}, nil},
	}
	for name, tt := range tests {
		for _, host := range []string{"claude-code", "opencode"} {
			t.Run(name+" in "+host, func(t *testing.T) {
				t.Parallel()
				calls := lo.Map(tt.calls, func(c fileCall, _ int) fileCall {
					c.input = strings.ReplaceAll(c.input, "PATH", path[host])
					return c
				})
				got := changed(t, host, calls...)
				assert.Equal(t, append([]string{}, tt.want...), lo.Map(got, func(c changes.Change, _ int) string { return c.Path }))
				for _, c := range got {
					assert.Len(t, c.Hash, 64)
				}
			})
		}
	}
}

func TestTheSameEditsHaveTheSameHash(t *testing.T) {
	t.Parallel()
	hash := func(input string) string {
		got := changed(t, "claude-code", fileCall{tool: "Edit", input: input})
		require.Len(t, got, 1)
		return got[0].Hash
	}
	first := hash(`{"file_path":"DIR/a.go","old_string":"x","new_string":"y"}`)
	assert.Equal(t, first, hash(`{"new_string":"y","file_path":"a.go","old_string":"x"}`), "the order of arguments and the form of the path do not matter")
	assert.NotEqual(t, first, hash(`{"file_path":"DIR/a.go","old_string":"x","new_string":"z"}`))
}

func TestEditsOfAPatchAreListedByFile(t *testing.T) {
	t.Parallel()
	patch := func(text string) []changes.Change {
		return changed(t, "opencode", fileCall{tool: "apply_patch", input: `{"patchText":"*** Begin Patch\n` + text + `*** End Patch"}`})
	}
	update := `*** Update File: a.go\n@@\n-x\n+y\n`
	one := patch(update + `*** Add File: b.go\n+new\n`)
	other := patch(`*** Add File: c.go\n+c\n` + update)
	require.Len(t, one, 2)
	require.Len(t, other, 2)
	assert.Equal(t, []string{"a.go", "b.go", "a.go", "c.go"}, []string{one[0].Path, one[1].Path, other[0].Path, other[1].Path})
	assert.Equal(t, one[0].Hash, other[0].Hash, "an equal change in another patch has the same hash")
	assert.True(t, one[0].Existed)
	assert.False(t, one[1].Existed)
}

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
	run := s.request(user, plan.Request{Type: "builder", Prompt: "write new.txt; write old.txt; done", Cwd: "sub", Isolation: "worktree"})
	assert.NotEmpty(t, run.Base)
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, []string{"sub/new.txt", "sub/old.txt"}, lo.Map(run.Changes, func(c changes.Change, _ int) string { return c.Path }))
	assert.False(t, run.Changes[0].Existed)
	assert.True(t, run.Changes[1].Existed)
	assert.Contains(t, run.Changes[1].Excerpt, "-old\n+written")
	assert.Equal(t, run.Changes[0].Hash, run.Changes[1].Hash, "both files have the same content")
	patch, err := os.ReadFile(filepath.Join(s.Folder(run.ID), changes.PatchFile))
	require.NoError(t, err)
	assert.Contains(t, string(patch), "new.txt")
	assert.FileExists(t, filepath.Join(run.Worktree, "sub", "new.txt"), "the work is kept")
	assert.NoFileExists(t, filepath.Join(s.Dir, "sub", "new.txt"))
	assert.Empty(t, s.git("status", "--porcelain"), "the user's own folder is as it was")
	_, dir, err := s.Interactive(s.ctx, run.ID)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(run.Worktree, "sub"), dir, "its session continues in the same folder")
	s.git("apply", "--check", filepath.Join(s.Folder(run.ID), changes.PatchFile))
}

func TestADeletedFileInAWorktreeIsAChange(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.repository()
	run := s.request(user, plan.Request{Type: "builder", Prompt: "remove sub/old.txt; done", Isolation: "worktree"})
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	require.Len(t, run.Changes, 1)
	assert.True(t, run.Changes[0].Deleted)
	assert.Empty(t, run.Changes[0].Hash)
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
	_, dir, err := s.Interactive(s.ctx, clean.ID)
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
			assert.Contains(t, problem(t, err, core.ErrInvalid), "worktree of its own")
			assert.Contains(t, problem(t, err, core.ErrInvalid), "isolation")
			s.over(run.ID, core.AgentError, core.Failed)
		})
	}
}
