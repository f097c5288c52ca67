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

// ErrIncompleteLine ends a log with an incomplete last line: the host still writes it, or was killed.
// The reader has returned everything before that line.
var ErrIncompleteLine = errors.New("the last line is not complete")

const (
	// maxLine bounds the length in bytes of a line that is kept whole: hosts write a
	// file that a tool has read into one line. Of a longer line, only the beginning is
	// kept.
	maxLine = 64 << 20
	// keptOfLong is the number of bytes of that beginning.
	keptOfLong = 4 << 10
	// keptBuffer bounds in bytes the buffer that is kept for the next line.
	keptBuffer = 1 << 20
)

// lines are the lines of a log.
type lines struct {
	r      *bufio.Reader
	buffer []byte
	number int
	end    int64 // position of the next line, in bytes
	spread bool  // entries span lines
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without surrounding blanks. The line is valid until the next call.
// With a last line without a newline it returns an ErrIncompleteLine.
func (l *lines) next() (text []byte, err error) {
	l.number++
	text, size, err := l.read()
	l.end += size
	text = bytes.TrimPrefix(bytes.TrimSpace(text), mark) // of any line: logs are joined, too
	switch {
	case errors.Is(err, io.EOF) && len(text) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return text, fmt.Errorf("line %d: %w", l.number, ErrIncompleteLine)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", l.number, err)
	case size > maxLine:
		return fmt.Appendf(nil, "%s… (a line of %d bytes)", text, size), nil
	}
	return text, nil
}

// entry is next for a log whose entries may span lines. They do if the first one does; entry
// then reads lines until the entry is complete.
func (l *lines) entry() (text []byte, err error) {
	text, err = l.next()
	l.spread = l.spread || l.number == 1 && string(text) == "{"
	if !l.spread || err != nil || string(text) != "{" {
		return text, err
	}
	whole := slices.Clone(text)
	for size := 0; size < maxLine && (string(text) != "}" || !json.Valid(whole)); size += len(text) {
		if text, err = l.next(); err != nil && len(text) == 0 {
			return whole, errors.Join(ErrIncompleteLine, err)
		}
		whole = append(append(whole, '\n'), text...)
	}
	return whole, nil
}

// read returns a line with its newline, or the beginning of a line that is too long, and the
// line's size in bytes.
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

// appendDoubling is append for slices that grow to many megabytes. It copies less than append.
func appendDoubling(to, part []byte) []byte {
	if cap(to)-len(to) < len(part) {
		to = slices.Grow(to, max(len(to), len(part)))
	}
	return append(to, part...)
}
