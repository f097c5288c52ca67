package supervise

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"

	"flame/core"
)

// Printed yields what the lines of an agent's output mean, as far as it can be read. Lines that
// are no JSON objects are left out.
func Printed(dir string, read func(line []byte) core.Message) iter.Seq[core.Message] {
	return func(yield func(core.Message) bool) {
		output, err := newTail(filepath.Join(dir, OutputFile))
		if err != nil || read == nil {
			return
		}
		defer output.file.Close()
		goes := true
		give := func(line []byte) { goes = goes && (!object(line) || yield(read(line))) }
		for more := true; more && goes && err == nil; {
			more, err = output.lines(give)
		}
		output.last(give)
	}
}

// maxLine bounds a line in bytes; longer ones are skipped. Tools' answers of
// several MB are common.
const maxLine = 16 << 20

// maxBite bounds what one look reads, in bytes, so that a flood does not keep
// the supervisor from its timers.
const maxBite = 1 << 20

// A tail returns the lines by which a file grows.
type tail struct {
	file  *os.File
	rest  []byte // of a line without a newline yet
	skips bool   // the line is too long: the rest of it is skipped
}

func newTail(path string) (*tail, error) {
	file, err := Open(path)
	return &tail{file: file}, err
}

// lines yields the complete lines that were added since the last call, at most about maxBite
// bytes, and reports whether there are more. An object that is whole counts as a line once nothing
// follows: a host may stay without ending it.
func (t *tail) lines(give func(line []byte)) (more bool, err error) {
	bite, err := io.ReadAll(io.LimitReader(t.file, maxBite))
	if err != nil {
		return false, err
	}
	more = len(bite) == maxBite
	for {
		line, after, ended := bytes.Cut(bite, []byte{'\n'})
		if !ended {
			if t.keep(bite); len(bite) == 0 && bytes.HasSuffix(t.rest, []byte{'}'}) && json.Valid(t.rest) {
				t.last(give)
			}
			return more, nil
		}
		if t.keep(line); !t.skips && len(bytes.TrimSpace(t.rest)) > 0 {
			give(t.rest)
		}
		t.rest, t.skips, bite = nil, false, after
	}
}

func (t *tail) last(give func(line []byte)) {
	if !t.skips && len(bytes.TrimSpace(t.rest)) > 0 {
		give(t.rest)
	}
	t.rest = nil
}

// skipToEnd leaves out all but the last lines, of at most maxBite bytes.
func (t *tail) skipToEnd() {
	info, err := t.file.Stat()
	if err != nil {
		return
	}
	at, err := t.file.Seek(0, io.SeekCurrent)
	if end := info.Size() - maxBite + 1; err == nil && at < end {
		_, _ = t.file.Seek(end, io.SeekStart) // if it fails, more is read
		t.rest, t.skips = nil, true           // the line that is cut
	}
}

// object reports whether a line may be a JSON object, which all lines of hosts are.
func object(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\ufeff")
	return len(line) > 0 && line[0] == '{'
}

func (t *tail) keep(part []byte) {
	switch {
	case t.skips:
	case len(t.rest)+len(part) > maxLine:
		t.rest, t.skips = nil, true
	default:
		t.rest = append(t.rest, part...)
	}
}
