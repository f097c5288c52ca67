package supervise

import (
	"bytes"
	"io"
	"os"
)

// maxLine bounds a line in bytes; longer ones are skipped. Tools' answers of
// several MB are common.
const maxLine = 16 << 20

// maxBite bounds what one look reads, in bytes, so that a flood does not keep
// the supervisor from its timers.
const maxBite = 4 << 20

// A tail returns the lines by which a file grows.
type tail struct {
	file  *os.File
	rest  []byte // of a line without a newline yet
	skips bool   // the line is too long: the rest of it is skipped
}

func newTail(path string) (*tail, error) {
	file, err := openFile(path)
	return &tail{file: file}, err
}

func (t *tail) close() { _ = t.file.Close() } // it was only read

// lines passes on the whole lines added since, at most about maxBite bytes of
// them, and reports whether there is more.
func (t *tail) lines(give func(line []byte)) (more bool, err error) {
	bite, err := io.ReadAll(io.LimitReader(t.file, maxBite))
	if err != nil {
		return false, err
	}
	more = len(bite) == maxBite
	for {
		line, after, ended := bytes.Cut(bite, []byte{'\n'})
		if !ended {
			t.keep(bite)
			return more, nil
		}
		if t.keep(line); !t.skips && len(bytes.TrimSpace(t.rest)) > 0 {
			give(t.rest)
		}
		t.rest, t.skips, bite = nil, false, after
	}
}

// keep appends to the incomplete line.
func (t *tail) keep(part []byte) {
	switch {
	case t.skips:
	case len(t.rest)+len(part) > maxLine:
		t.rest, t.skips = nil, true
	default:
		t.rest = append(t.rest, part...)
	}
}
