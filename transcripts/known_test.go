package transcripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
	"flame/transcripts/codex"
	"flame/transcripts/gemini"
)

// TestLogsAreKnownHoweverTheyBegin has logs whose first line does not show their format, or whose lines
// are long.
func TestLogsAreKnownHoweverTheyBegin(t *testing.T) {
	const snapshot = `{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false}` + "\n"
	prompt := func(text string) string {
		return `{"type":"user","sessionId":"s","uuid":"u","timestamp":"2026-02-01T10:00:00.000Z","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	const chat = `"sessionId":"g-1","projectHash":"h","startTime":"2026-02-01T10:00:00.000Z","lastUpdated":"2026-02-01T10:01:00.000Z",`
	const messages = `"messages":[{"id":"1","timestamp":"2026-02-01T10:00:01.000Z","type":"user","content":[{"text":"hello"}]},
		{"id":"2","timestamp":"2026-02-01T10:00:02.000Z","type":"gemini","content":"hi","model":"gemini-2.5-pro",
		"tokens":{"input":1000,"output":10,"cached":200,"thoughts":5,"tool":0}}]`
	old := "{\n  " + chat + "\n  " + messages + "\n}\n"
	long := strings.Replace(old, "hello", "hello "+strings.Repeat("x", 2<<20), 1)
	for name, tt := range map[string]struct {
		text  string
		want  *transcripts.Format
		first string // words of the first message
	}{
		"a long prompt behind a line of the client's own": {snapshot + prompt("hello "+strings.Repeat("x", 9000)), transcripts.ClaudeSession, "hello"},
		"a picture":               {snapshot + prompt("hello "+strings.Repeat("A", 3<<20)), transcripts.ClaudeSession, "hello"},
		"many such lines":         {strings.Repeat(snapshot, 5000) + prompt("hello"), transcripts.ClaudeSession, "hello"},
		"a byte order mark":       {"\ufeff" + prompt("hello"), transcripts.ClaudeSession, "hello"},
		"a mark, a long line":     {"\ufeff" + prompt("hello "+strings.Repeat("x", 2<<20)), transcripts.ClaudeSession, "hello"},
		"a former chat":           {old, gemini.Document, "hello"},
		"on one line":             {"{" + chat + strings.ReplaceAll(messages, "\n", "") + "}", gemini.Document, "hello"},
		"a long one":              {strings.ReplaceAll(long, "\n", ""), gemini.Document, "hello"},
		"text in place of a list": {strings.Replace(old, `[{"text":"hello"}]`, `"hello"`, 1), gemini.Document, "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			for _, at := range []string{path, filepath.Dir(path)} {
				logs := detected(t, at)
				require.Len(t, logs, 1)
				require.Same(t, tt.want, logs[0].Format)
				var read []core.Message
				for m, err := range logs[0].Messages(t.Context()) {
					require.NoError(t, err)
					if m.Role != core.RoleOther {
						read = append(read, m)
					}
				}
				require.NotEmpty(t, read)
				assert.True(t, strings.HasPrefix(read[0].Parts[0].Text, tt.first))
				if tt.want == gemini.Document {
					assert.Equal(t, core.Usage{TokensIn: 800, TokensOut: 15, CacheRead: 200}, without(read[1].Usage))
				}
			}
		})
	}
}

func TestAByteOrderMarkHidesNoLine(t *testing.T) {
	line := func(id string) string {
		return `{"type":"user","uuid":"` + id + `","sessionId":"s-1","message":{"role":"user","content":"hello"}}` + "\n"
	}
	path := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(line("a")+"\ufeff"+line("b")), 0o600))
	logs := detected(t, path)
	var read []core.Role
	for m, err := range logs[0].Messages(t.Context()) {
		require.NoError(t, err)
		read = append(read, m.Role)
	}
	assert.Equal(t, []core.Role{core.RoleUser, core.RoleUser}, read)
}

func without(u core.Usage) core.Usage {
	u.CostUSD = 0
	return u
}

func TestAKnownLogWithoutAKnownEntryIsNoSuccess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"turn-of-the-future","sessionId":"s","words":"hello"}`+"\n"), 0o600))
	logs := detected(t, path)
	var last error
	for _, err := range logs[0].Messages(t.Context()) {
		last = err
	}
	require.ErrorIs(t, last, core.ErrInvalid)
	assert.ErrorContains(t, last, "knows none of its 1 entries")
}

// TestARecordIsFoundAgainByItsNumber reads each entry of real logs twice: as a search finds it, and by its
// number.
func TestARecordIsFoundAgainByItsNumber(t *testing.T) {
	blank := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(blank, []byte("\n"+sample(t, "nested.jsonl")+"\n\n"), 0o600))
	for _, path := range []string{
		blank, "testdata/gemini/session.jsonl", "testdata/gemini/family.jsonl", "testdata/older/counts.jsonl", "testdata/export.json",
		"testdata/compact.jsonl", "testdata/family/run.ndjson",
	} {
		logs := detected(t, path)
		records, read := map[int][]core.Message{}, 0
		for r, err := range logs[0].Matching(t.Context(), nil) {
			require.NoError(t, err)
			records[r.Number] = append(records[r.Number], r.Message)
			read += len(r.Parts)
		}
		assert.NotZero(t, read, path)
		for number, want := range records {
			got, err := logs[0].At(t.Context(), number)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s: %d", path, number)
		}
		none, err := logs[0].At(t.Context(), len(records)+100)
		require.NoError(t, err)
		assert.Empty(t, none)
	}
}

// Codex prints the usage of each answer once. A resumed session goes on in its file, and a fork's
// file has only what is its own.
func TestCodexAnswersCountOnce(t *testing.T) {
	for name, want := range map[string]core.Usage{
		"codex/resumed.jsonl": {TokensIn: 42_636, TokensOut: 80, ToolCalls: 2, CostUSD: 0.21558},
		"codex/forked.jsonl":  {TokensIn: 33_009, TokensOut: 60, ToolCalls: 2, CostUSD: 0.166845},
	} {
		messages := sampled(t, name)
		var sum core.Usage
		for _, m := range messages {
			sum = sum.Add(m.Usage)
		}
		assert.InDelta(t, want.CostUSD, sum.CostUSD, 1e-9, name)
		sum.CostUSD = want.CostUSD
		assert.Equal(t, want, sum, name)
	}
}

func TestCodexChangesOfFilesAreExact(t *testing.T) {
	messages := sampled(t, "codex/resumed.jsonl")
	var changes []core.FileChange
	for _, m := range messages {
		for _, p := range m.Parts {
			changes = append(changes, p.Files...)
		}
	}
	assert.Equal(t, []core.FileChange{
		{Path: "/home/u/shop/a.txt", Kind: core.FileAdded, Added: 1, Patch: "@@ -0,0 +1,1 @@\n+hello\n"},
		{Path: "/home/u/shop/b.txt", Kind: core.FileModified, Added: 1, Removed: 1, Patch: "@@ -1 +1 @@\n-hello\n+world\n"},
	}, changes)
}

func TestTheEndOfACodexLogShowsTheLastTurn(t *testing.T) {
	raw, err := os.ReadFile("testdata/codex/compacted.jsonl")
	require.NoError(t, err)
	for _, log := range []string{string(raw), strings.Repeat("x", 100) + "\n" + string(raw) + `{"timestamp":"2026`} {
		turn := codex.LastTurn([]byte(log))
		assert.Equal(t, "over", turn.Said)
		assert.True(t, turn.Over)
		assert.Equal(t, "gpt-6-sol", turn.Model)
		assert.Equal(t, 13_515, turn.Tokens)
		require.Len(t, turn.Calls, 4)
		assert.False(t, turn.Calls[1].OK, "cat of a missing file")
		assert.Equal(t, 3, *turn.Calls[1].Exit)
		assert.Equal(t, "workspace-write", codex.Sandbox([]byte(log)))
		assert.Empty(t, codex.Summary([]byte(log)), "of the last compaction, whose model said nothing")
		first, _, _ := strings.Cut(log, `"ordinal":39,`)
		assert.Equal(t, "I push", codex.Summary([]byte(first)))
		folder, parent := codex.ThreadStart(raw)
		assert.Equal(t, "/home/u/shop", folder)
		assert.Empty(t, parent)
	}
}

func FuzzCodexTurn(f *testing.F) {
	raw, err := os.ReadFile("testdata/codex/compacted.jsonl")
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","input":"` + strings.Repeat(`\"`, 5_000)))
	f.Fuzz(func(t *testing.T, log []byte) {
		codex.LastTurn(log)
		codex.Sandbox(log)
		codex.Summary(log)
		codex.ThreadStart(log)
	})
}

func TestGeminiAnswersCountOnce(t *testing.T) {
	messages := sampled(t, "gemini/family.jsonl")
	var sum core.Usage
	var notes []core.AgentInfo
	for _, m := range messages {
		sum = sum.Add(m.Usage)
		notes = append(notes, m.Notes...)
	}
	assert.Equal(t, int64(100), sum.TokensOut)
	assert.Equal(t, int64(4), sum.ToolCalls)
	last := notes[len(notes)-1]
	assert.Equal(t, core.AgentCompleted, last.State)
	assert.Equal(t, "done", last.Result)
}

func TestTheEndOfAGeminiLogShowsTheLastTurn(t *testing.T) {
	raw, err := os.ReadFile("testdata/gemini/session.jsonl")
	require.NoError(t, err)
	for _, log := range []string{string(raw), strings.Repeat("x", 100) + "\n" + string(raw) + `{"id":"1`} {
		turn := gemini.LastTurn([]byte(log))
		assert.Equal(t, "over", turn.Said)
		assert.True(t, turn.Over)
		assert.Equal(t, 19_476, turn.Tokens)
		require.Len(t, turn.Calls, 3)
		assert.True(t, turn.Calls[1].OK)
		assert.False(t, turn.Calls[2].OK, "an argument that the schema lacks")
	}
	raw, err = os.ReadFile("testdata/gemini/family.jsonl")
	require.NoError(t, err)
	children := gemini.Children(raw)
	require.Len(t, children, 2)
	assert.Equal(t, core.ChildFailed, children[0].End, "it never called complete_task")
	assert.Equal(t, []string{"/home/u/shop/a.txt"}, gemini.WrittenFiles(raw))
	summary, _ := gemini.LastSummary(raw)
	assert.Empty(t, summary)
}

func FuzzGeminiTurn(f *testing.F) {
	for _, name := range []string{"session", "family", "subagent"} {
		raw, err := os.ReadFile("testdata/gemini/" + name + ".jsonl")
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"$set":{"messages":[{"type":"user","content":"<state_snapshot>x</state_snapshot>"}]}}`))
	f.Fuzz(func(_ *testing.T, log []byte) {
		gemini.LastTurn(log)
		gemini.Children(log)
		gemini.WrittenFiles(log)
		gemini.LastSummary(log)
		gemini.OpenCallTime(log)
		gemini.SubagentEnd(log)
	})
}

func TestImpossibleNumbersAreNotCounted(t *testing.T) {
	const head = `{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"x"}],"usage":`
	for usage, want := range map[string]int64{
		`{"input_tokens":10,"output_tokens":2}`:                   10,
		`{"input_tokens":9000000000000000000,"output_tokens":2}`:  0,
		`{"input_tokens":-9000000000000000000,"output_tokens":2}`: 0,
	} {
		assert.Equal(t, want, transcripts.ClaudeStream.Reader()([]byte(head+usage+`}}`)).Usage.TokensIn, usage)
	}
	for cost, want := range map[string]float64{"0.5": 0.5, "1e308": 0, "-1e308": 0} {
		m := transcripts.ClaudeStream.Reader()([]byte(`{"type":"result","subtype":"success","session_id":"s","result":"x","usage":{},"total_cost_usd":` + cost + `}`))
		assert.Equal(t, want, m.Notes[0].TreeCostUSD, cost)
	}
}
