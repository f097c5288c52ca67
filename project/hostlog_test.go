package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/hoststest"
)

// newCounter is a fixture that reads transcripts, with the log of one session.
func newCounter(t *testing.T) (*fixture, hostLog) {
	t.Helper()
	f := newFixture(t)
	f.Transcripts = hoststest.Known().Formats().Read
	return f, newLog(f, "session.jsonl")
}

// A hostLog is a transcript that Claude Code writes.
type hostLog struct {
	f    *fixture
	path string
}

func newLog(f *fixture, name string) hostLog {
	return hostLog{f, filepath.Join(f.t.TempDir(), name)}
}

// write appends text as it is.
func (l hostLog) write(text string) {
	l.f.t.Helper()
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(l.f.t, err)
	_, err = file.WriteString(text)
	require.NoError(l.f.t, err)
	require.NoError(l.f.t, file.Close())
}

// answer writes an answer of the agent, given now: one dollar, as its model
// takes 4 USD for a million tokens.
func (l hostLog) answer(id string) {
	l.f.t.Helper()
	l.write(answerAt(l.f.tick(), id))
}

func answerAt(at core.Millis, id string) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"message":{"id":%q,"model":"claude-opus-5-5","content":[],"usage":{"input_tokens":250000}}}`+"\n",
		stamp(at), id)
}

// prompt writes what a user says, now.
func (l hostLog) prompt(text string) {
	l.f.t.Helper()
	l.write(fmt.Sprintf(`{"type":"user","timestamp":%q,"message":{"content":%q}}`+"\n", stamp(l.f.tick()), text))
}

func stamp(at core.Millis) string { return at.Time().Format(time.RFC3339Nano) }
