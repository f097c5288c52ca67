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

// A Record is an entry of a log with its number, from 1: that of its line or, in a log without lines, of
// its message.
type Record struct {
	Number int
	core.Message
}

// Matching returns the entries of a log whose text has all these words, which are in lower case, newest
// first. It decodes only these, as they are asked for: a log has many megabytes, and most of them are
// about something else. Of a log with more such entries than maxPlaces it returns the newest.
func (l Log) Matching(ctx context.Context, words []string) iter.Seq2[Record, error] {
	find := l.messagesBackward
	if l.Format.inLines() {
		find = func(ctx context.Context, yield func(Record, error) bool) error {
			return l.matchingLines(ctx, words, yield)
		}
	}
	return func(yield func(Record, error) bool) {
		if err := find(ctx, yield); err != nil {
			yield(Record{}, err)
		}
	}
}

// messagesBackward yields the entries of a log without lines, all of which must be decoded.
func (l Log) messagesBackward(ctx context.Context, yield func(Record, error) bool) error {
	var all []Record
	for m, err := range Complete(ctx, l) {
		if err != nil {
			return err
		}
		all = append(all, Record{len(all) + 1, m})
	}
	for _, r := range slices.Backward(all) {
		if !yield(r, nil) {
			break
		}
	}
	return nil
}

func (l Log) matchingLines(ctx context.Context, words []string, yield func(Record, error) bool) error {
	file, _, err := open(l.Path, core.LogPosition{})
	if err != nil {
		return err
	}
	defer file.Close()
	places, err := placesOf(ctx, file, words)
	for _, at := range slices.Backward(places) {
		text := make([]byte, at.size)
		if _, err := file.ReadAt(text, at.offset); err != nil {
			return err
		}
		for _, m := range l.decode(text) {
			if !yield(Record{at.number, m}, nil) {
				return nil
			}
		}
	}
	return err
}

// decode returns what an entry says, without what a reader would know from those before it.
func (l Log) decode(text []byte) (all []core.Message) {
	parse := l.Format.Lines()
	for _, line := range l.Format.split(bytes.TrimSpace(bytes.TrimPrefix(text, mark))) {
		m := parse(line)
		m.Media = line
		all = append(all, m)
	}
	return all
}

// At returns what the entry with a number says; nothing if there is no such entry.
func (l Log) At(ctx context.Context, number int) (all []core.Message, err error) {
	if !l.Format.inLines() {
		for m, err := range Complete(ctx, l) {
			if number--; err != nil || number == 0 {
				return []core.Message{m}, err
			}
		}
		return nil, nil
	}
	file, _, err := open(l.Path, core.LogPosition{})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := newLines(file); ctx.Err() == nil; number-- {
		text, err := lines.entry()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrIncompleteLine) {
			return nil, nil
		}
		if err != nil || number == 1 {
			return l.decode(text), err
		}
	}
	return nil, ctx.Err()
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
	lacks := func(word string) bool { return !bytes.Contains(lower, []byte(word)) }
	for at := (lineAt{number: 1}); ctx.Err() == nil; at.number++ {
		text, err := lines.entry()
		if errors.Is(err, io.EOF) || errors.Is(err, ErrIncompleteLine) {
			return places, nil
		}
		if err != nil {
			return places, err
		}
		at.size = lines.end - at.offset
		if lower = lowered(lower, text); at.size <= maxLine && !slices.ContainsFunc(words, lacks) {
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
