package claudecode

import (
	"io"
	"os"
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
		t := transcripts.ClaudeTurn(tailOf(e.Transcript), e.Session, asked)
		return autonomy.Seen{
			Calls: t.Calls, Stopped: t.Stopped, Model: t.Model, Tokens: t.Tokens,
			Whole: !asked || strings.TrimSpace(t.Said) == strings.TrimSpace(e.LastMessage),
		}
	})
}

// tailOf returns the end of a file of the user's own; nil if it cannot be read.
func tailOf(path string) []byte {
	if path == "" {
		return nil
	}
	file, err := confine.Follow("").Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	return endOf(file)
}

func endOf(file *os.File) []byte {
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	if _, err := file.Seek(max(0, info.Size()-maxTail), io.SeekStart); err != nil {
		return nil
	}
	end, err := io.ReadAll(io.LimitReader(file, maxTail))
	if err != nil {
		return nil
	}
	return end
}
