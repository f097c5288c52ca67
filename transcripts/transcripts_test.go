package transcripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
	"flame/transcripts/codex"
	"flame/transcripts/gemini"
)

var update = flag.Bool("update", false, "write the golden files")

// formats are all known formats.
var formats = transcripts.Formats{
	transcripts.ClaudeSession, transcripts.ClaudeStream, transcripts.OpenCodeRun, transcripts.OpenCodeExport, transcripts.OpenCodeStore,
	codex.Rollout, codex.Run, gemini.Chat, gemini.Document, gemini.Run,
}

// A reader reads a log.
type reader func(io.Reader) iter.Seq2[core.Message, error]

// The readers of logs with lines.
var (
	claudeSession = in(transcripts.ClaudeSession)
	claudeStream  = in(transcripts.ClaudeStream)
	openCodeRun   = in(transcripts.OpenCodeRun)
	codexRollout  = in(codex.Rollout)
	codexRun      = in(codex.Run)
	geminiChat    = in(gemini.Chat)
	geminiRun     = in(gemini.Run)
)

func in(format *transcripts.Format) reader {
	return func(r io.Reader) iter.Seq2[core.Message, error] { return transcripts.Messages(r, format) }
}

// samples are shortened logs of real hosts, with their readers.
var samples = map[string]reader{
	"nested.jsonl":   claudeSession,
	"subagent.jsonl": claudeSession,
	"compact.jsonl":  claudeSession,
	"midturn.jsonl":  claudeSession,
	"export.json":    transcripts.OpenCode,

	"stream-background.ndjson":                  claudeStream,
	"stream-compact-manual.ndjson":              claudeStream,
	"stream-error-and-taskstop.ndjson":          claudeStream,
	"stream-nested-foreground.ndjson":           claudeStream,
	"stream-resume-subagent-sendmessage.ndjson": claudeStream,
	"run-auto_compaction.ndjson":                openCodeRun,
	"run-task_depth_error.ndjson":               openCodeRun,
	"family/stream.ndjson":                      claudeStream,
	"family/run.ndjson":                         openCodeRun,
	"family/export.json":                        transcripts.OpenCode,
	claudeFamily + ".jsonl":                     claudeSession,
	delegated:                                   claudeSession,
	"edits/session.jsonl":                       claudeSession,
	"edits/subagent.jsonl":                      claudeSession,
	"edits/stream.ndjson":                       claudeStream,
	"edits/run.ndjson":                          openCodeRun,
	"edits/odd.jsonl":                           claudeSession,
	"edits/odd.ndjson":                          openCodeRun,
	"edits/run-patch.ndjson":                    openCodeRun,
	"codex/session.jsonl":                       codexRollout,
	"codex/subagent.jsonl":                      codexRollout,
	"codex/resumed.jsonl":                       codexRollout,
	"codex/forked.jsonl":                        codexRollout,
	"codex/compacted.jsonl":                     codexRollout,
	"codex/run.ndjson":                          codexRun,
	"older/growing.jsonl":                       claudeSession,
	"older/inside.jsonl":                        claudeSession,
	"older/counts.jsonl":                        codexRollout,
	"older/agent.jsonl":                         codexRollout,
	"gemini/session.jsonl":                      geminiChat,
	"gemini/family.jsonl":                       geminiChat,
	"gemini/subagent.jsonl":                     geminiChat,
	"gemini/run.ndjson":                         geminiRun,
}

// claudeFamily is a session with four subagents, one of which has a subagent of its own.
// family/stream.ndjson is the client's output of that session. The other files of family are
// from a similar session of OpenCode.
//
// delegated is a session that made flame start two agents. Beside it are the logs of these two
// and of one below them, and those of a similar session of OpenCode.
const (
	claudeFamily = "family/claude/144291fb-27bf-4ea0-995d-e20474bcc32d"
	delegated    = "delegated/claude/-project/7b3fb223-dd55-4e29-be00-6ab28f0ae27b.jsonl"
)

func TestRealLogsMatchTheirGoldenFiles(t *testing.T) {
	for name := range samples {
		t.Run(name, func(t *testing.T) {
			messages := sampled(t, name)
			var b bytes.Buffer
			aside, unknown := 0, 0
			for _, m := range messages {
				if m.Irrelevant {
					aside++
					continue
				}
				if m.Unknown() {
					unknown++
					continue
				}
				m.Raw = nil
				raw, err := json.Marshal(m)
				require.NoError(t, err)
				b.Write(append(raw, '\n'))
			}
			raw, err := json.Marshal(map[string]int{"known": len(messages) - aside - unknown, "aside": aside, "unknown": unknown})
			require.NoError(t, err)
			golden(t, name+".golden", b.String()+string(raw)+"\n")
		})
	}
}

func TestNoLineIsLost(t *testing.T) {
	log := sample(t, "nested.jsonl")
	messages, err := collect(claudeSession, log)
	require.NoError(t, err)
	assert.Len(t, messages, strings.Count(log, "\n"))
	messages, err = collect(claudeSession, "not JSON\n{\"type\":\"new\"}\n\n[]\n")
	require.NoError(t, err)
	require.Len(t, messages, 3)
	assert.Equal(t, `"not JSON"`, string(messages[0].Raw), "a line that is not JSON becomes a string")
	assert.Equal(t, `{"type":"new"}`, string(messages[1].Raw))
}

func TestTheUsageOfAnAnswerCountsOnce(t *testing.T) {
	log := `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash"}],` +
		`"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}}` + "\n"
	messages, err := collect(claudeSession, log+log)
	require.NoError(t, err)
	require.Len(t, messages, 2)
	assert.Equal(t, core.Usage{TokensIn: 10, TokensOut: 5, CacheRead: 3, CacheWritten: 2, ToolCalls: 1, Unpriced: 20}, messages[0].Usage)
	assert.Equal(t, core.Usage{ToolCalls: 1}, messages[1].Usage)
}

func TestAnIncompleteLastLineIsErrTorn(t *testing.T) {
	log := sample(t, "nested.jsonl")
	whole, err := collect(claudeSession, log)
	require.NoError(t, err)
	messages, err := collect(claudeSession, log+`{"type":"user","mess`)
	require.ErrorIs(t, err, transcripts.ErrIncompleteLine)
	assert.Len(t, messages, len(whole))
	_, err = collect(transcripts.OpenCode, `{"messages": [`)
	require.Error(t, err)
}

func TestToolCallsHaveTheirResults(t *testing.T) {
	for name := range samples {
		messages := sampled(t, name)
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

func TestALogWithoutLinesHasNoReader(t *testing.T) {
	for _, format := range []*transcripts.Format{transcripts.OpenCodeExport, transcripts.OpenCodeStore, nil} {
		messages, err := collect(in(format), "{}\n")
		require.ErrorContains(t, err, "has no lines")
		assert.Empty(t, messages)
		assert.Nil(t, format.Reader())
	}
}

func FuzzClaudeCode(f *testing.F)       { fuzz(f, claudeSession) }
func FuzzClaudeCodeStream(f *testing.F) { fuzz(f, claudeStream) }
func FuzzOpenCodeOutput(f *testing.F)   { fuzz(f, openCodeRun) }
func FuzzOpenCode(f *testing.F)         { fuzz(f, transcripts.OpenCode) }
func FuzzCodex(f *testing.F)            { fuzz(f, codexRollout) }
func FuzzCodexOutput(f *testing.F)      { fuzz(f, codexRun) }
func FuzzGemini(f *testing.F)           { fuzz(f, geminiChat) }
func FuzzGeminiOutput(f *testing.F)     { fuzz(f, geminiRun) }

// fuzz reads any input. The reader must not panic and must keep unknown lines, and all messages
// can be written again.
func fuzz(f *testing.F, read reader) {
	for name := range samples {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for m, err := range read(bytes.NewReader(log)) {
			if err != nil {
				continue
			}
			if m.Role == core.RoleOther && len(m.Raw) == 0 {
				t.Fatal("a line was lost")
			}
			if _, err := json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			areChanges(t, m)
		}
	})
}

// A line of a log may be as long as a file that a tool has read. The memory of a reader must
// stay in proportion.
func TestALongLineNeedsLittleMoreThanItsOwnMemory(t *testing.T) {
	const size = 8 << 20
	text := bytes.Repeat([]byte("a line of a file\\n"), size/16)
	for name, tt := range map[string]struct {
		read reader
		log  []byte
	}{
		"session file": {claudeSession, fmt.Appendf(nil,
			`{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"%s"}]},"toolUseResult":{"file":"x"}}`+"\n", text)},
		"stream": {claudeStream, fmt.Appendf(nil,
			`{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"%s"}]}}`+"\n", text)},
		"run": {openCodeRun, fmt.Appendf(nil,
			`{"type":"tool_use","sessionID":"s","part":{"type":"tool","tool":"read","callID":"c","state":{"status":"completed","output":"%s"}}}`+"\n", text)},
		"export": {transcripts.OpenCode, fmt.Appendf(nil,
			`{"info":{"id":"ses_1"},"messages":[{"info":{"role":"user"},"parts":[{"type":"text","text":"%s"}]}]}`, text)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			said := 0
			for m, err := range tt.read(bytes.NewReader(tt.log)) {
				require.NoError(t, err)
				for _, p := range m.Parts {
					said += len(p.Text)
				}
			}
			runtime.ReadMemStats(&after)
			assert.Greater(t, said, size)
			assert.Less(t, float64(after.TotalAlloc-before.TotalAlloc)/float64(len(tt.log)), 8.0, "times its length, garbage included")
		})
	}
}

func TestALineBeyondTheLimitIsCutAndTheRestIsRead(t *testing.T) {
	long := io.MultiReader(
		strings.NewReader(`{"type":"user","message":{"content":"`), io.LimitReader(letters{}, 100<<20), strings.NewReader("\"}}\n"),
		strings.NewReader(`{"type":"user","message":{"content":"after"}}`+"\n"))
	messages := all(t, claudeSession(long))
	require.Len(t, messages, 2)
	assert.True(t, messages[0].Unknown())
	assert.Regexp(t, `a{100}… \(a line of 104857641 bytes\)"$`, string(messages[0].Raw))
	assert.Less(t, len(messages[0].Raw), 5<<10)
	assert.Equal(t, "after", messages[1].Parts[0].Text)
}

// letters is a text without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
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

// all returns the messages of a log that can be read.
func all(t *testing.T, log iter.Seq2[core.Message, error]) (messages []core.Message) {
	for m, err := range log {
		require.NoError(t, err)
		messages = append(messages, m)
	}
	return messages
}

// sampled returns the messages of a sample.
func sampled(t *testing.T, name string) []core.Message {
	return all(t, samples[name](strings.NewReader(sample(t, name))))
}

// detected returns the logs at a path.
func detected(t *testing.T, path string) []transcripts.Log {
	logs, err := formats.Detect(path, nil)
	require.NoError(t, err)
	return logs
}

func sample(t *testing.T, name string) string {
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(raw)
}

func golden(t *testing.T, name, text string) {
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./transcripts -update writes it")
	assert.Equal(t, string(want), text)
}
