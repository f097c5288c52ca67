// Package transcripts reads the logs that hosts keep of their sessions, each
// format by a reader of its own, into one stream of core messages: order kept,
// unknown lines kept, the usage of an answer told once. It leaves to others what
// the messages mean for frames.
package transcripts

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"flame/core"
)

// ErrTorn ends a log whose last line is not complete: the host is still writing
// it, or was killed while it did. All before it has been given.
var ErrTorn = errors.New("the last line is not complete")

// maxLine bounds one line in bytes; hosts write whole files that a tool has read
// into one.
const maxLine = 64 << 20

// lines gives the lines of a log with their numbers, from 1. A last line without
// an end is an ErrTorn.
func lines(r io.Reader) iter.Seq2[int, line] {
	return func(yield func(int, line) bool) {
		reader := bufio.NewReaderSize(r, 64<<10)
		var end int64
		for number := 1; ; number++ {
			text, err := readLine(reader)
			end += int64(len(text))
			if errors.Is(err, io.EOF) && len(bytes.TrimSpace(text)) == 0 {
				return
			}
			if errors.Is(err, io.EOF) {
				err = ErrTorn
			}
			if err != nil {
				yield(number, line{err: fmt.Errorf("line %d: %w", number, err)})
				return
			}
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(number, line{text: text, end: end}) {
				return
			}
		}
	}
}

// A line is the text of one line, or why there are no more.
type line struct {
	text []byte
	end  int64 // where the next begins, in bytes
	err  error
}

func readLine(r *bufio.Reader) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return nil, fmt.Errorf("it is longer than %d MB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// other keeps a line that is no message.
func other(text []byte) core.Message {
	return core.Message{Role: core.RoleOther, Raw: bytes.Clone(text)}
}
