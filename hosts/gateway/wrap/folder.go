package wrap

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flame/core"
)

// id matches what env.Gateway may hold.
var id = core.Pattern(`^gateway-[a-z0-9]{8}$`)

// A Folder has the files of one front. Other users may not read them.
type Folder struct {
	ID   string
	Path string

	held *os.File // locked while the front runs
}

// folders is the part of a project's data that the folders of fronts are in.
const folders = "gateway"

// addressFile says where a gateway is, and what is behind it.
const addressFile = "address.json"

// An Endpoint is where a gateway is, and what is behind it.
type Endpoint struct {
	Base     string `json:"base"`     // the base URL that its program uses
	Host     string `json:"host"`     // name of the host that it is for
	Upstream string `json:"upstream"` // the base URL of the model's API
	Folding  string `json:"folding"`  // what the gateway does to requests

	Network map[string]string `json:"network"` // variables by which it reaches the network; empty: not set
}

// temporary begins the names of folders outside of a project's data.
const temporary = "flame-"

// MakeFolder makes the folder of a front in a project's data, or a temporary one if data is
// empty, and removes those of fronts that were killed.
func MakeFolder(data, name string) (*Folder, error) {
	f, prefix := &Folder{ID: name, Path: filepath.Join(data, folders, name)}, ""
	if data == "" {
		f.Path, prefix = filepath.Join(os.TempDir(), temporary+name), temporary
	}
	in, err := openFolders(data)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	removeLeft(in, prefix)
	if err := in.Mkdir(prefix+name, 0o700); err != nil {
		return nil, err
	}
	if f.held, err = in.Open(prefix + name); err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// openFolders opens what the folders of fronts are in.
func openFolders(data string) (*os.Root, error) {
	if data == "" {
		return os.OpenRoot(os.TempDir())
	}
	in, err := os.OpenRoot(data)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := in.Mkdir(folders, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return in.OpenRoot(folders)
}

// fresh is how long a folder may be without its lock when it is made.
const fresh = time.Minute

// removeLeft removes the folders of fronts that are gone, as far as it can.
func removeLeft(in *os.Root, prefix string) {
	all, err := in.Open(".")
	if err != nil {
		return
	}
	defer all.Close()
	entries, _ := all.ReadDir(-1) // of those that can be read
	for _, entry := range entries {
		name, ours := strings.CutPrefix(entry.Name(), prefix)
		info, err := entry.Info()
		if err != nil || !ours || !id().MatchString(name) || !private(info) || time.Since(info.ModTime()) < fresh {
			continue
		}
		dir, err := in.Open(entry.Name())
		if err != nil {
			continue
		}
		if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = in.RemoveAll(entry.Name())
		}
		dir.Close()
	}
}

// private reports whether a folder is this user's own: others may write to a folder for
// temporary ones.
func private(info os.FileInfo) bool {
	status, known := info.Sys().(*syscall.Stat_t)
	return info.Mode() == os.ModeDir|0o700 && known && int(status.Uid) == os.Geteuid()
}

func (f *Folder) write(name string, content []byte) (string, error) {
	path := filepath.Join(f.Path, name)
	return path, os.WriteFile(path, content, 0o600)
}

// WriteSettings writes the settings file of the program and returns its path.
func (f *Folder) WriteSettings(content []byte) (string, error) {
	return f.write("settings.json", content)
}

// Note writes down where the gateway is, for processes that look for it with Find.
func (f *Folder) Note(a Endpoint) error {
	content, err := json.Marshal(a)
	if err == nil {
		_, err = f.write(addressFile, content)
	}
	return err
}

// Remove removes the folder.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	if f.held != nil {
		err = errors.Join(err, f.held.Close())
	}
	return err
}

// maxAddress bounds what Find reads, in bytes.
const maxAddress = 64 << 10

// Find returns the address of a gateway by the value of env.Gateway, from a project's data; ok
// is false if no gateway has that name.
func Find(data, name string) (a Endpoint, ok bool) {
	if data == "" || !id().MatchString(name) {
		return a, false
	}
	in, err := os.OpenRoot(data)
	if err != nil {
		return a, false
	}
	defer in.Close()
	path := filepath.Join(folders, name, addressFile)
	if info, err := in.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxAddress {
		return a, false
	}
	content, err := in.ReadFile(path)
	if err != nil || json.Unmarshal(content, &a) != nil {
		return Endpoint{}, false
	}
	return a, a.Upstream != ""
}

// IsAt reports whether the gateway is at a base URL.
func (a Endpoint) IsAt(base string) bool { return a.Base != "" && a.Base == base }
