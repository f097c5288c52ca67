package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flame/core"
	"flame/project/place"
	"flame/store/disk"
	"flame/whole"
)

// The files of a hub's folder.
const (
	ledgerName = "machines.json"
	confName   = "nats.conf"
	certName   = "cert.pem"
	keyName    = "key.pem"
	logName    = "nats.log"
	hubLock    = "hub.lock" // held by `flame hub` while it runs
	editLock   = "machines.lock"
)

// A Folder is where a hub keeps what it knows.
type Folder struct {
	Path string // absolute
	// Temporary allows a folder that the machine loses when it restarts.
	Temporary bool
}

// DefaultFolder returns where a user's hub keeps its data: below dataHome, that is
// XDG_DATA_HOME, or else below home.
func DefaultFolder(dataHome, home string) string {
	if !filepath.IsAbs(dataHome) {
		dataHome = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dataHome, "flame-hub")
}

// otherData is the hint for a folder that cannot be used.
const otherData = "name another folder with --data"

// check refuses a folder that is another's, or that loses what it holds. A folder that is
// missing is as good as one that can be made.
func (f Folder) check() error {
	if strings.ContainsFunc(f.Path, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c == 0x7f }) || !filepath.IsAbs(f.Path) {
		return core.Invalidf("the path %q cannot be written into the server's configuration", f.Path).WithHint(otherData)
	}
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return core.Unavailablef(err, "%s cannot be used: %v", f.Path, err).WithHint(otherData)
	default:
		if err := trusted(f.Path, info, fs.ModeDir); err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return core.Invalidf("%s can be read by others, and keys are kept in it", f.Path).WithHint("`chmod 700 %s`, or %s", f.Path, otherData)
		}
	}
	if err := place.Suited(f.Path); err != nil {
		return core.Unavailablef(nil, "%v", err).WithHint("name a folder on a local disk with --data")
	}
	if !f.Temporary && isTemporary(f.Path) {
		return core.Invalidf("%s is temporary: it is emptied when the machine restarts, or before", f.Path).
			WithHint("%s; for a trial, --temporary allows it", otherData)
	}
	return nil
}

// trusted refuses a file or folder that is not of this kind, or that others may change.
func trusted(path string, info fs.FileInfo, want fs.FileMode) error {
	if err := place.Trusted(path, info, want); err != nil {
		return core.Unavailablef(err, "%v", err).WithHint("move it away, or make it yours alone to write; or " + otherData)
	}
	return nil
}

// isTemporary reports whether what a folder holds may be gone after a restart.
func isTemporary(path string) bool {
	real, err := filepath.EvalSymlinks(place.Nearest(path))
	if err != nil {
		return false // and nothing can be written there either
	}
	for _, temporary := range []string{"/tmp", "/dev/shm", os.TempDir()} {
		for _, dir := range []string{path, real} {
			if rel, err := filepath.Rel(temporary, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return true
			}
		}
	}
	return inMemory(real)
}

// free returns how many bytes can still be written; false if that is not known.
func (f Folder) free() (bytes int64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(f.Path, &st); err != nil {
		return 0, false
	}
	return int64(min(uint64(st.Bavail)*uint64(st.Bsize), math.MaxInt64)), true
}

// prepare checks the folder and makes it.
func (f Folder) prepare() error {
	if err := f.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return core.Unavailablef(err, "%s cannot be made: %v", f.Path, err).WithHint(otherData)
	}
	return f.check() // it may have been another's meanwhile
}

// isHub refuses a folder in which no hub has run.
func (f Folder) isHub() error {
	if err := f.check(); err != nil {
		return err
	}
	for _, name := range []string{ledgerName, certName} {
		if _, err := os.Lstat(f.file(name)); !errors.Is(err, fs.ErrNotExist) {
			return nil // or one that reading it says
		}
	}
	return core.NotFoundf("there is no hub in %s", f.Path).WithHint("name its folder with --data; or start one: `flame hub`")
}

// file returns the path of a file of the folder.
func (f Folder) file(name string) string { return filepath.Join(f.Path, name) }

// maxFile is the most that is read of a file, in bytes.
const maxFile = 8 << 20

// read returns the content of a file of the folder, if it can be trusted.
func (f Folder) read(name string) ([]byte, error) {
	file, err := disk.OpenOwn(f.file(name), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = trusted(f.file(name), info, 0)
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = core.Invalidf("%s is longer than %d MB", f.file(name), maxFile>>20)
	}
	return content, err
}

// write replaces a file of the folder.
func (f Folder) write(name string, content []byte) error {
	return whole.Write(f.file(name), 0o600, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
}

// load reads the ledger; an empty one if there is none yet.
func (f Folder) load() (ledger, error) {
	text, err := f.read(ledgerName)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger{Version: ledgerVersion}, nil
	}
	if err != nil {
		return ledger{}, err
	}
	l, err := parseLedger(text)
	if err != nil {
		return l, core.Invalidf("%s cannot be used: %v", f.file(ledgerName), err).WithHint("repair it, or move it away: then machines join anew")
	}
	return l, nil
}

// editPatience is how long a change of the ledger waits for another's.
const editPatience = 5 * time.Second

// edit changes the ledger. One process does so at a time.
func (f Folder) edit(ctx context.Context, change func(*ledger) error) (ledger, error) {
	wait, stop := context.WithTimeout(ctx, editPatience)
	defer stop()
	lock, err := disk.TakeLock(wait, f.file(editLock))
	if err != nil {
		return ledger{}, core.Unavailablef(err, "%s cannot be locked: %v", f.file(ledgerName), err)
	}
	defer lock.Release()
	l, err := f.load()
	if err != nil {
		return l, err
	}
	before, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	if err := change(&l); err != nil {
		return l, err
	}
	if after, err := json.Marshal(l); err != nil || bytes.Equal(before, after) {
		return l, err
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return l, err
	}
	return l, f.write(ledgerName, append(text, '\n'))
}
