package confine

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// A Root is a folder that nothing done through it leads out of: neither ".."
// nor a link, in any part of a name, whenever it appears. Links that stay
// inside are followed, absolute ones too.
type Root struct {
	Folder
	in *os.Root
}

// Open returns the folder dir as a Root; a link in dir itself is followed.
func Open(dir string) (*Root, error) {
	in, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Root{in: in}
	r.Folder = Folder{r.open}
	return r, nil
}

// Close closes the folder.
func (r *Root) Close() error { return r.in.Close() }

// open opens what a name leads to. os.Root follows links that stay inside, but
// no absolute ones and only few in a row, and says only in words which ones
// lead out; so what it refuses is checked again by the text of the links.
func (r *Root) open(name string, flags int) (*os.File, error) {
	file, err := r.in.OpenFile(filepath.Clean(name), flags, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	inside, insideErr := r.Inside(name)
	if insideErr != nil {
		return nil, insideErr
	}
	return r.in.OpenFile(inside, flags, 0)
}

// Readlink returns the text of a link; it fails if the name is not a link.
func (r *Root) Readlink(name string) (string, error) { return r.in.Readlink(filepath.Clean(name)) }

// maxLinks is how many links one name may lead through, as on Linux.
const maxLinks = 40

// Inside returns the name, relative to the folder, that a name leads to when
// every link in it is followed; missing parts stand for themselves. It follows
// links by their text: it looks at nothing outside, not even whether it exists.
func (r *Root) Inside(name string) (string, error) {
	root, err := filepath.EvalSymlinks(r.in.Name())
	if err != nil {
		return "", err
	}
	at, rest, links := root, name, 0
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		at = filepath.Join(at, part)
		seen, err := filepath.Rel(root, at)
		if err != nil || !filepath.IsLocal(seen) {
			if strings.HasPrefix(root, strings.TrimSuffix(at, "/")+"/") {
				continue // above the folder, with no link left: the path may lead back
			}
			return "", Outside
		}
		target, err := r.in.Readlink(seen)
		if err != nil {
			continue // not a link, or nothing at all
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at, target = "/", r.known(target, root)
		}
		rest = target + "/" + rest
	}
	seen, err := filepath.Rel(root, at)
	if err != nil || !filepath.IsLocal(seen) {
		return "", Outside
	}
	return seen, nil
}

// known replaces the name that the folder was opened by with its real name in
// an absolute path.
func (r *Root) known(target, root string) string {
	if rest, found := strings.CutPrefix(target, r.in.Name()+"/"); found {
		return root + "/" + rest
	}
	return target
}

// Replace gives a file this content and mode atomically: a reader finds the old
// file or the new one, a program that runs from the old one keeps it. It makes
// the folders above; a link in its place is replaced, not followed.
func (r *Root) Replace(name string, content []byte, mode fs.FileMode) error {
	dir, err := r.Inside(path.Dir(name))
	if err != nil {
		return err
	}
	if err := r.in.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := path.Base(name)
	beside := path.Join(dir, "."+base+"-"+rand.Text())
	file, err := r.in.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer r.in.Remove(beside)
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return r.in.Rename(beside, path.Join(dir, base))
}

// Remove deletes a file, and the folders above it that are then empty. A link
// among those stays.
func (r *Root) Remove(name string) error {
	dir, err := r.Inside(path.Dir(name))
	if err != nil {
		return err
	}
	if err := r.in.Remove(path.Join(dir, path.Base(name))); err != nil {
		return err
	}
	for dir = path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := r.in.Lstat(dir); err != nil || !info.IsDir() || r.in.Remove(dir) != nil {
			break
		}
	}
	return nil
}
