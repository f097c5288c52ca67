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

// What is odd about changes is in testdata/edits/odd.jsonl and odd.ndjson; the id of a call says it.
func TestOpenCodesChangesAreBounded(t *testing.T) {
	many := `{"files":[` + strings.TrimSuffix(strings.Repeat(`{"filePath":"/x","type":"delete"},`, 600), ",") + `]}`
	assert.Len(t, transcripts.OpenCodeFiles("apply_patch", []byte("{}"), []byte(many)), 500)
	assert.Empty(t, transcripts.OpenCodeFiles("edit", []byte("{"), []byte("]")), "no JSON")
}

func TestALongPatchIsCutButCountedInFull(t *testing.T) {
	content, err := json.Marshal(strings.Repeat("a line of a file\n", 10_000))
	require.NoError(t, err)
	files := changed(t, claudeSession, answered(fmt.Sprintf(`{"type":"create","filePath":"/x","content":%s,"originalFile":null,"structuredPatch":[]}`, content)))
	require.Len(t, files, 1)
	assert.True(t, files[0].Cut)
	assert.Equal(t, 10_000, files[0].Added)
	assert.Greater(t, len(files[0].Patch), 60<<10)
	assert.True(t, strings.HasSuffix(files[0].Patch, "+a line of a file\n"), "it ends with a whole line")
}
