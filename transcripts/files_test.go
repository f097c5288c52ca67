package transcripts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

// areChanges fails the test if a message has impossible changes of files.
func areChanges(t *testing.T, m core.Message) {
	t.Helper()
	for _, p := range m.Parts {
		if len(p.Files) > 500 {
			t.Fatal("too many files")
		}
		for _, f := range p.Files {
			whole := strings.Count("\n"+f.Patch, "\n+") == f.Added && strings.Count("\n"+f.Patch, "\n-") == f.Removed
			if f.Path == "" || strings.ContainsRune(f.Path, 0) || len(f.Patch) > 64<<10 || f.Added < 0 || f.Removed < 0 || !f.Cut && !whole {
				t.Fatalf("%+v", f)
			}
		}
	}
}

// answered returns a line of Claude Code with the data beside a tool's answer.
func answered(result string) string {
	return `{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]},"toolUseResult":` + result + "}\n"
}

// changed returns the changes of the only part of a line that has any.
func changed(t *testing.T, read reader, line string) (files []core.FileChange) {
	t.Helper()
	messages, err := collect(read, line)
	require.NoError(t, err)
	for _, m := range messages {
		areChanges(t, m)
		for _, p := range m.Parts {
			files = append(files, p.Files...)
		}
	}
	return files
}

func TestChangesOfClaudeCode(t *testing.T) {
	t.Parallel()
	hunk := `"structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]`
	tests := map[string]struct {
		line string
		want []core.FileChange
	}{
		"an edit": {
			answered(`{"filePath":"/x","oldString":"a","originalFile":"a",` + hunk + `}`),
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ -1,1 +1,1 @@\n-a\n+b\n"}},
		},
		"a file that could not be compared": {
			answered(`{"type":"update","filePath":"/x","content":"a\n","originalFile":null,"structuredPatch":[]}`),
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Patch: "@@ -0,0 +1,1 @@\n+a\n", Inexact: true}},
		},
		"a file written as it was": {answered(`{"type":"update","filePath":"/x","content":"a","originalFile":"a","structuredPatch":[]}`), nil},
		"impossible numbers and lines": {
			answered(`{"filePath":"/x","structuredPatch":[{"oldStart":-9,"oldLines":-1,"newStart":7,"newLines":"x","lines":["+a\nb","c","",7]}]}`),
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Patch: "@@ -0,0 +7,0 @@\n+a b\n c\n \n \n"}},
		},
		"no file":                 {answered(`{` + hunk + `}`), nil},
		"a name with a zero":      {answered(`{"filePath":"/x\u0000",` + hunk + `}`), nil},
		"a name that is too long": {answered(`{"filePath":"` + strings.Repeat("x", 2000) + `",` + hunk + `}`), nil},
		"another form":            {answered(`{"filePath":["/x"],"structuredPatch":{"lines":1}}`), nil},
		"a cell that could not be changed": {
			answered(`{"notebook_path":"/n","old_source":"a","new_source":"b","error":"no such cell"}`), nil,
		},
		"a call that failed": {
			strings.Replace(answered(`{"filePath":"/x",`+hunk+`}`), `"content":"ok"`, `"content":"no","is_error":true`, 1), nil,
		},
		"two answers in one line": {
			strings.Replace(answered(`{"filePath":"/x",`+hunk+`}`), `"content":[`, `"content":[{"type":"tool_result","tool_use_id":"u"},`, 1), nil,
		},
		"an edit of a subagent's": {
			`{"type":"assistant","agentId":"g","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t","name":"Edit",` +
				`"input":{"file_path":"/x","old_string":"a\nb\nc","new_string":"a\nB\nc"}}]}}`,
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ @@\n a\n-b\n+B\n c\n", Inexact: true}},
		},
		"another call of a subagent's": {
			`{"type":"assistant","agentId":"g","sessionId":"s","message":{"content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/x"}}]}}`, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, changed(t, claudeSession, tt.line))
		})
	}
}

func TestChangesOfOpenCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tool, input, metadata string
		want                  []core.FileChange
	}{
		"a patch of several files, one too many times": {
			"apply_patch", `{}`, `{"files":[` + strings.TrimSuffix(strings.Repeat(`{"filePath":"/x","type":"delete"},`, 600), ",") + `]}`, nil,
		},
		"an edit of an older client": {
			"edit", `{"filePath":"/x"}`, `{"diff":"--- /x\n+++ /x\n@@ -1,1 +1,1 @@\n-a\n+b\n"}`,
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ -1,1 +1,1 @@\n-a\n+b\n"}},
		},
		"a line that looks like a header": {
			"edit", `{"filePath":"/x"}`, `{"diff":"--- /x\n+++ /x\n@@ -1,1 +1,0 @@\n--- a\n"}`,
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Removed: 1, Patch: "@@ -1,1 +1,0 @@\n--- a\n"}},
		},
		"several edits": {
			"multiedit", `{"filePath":"/x"}`, `{"results":[{"filediff":{"file":"/x","patch":"@@ -1,1 +1,1 @@\n-a\n+b\n"}}]}`,
			[]core.FileChange{{Path: "/x", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ -1,1 +1,1 @@\n-a\n+b\n"}},
		},
		"no JSON":      {"edit", `{`, `]`, nil},
		"other types":  {"apply_patch", `{}`, `{"files":[7,{"filePath":{}}]}`, nil},
		"another tool": {"read", `{"filePath":"/x"}`, `{"files":[{"filePath":"/x"}]}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := transcripts.OpenCodeFiles(tt.tool, []byte(tt.input), []byte(tt.metadata))
			if strings.Contains(name, "too many") {
				assert.Len(t, got, 500)
				return
			}
			assert.Equal(t, tt.want, append([]core.FileChange(nil), got...))
		})
	}
}

func TestALongPatchIsCutButCountedInFull(t *testing.T) {
	t.Parallel()
	content, err := json.Marshal(strings.Repeat("a line of a file\n", 10_000))
	require.NoError(t, err)
	files := changed(t, claudeSession, answered(fmt.Sprintf(`{"type":"create","filePath":"/x","content":%s,"originalFile":null,"structuredPatch":[]}`, content)))
	require.Len(t, files, 1)
	assert.True(t, files[0].Cut)
	assert.Equal(t, 10_000, files[0].Added)
	assert.Greater(t, len(files[0].Patch), 60<<10)
	assert.True(t, strings.HasSuffix(files[0].Patch, "+a line of a file\n"), "it ends with a whole line")
}
