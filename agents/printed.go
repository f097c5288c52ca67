package agents

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/whole"
)

// A Piece is a part of what an agent elsewhere prints, as its worker tells it.
type Piece struct {
	Offset int64 // where it begins in what this attempt prints, in bytes
	Text   []byte
}

// A printout is the file of what an agent elsewhere printed, over all its attempts.
type printout struct {
	path   string
	before int64 // bytes of it that lost attempts printed
}

func printoutOf(a *Agents, run record.Run) printout {
	return printout{filepath.Join(a.Folder(run.ID), supervise.OutputFile), run.Printed}
}

// add writes a piece, unless one before it is missing: that is had at the end.
func (p printout) add(piece Piece) error {
	file, err := os.OpenFile(p.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if has, end := size-p.before, piece.Offset+int64(len(piece.Text)); has < piece.Offset || has >= end || end > maxAwayOutput {
		return nil
	}
	if _, err := file.WriteAt(piece.Text, p.before+piece.Offset); err != nil {
		return err
	}
	return file.Close()
}

// size returns how many bytes there are, once the last line is whole.
func (p printout) size() (int64, error) {
	file, err := os.OpenFile(p.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	last := []byte{'\n'}
	if err == nil && size > 0 {
		_, err = file.ReadAt(last, size-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = file.WriteString("\n")
		size++
	}
	return size, err
}

// replace has what this attempt printed be what fetch writes.
func (p printout) replace(fetch func(io.Writer) error) error {
	return whole.Write(p.path, 0o600, func(to io.Writer) error {
		if p.before > 0 {
			was, err := os.Open(p.path)
			if err != nil {
				return err
			}
			defer was.Close()
			if _, err := io.CopyN(to, was, p.before); err != nil {
				return err
			}
		}
		return fetch(to)
	})
}

// PrintedBy returns what an agent of this machine printed from an offset on, at most so many
// bytes.
func PrintedBy(a *Agents, id string, offset, most int64) ([]byte, error) {
	text, _, err := supervise.ReadFrom(filepath.Join(a.Folder(id), supervise.OutputFile), offset, most)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// told passes on to the follower what a worker tells, until ctx ends.
func told[T any](ctx context.Context, to chan<- T, what T) {
	select {
	case to <- what:
	case <-ctx.Done():
	}
}
