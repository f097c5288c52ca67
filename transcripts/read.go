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

// Read returns what the host has added to its log at path since position from. A
// log that is shorter than that was written anew: it is given from its
// beginning. A last line that is not complete is left for the next time. An
// error, fs.ErrNotExist where there is no such file, ends the stream.
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
			yield(core.LogEntry{Next: from}, fmt.Errorf("the host %q keeps no log that can be read", host))
			return
		}
		for entry, err := range entries(file, format, from, false) {
			if errors.Is(err, ErrTorn) || !yield(entry, err) {
				return
			}
		}
	}
}

// open returns the log at path, to be read on after the position that it returns.
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
