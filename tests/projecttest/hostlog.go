package projecttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/sweep"
	"flame/project/usage"
	"flame/tests/hoststest"
)

// NewCounter returns a fixture that reads transcripts, and the log of one session.
func NewCounter(t *testing.T) (*Fixture, HostLog) {
	f := New(t)
	f.Transcripts = hoststest.Known().Formats().Read
	return f, NewLog(f, "session.jsonl")
}

// A HostLog is a transcript that Claude Code writes.
type HostLog struct {
	F    *Fixture
	Path string
}

// NewLog returns a log that does not exist yet.
func NewLog(f *Fixture, name string) HostLog {
	return HostLog{f, filepath.Join(f.T.TempDir(), name)}
}

// Write appends text as it is.
func (l HostLog) Write(text string) {
	file, err := os.OpenFile(l.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(l.F.T, err)
	_, err = file.WriteString(text)
	require.NoError(l.F.T, err)
	require.NoError(l.F.T, file.Close())
}

// Answer writes an answer of the agent at the current time. It costs one dollar: its model takes 4
// USD for a million tokens.
func (l HostLog) Answer(id string) {
	l.Write(AnswerAt(l.F.Tick(), id))
}

// AnswerAt returns the line of an answer at that time.
func AnswerAt(at core.Millis, id string) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"message":{"id":%q,"model":"claude-opus-5-5","content":[],"usage":{"input_tokens":250000}}}`+"\n",
		Stamp(at), id)
}

// Prompt writes a user's prompt at the current time.
func (l HostLog) Prompt(text string) {
	l.Write(fmt.Sprintf(`{"type":"user","timestamp":%q,"message":{"content":%q}}`+"\n", Stamp(l.F.Tick()), text))
}

// Stamp returns a time in the form of logs.
func Stamp(at core.Millis) string { return at.Time().Format(time.RFC3339Nano) }

// Count counts the log of a session.
func (f *Fixture) Count(by project.Caller, l HostLog) {
	f.CountLater(by, l)
	f.Sweep()
}

// CountLater reports that the log has grown.
func (f *Fixture) CountLater(by project.Caller, l HostLog) {
	require.NoError(f.T, usage.CountLater(f.Ctx, f.Project, by, l.Path))
}

// Sweep does the work that is due a moment later.
func (f *Fixture) Sweep() {
	f.Tick()
	require.NoError(f.T, sweep.RunOnce(f.Ctx, f.Project))
}
