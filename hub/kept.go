package hub

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"flame/core"
	"flame/project/place"
	"flame/whole"
)

// linkName is the file in a project's data folder that says which hub it is joined to.
const linkName = "hub.json"

// maxLink is the greatest size of that file in bytes.
const maxLink = 16 << 10

// Load reads the link of a project from its data folder. If it is joined to no hub, the
// error is fs.ErrNotExist.
func Load(data string) (l Link, err error) {
	path := filepath.Join(data, linkName)
	text, err := readOwn(path, maxLink)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, core.ErrUnavailable) {
		return l, err
	}
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(text), &l)
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return l, core.Invalidf("%s cannot be used: %v", path, err).WithHint("`flame leave` removes it; then join anew")
	}
	return l, nil
}

// readOwn reads a file of the data folder of at most max bytes. If it is not there, the
// error is fs.ErrNotExist; if it may not be used, ErrUnavailable.
func readOwn(path string, max int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, core.Unavailablef(err, "%s cannot be read: %v", path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = place.Trusted(path, info, 0)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, max+1))
	if err == nil && int64(len(text)) > max {
		err = errors.New("it is too long")
	}
	return text, err
}

// Save keeps the link of a project in its data folder, which must exist.
func Save(data string, l Link) error {
	return writeOwn(filepath.Join(data, linkName), l)
}

// writeOwn writes a document to a file of the data folder.
func writeOwn(path string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(path, 0o600, func(to io.Writer) error {
		_, err := to.Write(append(text, '\n'))
		return err
	})
}

// Remove has a project be joined to no hub.
func Remove(data string) error {
	return removeOwn(filepath.Join(data, linkName))
}

// removeOwn removes a file of the data folder, if it is there.
func removeOwn(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// NewMachine returns an id for this machine on a hub: its name, as far as that is fit for
// one, and some random characters.
func NewMachine() string {
	name, _ := os.Hostname() // without one, the random characters alone tell it apart
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name), "-")
	if name = name[:min(len(name), 30)]; name == "" {
		name = "machine"
	}
	return name + "-" + strings.ToLower(rand.Text()[:5])
}
