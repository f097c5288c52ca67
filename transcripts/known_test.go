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
				logs, err := formats.Detect(at, nil)
				require.NoError(t, err)
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
	logs, err := formats.Detect(path, nil)
	require.NoError(t, err)
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
	logs, err := formats.Detect(path, nil)
	require.NoError(t, err)
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
		logs, err := formats.Detect(path, nil)
		require.NoError(t, err)
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
