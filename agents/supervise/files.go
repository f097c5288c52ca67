package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// An agent can write to its folder, so its content is not trusted: links are
// not followed, pipes are not waited for, and reads are bounded.

// openFile opens a regular file in an agent's folder for reading.
func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = file.Close() // it was only looked at
		return nil, err
	}
	return file, nil
}

// ReadSome reads a file in an agent's folder, at most so many bytes, and reports whether
// there are more.
func ReadSome(path string, most int64) (text []byte, more bool, err error) {
	return ReadFrom(path, 0, most)
}

// ReadFrom is ReadSome from an offset on, in bytes.
func ReadFrom(path string, offset, most int64) (text []byte, more bool, err error) {
	file, err := openFile(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(file, most+1))
	if more = int64(len(text)) > most; more {
		text = text[:most]
	}
	return text, more, err
}

// readFile reads a file of at most so many bytes.
func readFile(path string, most int64) ([]byte, error) {
	raw, more, err := ReadSome(path, most)
	if err == nil && more {
		err = fmt.Errorf("%s has over %d bytes", path, most)
	}
	return raw, err
}

// save writes a document atomically.
func save(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fresh := path + ".new"
	_ = os.Remove(fresh) // left by a process that was killed, if any
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
