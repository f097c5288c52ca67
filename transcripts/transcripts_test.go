package transcripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

var update = flag.Bool("update", false, "write the golden files")

// A reader is one of the package's.
type reader func(io.Reader) iter.Seq2[core.Message, error]

// samples are shortened logs of the real hosts with their readers.
var samples = map[string]reader{
	"nested.jsonl":   transcripts.ClaudeCode,
	"subagent.jsonl": transcripts.ClaudeCode,
	"compact.jsonl":  transcripts.ClaudeCode,
	"export.json":    transcripts.OpenCode,
}

func TestRealLogsReadAsTheyDid(t *testing.T) {
	for name, read := range samples {
		t.Run(name, func(t *testing.T) {
			messages, err := collect(read, sample(t, name))
			require.NoError(t, err)
			var b bytes.Buffer
			others := 0
			for _, m := range messages {
				if m.Role == core.RoleOther {
					others++
					continue
				}
				raw, err := json.Marshal(m)
				require.NoError(t, err)
				b.Write(append(raw, '\n'))
			}
			raw, err := json.Marshal(map[string]int{"messages": len(messages) - others, "others": others})
			require.NoError(t, err)
			golden(t, name+".golden", b.String()+string(raw)+"\n")
		})
	}
}

func TestNoLineIsLost(t *testing.T) {
	t.Parallel()
	log := sample(t, "nested.jsonl")
	messages, err := collect(transcripts.ClaudeCode, log)
	require.NoError(t, err)
	assert.Len(t, messages, strings.Count(log, "\n"))
	messages, err = collect(transcripts.ClaudeCode, "not JSON\n{\"type\":\"new\"}\n\n[]\n")
	require.NoError(t, err)
	require.Len(t, messages, 3)
	assert.Equal(t, "not JSON", string(messages[0].Raw))
}

func TestUsageOfAnAnswerIsToldOnce(t *testing.T) {
	t.Parallel()
	log := `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash"}],"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}}` + "\n"
	messages, err := collect(transcripts.ClaudeCode, log+log)
	require.NoError(t, err)
	require.Len(t, messages, 2)
	assert.Equal(t, core.Usage{TokensIn: 10, TokensOut: 5, CacheRead: 3, CacheWritten: 2, ToolCalls: 1}, messages[0].Usage)
	assert.Equal(t, core.Usage{ToolCalls: 1}, messages[1].Usage)
}

func TestATornLastLineIsToldApart(t *testing.T) {
	t.Parallel()
	log := sample(t, "nested.jsonl")
	whole, err := collect(transcripts.ClaudeCode, log)
	require.NoError(t, err)
	messages, err := collect(transcripts.ClaudeCode, log+`{"type":"user","mess`)
	require.ErrorIs(t, err, transcripts.ErrTorn)
	assert.Len(t, messages, len(whole))
	_, err = collect(transcripts.OpenCode, `{"messages": [`)
	require.Error(t, err)
}

func TestToolCallsMeetTheirResults(t *testing.T) {
	t.Parallel()
	for name, read := range samples {
		messages, err := collect(read, sample(t, name))
		require.NoError(t, err)
		called := map[string]bool{}
		for _, m := range messages {
			for _, p := range m.Parts {
				switch p.Type {
				case core.PartToolCall:
					called[p.CallID] = true
				case core.PartToolResult:
					assert.True(t, called[p.CallID], "%s: %s", name, p.CallID)
				}
			}
		}
	}
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, transcripts.ClaudeCode) }
func FuzzOpenCode(f *testing.F)   { fuzz(f, transcripts.OpenCode) }

// fuzz reads whatever comes: no panic, and what is no message is kept.
func fuzz(f *testing.F, read reader) {
	for name := range samples {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for m, err := range read(bytes.NewReader(log)) {
			if err == nil && m.Role == core.RoleOther && len(m.Raw) == 0 {
				t.Fatal("a line was lost")
			}
		}
	})
}

func BenchmarkClaudeCode(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("testdata", "nested.jsonl"))
	require.NoError(b, err)
	raw = bytes.Repeat(raw, 100)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		for _, err := range transcripts.ClaudeCode(bytes.NewReader(raw)) {
			require.NoError(b, err)
		}
	}
}

func collect(read reader, log string) (messages []core.Message, failed error) {
	for m, err := range read(strings.NewReader(log)) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		messages = append(messages, m)
	}
	return messages, failed
}

func sample(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(raw)
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./transcripts -update writes it")
	assert.Equal(t, string(want), text)
}
