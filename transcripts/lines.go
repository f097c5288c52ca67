package transcripts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrTorn ends a log whose last line is incomplete: the host is still writing
// it, or was killed meanwhile. Everything before it has been returned.
var ErrTorn = errors.New("the last line is not complete")

const (
	// maxLine bounds the length in bytes of a line that is read whole; hosts
	// write whole files that a tool has read into one. Of a longer one only the
	// beginning is kept.
	maxLine = 64 << 20
	// keptOfLong is the number of bytes kept of such a line.
	keptOfLong = 4 << 10
	// keptBuffer bounds in bytes the memory held for the next line.
	keptBuffer = 1 << 20
)

// lines are those of a log.
type lines struct {
	r      *bufio.Reader
	buffer []byte
	number int
	end    int64 // where the next line begins, in bytes
	spread bool  // entries span lines
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without surrounding blanks; it is valid until the
// next call. A last line without a newline comes with an ErrTorn.
func (l *lines) next() (text []byte, err error) {
	l.number++
	text, size, err := l.read()
	l.end += size
	text = bytes.TrimSpace(text)
	switch {
	case errors.Is(err, io.EOF) && len(text) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return text, fmt.Errorf("line %d: %w", l.number, ErrTorn)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", l.number, err)
	case size > maxLine:
		return fmt.Appendf(nil, "%s… (a line of %d bytes)", text, size), nil
	}
	return text, nil
}

// entry is next in a log whose entries may span lines, if its first one does: then an
// entry is what comes until it is whole.
func (l *lines) entry() (text []byte, err error) {
	text, err = l.next()
	l.spread = l.spread || l.number == 1 && string(text) == "{"
	if !l.spread || err != nil || string(text) != "{" {
		return text, err
	}
	whole := slices.Clone(text)
	for size := 0; size < maxLine && (string(text) != "}" || !json.Valid(whole)); size += len(text) {
		if text, err = l.next(); err != nil && len(text) == 0 {
			return whole, errors.Join(ErrTorn, err)
		}
		whole = append(append(whole, '\n'), text...)
	}
	return whole, nil
}

// read returns a line with its newline, or the beginning of one that is too
// long, and its size in bytes.
func (l *lines) read() (text []byte, size int64, err error) {
	part, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, int64(len(part)), err
	}
	if cap(l.buffer) > keptBuffer {
		l.buffer = nil
	}
	l.buffer = l.buffer[:0]
	for {
		size += int64(len(part))
		if size <= maxLine {
			l.buffer = appendDoubling(l.buffer, part)
		} else if len(l.buffer) > keptOfLong {
			l.buffer = slices.Clone(l.buffer[:keptOfLong])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.buffer, size, err
		}
		part, err = l.r.ReadSlice('\n')
	}
}

// appendDoubling is append for slices that grow to many megabytes: it copies
// less.
func appendDoubling(to, part []byte) []byte {
	if cap(to)-len(to) < len(part) {
		to = slices.Grow(to, max(len(to), len(part)))
	}
	return append(to, part...)
}
