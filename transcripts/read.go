package transcripts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"flame/core"
)

// Read returns what the host has added to its log at path since position from.
// A log shorter than that was rewritten: it is read from its beginning. An
// incomplete last line is left for the next time. An error, fs.ErrNotExist if
// there is no such file, ends the stream.
func (f Formats) Read(host, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		file, from, err := open(path, from)
		if err != nil {
			yield(core.LogEntry{Next: from}, err)
			return
		}
		defer file.Close()
		format := f.keptBy(host)
		if format == nil {
			yield(core.LogEntry{Next: from}, fmt.Errorf("the host %q keeps no log that flame can read", host))
			return
		}
		for entry, err := range entries(file, format, from, false) {
			if errors.Is(err, ErrTorn) || !yield(entry, err) {
				return
			}
		}
	}
}

// open returns the log at path and the position from which to read on.
func open(path string, from core.LogPosition) (*os.File, core.LogPosition, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, from, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return nil, from, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a file")}
	}
	if info.Size() < from.Offset {
		from = core.LogPosition{}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, from, err
	}
	if _, err := file.Seek(from.Offset, io.SeekStart); err != nil {
		file.Close()
		return nil, from, err
	}
	return file, from, nil
}
