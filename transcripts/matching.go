package transcripts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"flame/core"
)

// A Numbered is an entry of a log with its number in the log, from 1.
type Numbered struct {
	Number int
	core.Message
}

// Entries returns the entries of a log, oldest first, without an incomplete last line.
func (l Log) Entries(ctx context.Context) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		number := 0
		for m, err := range Complete(ctx, l) {
			if number++; !yield(Numbered{number, m}, err) {
				return
			}
		}
	}
}

// Matching returns the entries of a log whose text has all these words, which are in lower case, newest
// first. It decodes only these, as they are asked for: a log has many megabytes, and most of them are
// about something else. Of a log with more such entries than maxPlaces it returns the newest.
func (l Log) Matching(ctx context.Context, words []string) iter.Seq2[Numbered, error] {
	return func(yield func(Numbered, error) bool) {
		if !l.Format.inLines() {
			var all []Numbered
			for e, err := range l.Entries(ctx) {
				if err != nil {
					yield(e, err)
					return
				}
				all = append(all, e)
			}
			for _, e := range slices.Backward(all) {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		file, _, err := open(l.Path, core.LogPosition{})
		if err != nil {
			yield(Numbered{}, err)
			return
		}
		defer file.Close()
		places, err := placesOf(ctx, file, words)
		for _, at := range slices.Backward(places) {
			text := make([]byte, at.size)
			if _, err = file.ReadAt(text, at.offset); err != nil || !yield(Numbered{at.number, l.Format.Lines()(bytes.TrimSpace(text))}, nil) {
				break
			}
		}
		if err != nil {
			yield(Numbered{}, err)
		}
	}
}

// A lineAt is the place of a line in a file.
type lineAt struct {
	number       int
	offset, size int64
}

// maxPlaces bounds the lines that are decoded.
const maxPlaces = 2000

// placesOf returns the last lines of a log that have all the words.
func placesOf(ctx context.Context, log io.Reader, words []string) (places []lineAt, err error) {
	lines, lower := newLines(log), []byte(nil)
	for at := (lineAt{number: 1}); ctx.Err() == nil; at.number++ {
		text, err := lines.entry()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrTorn) {
			return places, nil
		}
		if err != nil {
			return places, err
		}
		at.size = lines.end - at.offset
		if lower = lowered(lower, text); at.size <= maxLine && containsAll(lower, words) {
			if places = append(places, at); len(places) >= 2*maxPlaces {
				places = slices.Clone(places[maxPlaces:])
			}
		}
		at.offset = lines.end
	}
	return places, nil
}

// lowered returns text with its letters in lower case, in a buffer that it may grow.
func lowered(buffer, text []byte) []byte {
	buffer = slices.Grow(buffer[:0], len(text))[:len(text)]
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return append(buffer[:i], bytes.ToLower(text[i:])...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buffer[i] = c
	}
	return buffer
}

func containsAll(text []byte, words []string) bool {
	for _, word := range words {
		if !bytes.Contains(text, []byte(word)) {
			return false
		}
	}
	return true
}
