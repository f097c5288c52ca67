package transcripts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

const claudeCode = "claude-code"

// readOn returns the messages of Read, and its last position.
func readOn(t *testing.T, host, path string, from core.LogPosition) (messages []core.Message, next core.LogPosition) {
	next = from
	for entry, err := range formats.Read(host, path, from) {
		require.NoError(t, err)
		messages, next = append(messages, entry.Message), entry.Next
	}
	return messages, next
}

func TestALogReadInPiecesHasTheSameMessages(t *testing.T) {
	for name, host := range map[string]string{
		"nested.jsonl": claudeCode, "subagent.jsonl": claudeCode, "compact.jsonl": claudeCode, "older/growing.jsonl": claudeCode,
		"older/inside.jsonl": claudeCode, "older/counts.jsonl": "codex", "older/agent.jsonl": "codex", "older/resumed.jsonl": "codex",
		"codex/resumed.jsonl": "codex", "codex/compacted.jsonl": "codex",
	} {
		t.Run(name, func(t *testing.T) {
			text := sample(t, name)
			read := claudeSession
			if host == "codex" {
				read = codexRollout
			}
			whole, err := collect(read, text)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "log.jsonl")
			var pieces []core.Message
			var at core.LogPosition
			for end := 1; end < len(text)+997; end += 997 { // also within lines
				require.NoError(t, os.WriteFile(path, []byte(text[:min(end, len(text))]), 0o600))
				var more []core.Message
				more, at = readOn(t, host, path, at)
				pieces = append(pieces, more...)
			}
			assert.Equal(t, whole, pieces)
			assert.Equal(t, int64(len(text)), at.Offset)
		})
	}
}

func TestAShortenedLogIsReadFromItsBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"user","message":{"content":"anew"}}`+"\n"), 0o600))
	messages, next := readOn(t, claudeCode, path, core.LogPosition{Offset: 1000, Last: "m"})
	require.Len(t, messages, 1)
	assert.Equal(t, core.LogPosition{Offset: 45}, next)
}

// What was counted of an answer is not known if its line is too far back: nothing of it counts again.
func TestAnAnswerFarBackIsNotCountedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	answer := `{"type":"assistant","sessionId":"s","message":{"id":"m","content":[],"usage":{"input_tokens":7,"output_tokens":%d}}}` + "\n"
	between := `{"type":"user","sessionId":"s","message":{"content":"` + strings.Repeat("x", 300<<10) + `"}}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(answer, 1)+between), 0o600))
	_, at := readOn(t, claudeCode, path, core.LogPosition{})
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(answer, 1)+between+fmt.Sprintf(answer, 5)), 0o600))
	messages, _ := readOn(t, claudeCode, path, at)
	require.Len(t, messages, 1)
	assert.Zero(t, messages[0].Usage)
}

func TestAnUnreadableLogIsAnError(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	file := filepath.Join(dir, "log.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, tt := range map[string]struct{ host, path, want string }{
		"a file that is not there":        {claudeCode, filepath.Join(dir, "none"), "no such file"},
		"a folder":                        {claudeCode, dir, "not a file"},
		"a pipe, without waiting for it":  {claudeCode, pipe, "not a file"},
		"the log of a host without files": {"opencode", file, `"opencode" has no log`},
	} {
		t.Run(name, func(t *testing.T) {
			count := 0
			for _, err := range formats.Read(tt.host, tt.path, core.LogPosition{}) {
				count++
				assert.ErrorContains(t, err, tt.want)
			}
			assert.Equal(t, 1, count)
		})
	}
}

func TestThePriceOfAnAnswerIsThatOfTheClient(t *testing.T) {
	const all = `{"input_tokens":10000,"output_tokens":1000,"cache_read_input_tokens":30000,"cache_creation_input_tokens":20000,
		"cache_creation":{"ephemeral_1h_input_tokens":5000}`
	for name, tt := range map[string]struct {
		model, usage string
		want         float64 // in US dollars
	}{
		"a prompt":                         {"claude-opus-5-5", `{"input_tokens":1000000`, 4},
		"an answer":                        {"claude-opus-5-5", `{"output_tokens":1000000`, 20},
		"a read of the cache":              {"claude-opus-5-5", `{"cache_read_input_tokens":1000000`, 0.2},
		"what is cached for 5 minutes":     {"claude-opus-5-5", `{"cache_creation_input_tokens":1000000`, 5},
		"what is cached for an hour":       {"claude-opus-5-5", `{"cache_creation_input_tokens":1000000,"cache_creation":{"ephemeral_1h_input_tokens":1000000}`, 8},
		"all of it":                        {"claude-sonnet-5-5", all, 0.02 + 0.01 + 0.003 + 0.0375 + 0.02},
		"a model with its date":            {"claude-haiku-4-5-20251001", `{"input_tokens":1000000`, 1},
		"a model of another provider":      {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", `{"output_tokens":1000000`, 15},
		"fast mode":                        {"claude-opus-4-6", `{"input_tokens":1000000,"speed":"fast"`, 30},
		"no fast mode":                     {"claude-sonnet-5-5", `{"input_tokens":1000000,"speed":"fast"`, 2},
		"a prompt that is not yet long":    {"claude-haiku-5-5", `{"input_tokens":100000,"output_tokens":100000`, 0.01 + 0.05},
		"a long prompt and its answer":     {"claude-haiku-5-5", `{"input_tokens":60000,"cache_read_input_tokens":60000,"output_tokens":100000`, 0.03 + 0.003 + 0.25},
		"an answer in the United States":   {"claude-opus-5-5", `{"input_tokens":1000000,"inference_geo":"us"`, 4.4},
		"searches of the web":              {"claude-opus-5-5", `{"input_tokens":0,"server_tool_use":{"web_search_requests":3}`, 0.03},
		"a model whose price is not known": {"claude-opus-9", all, 0},
		"no model":                         {"<synthetic>", all, 0},
	} {
		t.Run(name, func(t *testing.T) {
			line := fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":%q,"content":[],"usage":%s}}}`, tt.model, tt.usage)
			require.True(t, json.Valid([]byte(line)), line)
			messages, err := collect(claudeSession, strings.ReplaceAll(line, "\n", "")+"\n")
			require.NoError(t, err)
			assert.InDelta(t, tt.want, messages[0].Usage.CostUSD, 1e-9)
		})
	}
}

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
