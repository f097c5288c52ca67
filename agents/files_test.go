package agents_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/plan"
	"flame/core"
	"flame/project/usage"
)

// lastLine is how a host says that it is done.
var lastLine = map[string]string{
	"claude-code": `{"type":"result","subtype":"success","session_id":"s1","result":"ok","usage":{}}`,
	"opencode": `{"type":"text","timestamp":1795168790000,"sessionID":"ses_1","part":{"id":"prt_t","messageID":"msg_2",` +
		`"sessionID":"ses_1","type":"text","text":"ok","time":{"start":1,"end":2}}}` + "\n" +
		`{"type":"step_finish","timestamp":1795168790001,"sessionID":"ses_1","part":{"id":"prt_f","reason":"stop","messageID":"msg_2",` +
		`"sessionID":"ses_1","type":"step-finish","tokens":{"total":1,"input":1,"output":0,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}`,
}

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
			assert.Equal(t, usage.FileList{Files: []usage.ChangedFile{{
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
	assert.Equal(t, usage.ChangedFile{Path: "sub/old.txt", Kind: core.FileModified, Added: 1, Removed: 1, Changes: 1, Patch: l.Files[1].Patch}, l.Files[1])
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
