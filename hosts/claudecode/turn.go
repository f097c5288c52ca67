package claudecode

import (
	"io"
	"strings"
	"sync"

	"flame/confine"
	"flame/project/autonomy"
	"flame/transcripts"
)

// maxTail bounds how much of the end of a session's log a hook reads, in bytes: it holds
// the last calls of a turn, and takes about a millisecond.
const maxTail = 128 << 10

// seen returns a function that returns what the session's log shows of the turn that ended
// last, which is read once. A log that is missing, foreign or behind makes it poorer.
// asked is as for transcripts.ClaudeTurn.
func (e event) seen(asked bool) func() autonomy.Seen {
	return sync.OnceValue(func() autonomy.Seen {
		t := transcripts.ClaudeTurn(tailOf(e.Transcript, maxTail), transcripts.Of{Session: e.Session}, asked)
		return autonomy.Seen{
			Calls: t.Calls, Stopped: t.Stopped, Model: t.Model, Tokens: t.Tokens,
			Whole: !asked || strings.TrimSpace(t.Said) == strings.TrimSpace(e.LastMessage),
		}
	})
}

// tailOf returns the end of a file of the user's own, at most size bytes of it; nil if it
// cannot be read.
func tailOf(path string, size int64) []byte {
	return partOf(path, size, func(whole int64) int64 { return max(0, whole-size) })
}

// headOf is tailOf for the beginning.
func headOf(path string, size int64) []byte {
	return partOf(path, size, func(int64) int64 { return 0 })
}

func partOf(path string, size int64, from func(whole int64) int64) []byte {
	if path == "" {
		return nil
	}
	file, err := confine.Follow("").Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	part, err := io.ReadAll(io.NewSectionReader(file, from(info.Size()), size))
	if err != nil {
		return nil
	}
	return part
}
