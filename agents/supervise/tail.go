package supervise

import (
	"bytes"
	"io"
	"os"
)

// maxLine bounds a line in bytes; of a longer one nothing is known. Tools' answers
// of some MB are common.
const maxLine = 16 << 20

// maxBite bounds what one look reads, in bytes, so that a flood does not keep the
// supervisor from its clocks.
const maxBite = 4 << 20

// A tail gives the lines that a file grows by.
type tail struct {
	file  *os.File
	rest  []byte // of a line without an end yet
	skips bool   // the line is too long: what is left of it is passed over
}

func newTail(path string) (*tail, error) {
	file, err := openFile(path)
	return &tail{file: file}, err
}

func (t *tail) close() { _ = t.file.Close() } // it was only read

// lines returns the whole lines that came since, at most about maxBite bytes of
// them, and whether there is more.
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

// keep adds to the line that is not complete.
func (t *tail) keep(part []byte) {
	switch {
	case t.skips:
	case len(t.rest)+len(part) > maxLine:
		t.rest, t.skips = nil, true
	default:
		t.rest = append(t.rest, part...)
	}
}
