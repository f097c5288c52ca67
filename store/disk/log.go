package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"flame/local/place"
)

// maxLog is the size in bytes at which flame rotates the log; it keeps the previous log.
const maxLog = 10 << 20

// A Log writes a project's log file. It opens the file at the first line, and only once the
// data folder exists: reading creates no files. It drops lines that it cannot write: a log
// must not stop the work that it describes.
type Log struct {
	path    string
	isThere func() bool

	mu   sync.Mutex
	file *os.File
	size int64
}

// NewLog returns the log of the data folder dir. The log opens its file once isThere reports
// that the folder is usable; if isThere is nil, once the folder exists.
func NewLog(dir string, isThere func() bool) *Log {
	if isThere == nil {
		isThere = func() bool { return true }
	}
	return &Log{path: filepath.Join(dir, logName), isThere: isThere}
}

// Write appends one line.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && l.open() != nil {
		return len(line), nil
	}
	n, err := l.file.Write(line)
	if l.size += int64(n); l.size > maxLog {
		err = errors.Join(err, l.rotate())
	}
	if err != nil {
		l.close()
	}
	return len(line), nil
}

func (l *Log) open() error {
	if !l.isThere() {
		return fs.ErrNotExist
	}
	if _, err := examine(filepath.Dir(l.path), logName); err != nil {
		return err
	}
	file, err := place.OpenOwn(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// rotate moves the log aside, unless another process has done so already.
func (l *Log) rotate() error {
	ours, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.close()
	there, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(ours, there) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Rename(l.path, l.path+oldLog)
}

func (l *Log) close() {
	l.file.Close() // each line was written whole, so an error loses nothing
	l.file, l.size = nil, 0
}
