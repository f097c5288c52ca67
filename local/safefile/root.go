package safefile

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

// A Root is a folder whose methods reach no file outside it. Neither ".." nor a link in
// any part of a name leads out, even if another process adds the link during the call.
// A Root follows links that stay inside, including absolute ones.
type Root struct {
	Folder
	in *os.Root
}

// Open returns the folder dir as a Root. It follows links in dir itself.
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

// open opens the file that a name leads to. os.Root follows links that stay inside, but
// no absolute ones and no long chains, and it has no error value for links that lead
// out. So open checks the names that os.Root refuses by the text of their links.
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

// Readlink returns the text of a link, or an error if the name is not a link.
func (r *Root) Readlink(name string) (string, error) { return r.in.Readlink(filepath.Clean(name)) }

// maxLinks is how many links one name may contain, as on Linux.
const maxLinks = 40

// Inside follows every link in a name, and returns the resulting name relative to the
// folder. Missing parts stay in the name. It follows links by their text, so it does not
// look at any path outside, not even to check whether it exists.
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
				continue // above the folder, without links so far: the path may lead back
			}
			return "", Outside
		}
		target, err := r.in.Readlink(seen)
		if err != nil {
			continue // not a link, or missing
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

// known replaces, in an absolute path, the name by which the folder was opened with its
// real name.
func (r *Root) known(target, root string) string {
	if rest, found := strings.CutPrefix(target, r.in.Name()+"/"); found {
		return root + "/" + rest
	}
	return target
}

// Replace gives a file this content and mode atomically: a reader finds the old file or
// the new one, and a program that runs from the old file keeps it. It makes missing
// folders above. It replaces a link instead of following it.
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

// Remove deletes a file, and then the empty folders above it. It keeps links to folders.
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
