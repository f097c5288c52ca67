package transcripts_test

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

// database makes OpenCode's database of the family in a folder of its own. It stays open, like
// the database of a running client.
func database(t *testing.T) (path string, db *sql.DB) {
	path = filepath.Join(t.TempDir(), "opencode's #1?.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3f", " ", "%20").Replace(path)+"?_pragma=journal_mode(wal)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec(sample(t, "family/opencode.sql"))
	require.NoError(t, err)
	return path, db
}

func TestALogIsRecognizedByItsContent(t *testing.T) {
	db, _ := database(t)
	in := func(name string) string { return filepath.Join("testdata", name) }
	for name, tt := range map[string]struct {
		path   string
		want   *transcripts.Format
		host   string
		agents int // number of its subagents' logs
	}{
		"a session's file, with its subagents": {in(claudeFamily + ".jsonl"), transcripts.ClaudeSession, "claude-code", 5},
		"a session's folder":                   {in(claudeFamily), transcripts.ClaudeSession, "claude-code", 5},
		"its folder of subagents":              {in(claudeFamily + "/subagents"), transcripts.ClaudeSession, "claude-code", 5},
		"a folder of sessions":                 {in("family/claude"), transcripts.ClaudeSession, "claude-code", 5},
		"a session's file without subagents":   {in("compact.jsonl"), transcripts.ClaudeSession, "claude-code", 0},
		"output of Claude Code":                {in("family/stream.ndjson"), transcripts.ClaudeStream, "claude-code", 0},
		"output of OpenCode":                   {in("family/run.ndjson"), transcripts.OpenCodeRun, "opencode", 0},
		"an export":                            {in("family/export.json"), transcripts.OpenCodeExport, "opencode", 0},
		"OpenCode's database":                  {db, transcripts.OpenCodeStore, "opencode", 0},
		"the folder of OpenCode's database":    {filepath.Dir(db), transcripts.OpenCodeStore, "opencode", 0},
	} {
		t.Run(name, func(t *testing.T) {
			logs := detected(t, tt.path)
			require.Len(t, logs, 1+tt.agents)
			assert.Same(t, tt.want, logs[0].Format)
			assert.Equal(t, tt.host, logs[0].Host())
			assert.Empty(t, logs[0].Agent)
			for _, log := range logs[1:] {
				assert.Equal(t, filepath.Base(claudeFamily), log.Session)
				assert.NotEmpty(t, log.Agent)
			}
		})
	}
}

func TestInputIsRecognizedByItsFirstLine(t *testing.T) {
	for name, want := range map[string]*transcripts.Format{
		"family/stream.ndjson": transcripts.ClaudeStream, "family/run.ndjson": transcripts.OpenCodeRun,
		"nested.jsonl": transcripts.ClaudeSession, "family/export.json": transcripts.OpenCodeExport,
	} {
		r, w := io.Pipe()
		go func() {
			first, rest, _ := strings.Cut(sample(t, name), "\n")
			_, _ = io.WriteString(w, first+"\n")
			_, _ = io.WriteString(w, rest)
			w.Close()
		}()
		logs, err := formats.Detect("-", r)
		require.NoError(t, err, name)
		require.Len(t, logs, 1)
		assert.Same(t, want, logs[0].Format, name)
		whole := sampled(t, name)
		read := all(t, logs[0].Messages(t.Context()))
		assert.Equal(t, whole, read, "the reader returns the beginning, too")
	}
}

func TestSubagentsOfTheOldLayoutAreBesideTheirSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a] project")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("s1.jsonl", `{"type":"user","sessionId":"s1","message":{"content":"go"}}`+"\n")
	write("s2.jsonl", `{"type":"summary","summary":"x","leafUuid":"u"}`+"\n"+`{"type":"user","sessionId":"s2","message":{"content":"go"}}`+"\n")
	write("agent-1234abc.jsonl", `{"type":"user","isSidechain":true,"agentId":"1234abc","sessionId":"s1","message":{"content":"go"}}`+"\n")
	write("agent-5678def.jsonl", `{"type":"user","isSidechain":true,"agentId":"5678def","sessionId":"s2","message":{"content":"go"}}`+"\n")
	logs := detected(t, filepath.Join(dir, "s2.jsonl"))
	require.Len(t, logs, 2)
	assert.Equal(t, "5678def", logs[1].Agent)
	logs = detected(t, dir)
	assert.Len(t, logs, 4)
}

func TestFlamesOwnFolderIsSkipped(t *testing.T) {
	dir := t.TempDir()
	line := []byte(`{"type":"user","sessionId":"s","message":{"content":"hello"}}` + "\n")
	inside := filepath.Join(dir, ".flame", "agents", "agent-1")
	require.NoError(t, os.MkdirAll(inside, 0o755))
	for _, path := range []string{filepath.Join(dir, "s.jsonl"), filepath.Join(inside, "stdout.jsonl"), filepath.Join(dir, ".flame", "other.jsonl")} {
		require.NoError(t, os.WriteFile(path, line, 0o644))
	}
	for path, want := range map[string]int{dir: 1, inside: 1, filepath.Join(dir, ".flame"): 2} {
		logs := detected(t, path)
		assert.Len(t, logs, want, path)
	}
}

func TestOtherFilesAreNoLogs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty.jsonl": "", "prose.txt": "Dear all,\n", "other.json": `{"info": 3}`, "list.json": "[1]"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		_, err := formats.Detect(filepath.Join(dir, name), nil)
		require.ErrorIs(t, err, core.ErrInvalid, name)
		_, err = formats.Detect("-", strings.NewReader(text))
		require.ErrorIs(t, err, core.ErrInvalid, name)
	}
	_, err := formats.Detect(dir, nil)
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = formats.Detect(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = formats.Detect("/dev/null", nil)
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestOpenCodesDatabaseIsReadDuringWrites(t *testing.T) {
	path, db := database(t)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("INSERT INTO message SELECT 'msg_zzz', session_id, time_created+1000000, time_updated, data FROM message LIMIT 1")
	require.NoError(t, err)
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	sessions, messages := map[string]int{}, 0
	for m, err := range transcripts.OpenCodeDB(t.Context(), path, "") {
		require.NoError(t, err)
		sessions[m.Session]++
		messages++
	}
	assert.Len(t, sessions, 5)
	assert.Equal(t, 20, messages, "a row of each session, and its messages")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after, "the reader writes nothing")
}

func TestASessionOfADatabaseIncludesThoseBelowIt(t *testing.T) {
	path, _ := database(t)
	var said []string
	for m, err := range transcripts.OpenCodeDB(t.Context(), path, "ses_e02cbaefaffeDJauD5BUv5xA8Q") {
		require.NoError(t, err)
		for _, p := range m.Parts {
			if p.Type == core.PartText {
				said = append(said, p.Text)
			}
		}
	}
	assert.Equal(t, []string{"ONEWORK go", "I look", "ONE-RESULT", "LEAFWORK go", "LEAF-RESULT"}, said)
}

func TestAnotherDatabaseIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE t (x)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for _, path := range []string{path, filepath.Join(t.TempDir(), "none.db")} {
		_, failed := collectDB(t, path)
		require.ErrorContains(t, failed, "OpenCode's database")
		_, err = os.Stat(filepath.Join(filepath.Dir(path), "none.db"))
		require.ErrorIs(t, err, os.ErrNotExist, "the reader makes no file")
	}
}

// Each database that flame cannot read is refused in words about its tables, not in SQL's.
func TestDatabasesOfOtherVersionsAreRefusedInWords(t *testing.T) {
	for name, tt := range map[string]struct{ sql, want string }{
		"another program's":        {"CREATE TABLE base_messages (x)", "a database of another program"},
		"sessions alone":           {"CREATE TABLE session (id)", "a database of another program"},
		"messages elsewhere":       {"CREATE TABLE session (id); CREATE TABLE session_message (id, session_id, type, data)", "in one that flame cannot read yet"},
		"messages without parts":   {"CREATE TABLE session (id); CREATE TABLE message (id)", "in one that flame cannot read yet"},
		"columns with other names": {"CREATE TABLE session (key); CREATE TABLE message (key); CREATE TABLE part (key)", "not the columns that flame reads"},
	} {
		path := filepath.Join(t.TempDir(), "opencode.db")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(tt.sql)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		_, failed := collectDB(t, path)
		require.ErrorIs(t, failed, core.ErrInvalid, name)
		assert.ErrorContains(t, failed, tt.want, name)
		assert.NotContains(t, failed.Error(), "SQL", name)
	}
}

// In a folder where SQLite can make no file, it opens a database with a write-ahead log only as one that
// never changes; here a link to nowhere is in the file's place.
func TestADatabaseWithoutAPlaceForItsFilesIsRead(t *testing.T) {
	path, db := database(t)
	copied := filepath.Join(t.TempDir(), "opencode.db")
	_, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(copied, whole, 0o444))
	require.NoError(t, os.Symlink("nowhere/at/all", copied+"-shm"))
	want, failed := collectDB(t, path)
	require.NoError(t, failed)
	got, failed := collectDB(t, copied)
	require.NoError(t, failed)
	assert.Equal(t, want, got)
	require.NoError(t, os.WriteFile(copied+"-wal", []byte("writes"), 0o444))
	_, failed = collectDB(t, copied)
	require.ErrorIs(t, failed, core.ErrUnavailable)
	assert.ErrorContains(t, failed, "write-ahead log")
}

func TestTheFilesOfOpenCodeBeforeItsDatabaseAreNamed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"storage/session/p/ses_1.json", "storage/message/ses_1/msg_1.json"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(`{"id":"x"}`), 0o600))
	}
	for _, path := range []string{dir, filepath.Join(dir, "storage")} {
		_, err := formats.Detect(path, nil)
		require.ErrorIs(t, err, core.ErrInvalid)
		assert.ErrorContains(t, err, "OpenCode before 1.2")
	}
}

func collectDB(t *testing.T, path string) (messages []core.Message, failed error) {
	for m, err := range transcripts.OpenCodeDB(t.Context(), path, "") {
		if err != nil {
			failed = err
			continue
		}
		messages = append(messages, m)
	}
	return messages, failed
}
