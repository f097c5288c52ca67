package carry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/git"
)

// Mirrors are the repositories that a worker keeps, so that a base brings only what is
// new. Each remote has its own: who knows the id of a commit gets nothing of another's.
type Mirrors struct {
	Dir     string   // absolute
	Allowed []string // patterns of the remotes that it takes; see Matches

	MaxFiles int   // that a base may have; 0: 500,000
	MaxBytes int64 // that its files may have in the repository; 0: 10 GB
}

// The bounds of a base, which leave room for the largest projects and keep one that
// unpacks to more than was sent, by mistake or on purpose, from filling a worker's disk.
const (
	maxFiles = 500_000
	maxBytes = 10 << 30
)

// fits returns the advice for a base that is too large to be checked out.
func (m Mirrors) fits(ctx context.Context, mirror string, b Base) error {
	mostFiles, mostBytes := cmp.Or(m.MaxFiles, maxFiles), cmp.Or(m.MaxBytes, maxBytes)
	files, bytes, err := git.SizeOf(ctx, mirror, b.Commit)
	switch {
	case errors.Is(err, git.ErrTooMuch), err == nil && files > mostFiles:
		err = core.Invalidf("the repository has over %d files, too many for a worker", mostFiles).
			WithHint("run the agent where the repository is: leave the queue out")
	case err == nil && bytes > mostBytes:
		err = core.Invalidf("the files of the repository have over %d MB, too many for a worker", mostBytes>>20).
			WithHint("run the agent where the repository is: leave the queue out")
	}
	return err
}

// of returns the mirrors for a base, the newest first, each an absolute path. Objects of
// other repositories are none of theirs any more.
func (m Mirrors) of(b Base) (all []string, err error) {
	if err := errors.Join(os.MkdirAll(m.Dir, 0o700), os.Chmod(m.Dir, 0o700)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if key, number := keyOf(entry.Name()); number > 0 && key == b.key() {
			mirror := filepath.Join(m.Dir, entry.Name())
			_ = os.Remove(filepath.Join(mirror, ".git", "objects", "info", "alternates")) // mostly there is none
			all = append(all, mirror)
		}
	}
	slices.SortFunc(all, func(x, y string) int {
		_, one := keyOf(x)
		_, other := keyOf(y)
		return cmp.Compare(other, one)
	})
	return all, nil
}

// key is what the names of a base's mirrors begin with. That has the first commit in it, so
// all have ids of one format.
func (b Base) key() string {
	from := Bundles
	if r, err := git.ParseRemote(b.Remote); err == nil {
		from = r.Name()
	}
	sum := sha256.Sum256([]byte(b.Repository + " " + from))
	return hex.EncodeToString(sum[:10])
}

// keyOf returns the parts of a mirror's path, or name; 0 for what is none.
func keyOf(path string) (key string, number int) {
	key, last, _ := strings.Cut(filepath.Base(path), "-")
	number, err := strconv.Atoi(last)
	if err != nil || len(key) != 20 || number < 1 {
		return "", 0
	}
	return key, number
}

// place makes a folder the mirror for a base that follows on the newest that there was, if
// any. If another process has made that meanwhile, it returns the other's.
func (m Mirrors) place(made string, b Base, newest string) (mirror string, others bool, err error) {
	_, number := keyOf(newest)
	mirror = filepath.Join(m.Dir, b.key()+"-"+strconv.Itoa(number+1))
	if err = os.Rename(made, mirror); errors.Is(err, fs.ErrExist) {
		return mirror, true, nil
	}
	return mirror, false, err
}

// mirrorOf returns the mirror that the worktree at dir is of. It is an error if that is none
// for the base: an agent can write what git takes for the way to the repository.
func (m Mirrors) mirrorOf(ctx context.Context, dir string, b Base) (string, error) {
	kept, err := m.of(b)
	if err != nil {
		return "", err
	}
	told, err := git.Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
	if err != nil {
		return "", err
	}
	common, top, _ := strings.Cut(strings.TrimSuffix(told, "\n"), "\n")
	at := slices.IndexFunc(kept, func(mirror string) bool { return isAt(filepath.Join(mirror, ".git"), common) })
	if at < 0 || !isAt(dir, top) {
		return "", core.Invalidf("the worktree %s does not belong to its repository any more", dir).WithHint("look at what the agent did to its .git")
	}
	return kept[at], nil
}

// isAt reports whether a path leads to a real one.
func isAt(path, real string) bool {
	leads, err := filepath.EvalSymlinks(path)
	return err == nil && leads == real
}

// inUse reports whether a mirror has worktrees.
func inUse(mirror string) bool {
	worktrees, err := os.ReadDir(filepath.Join(mirror, ".git", "worktrees"))
	return len(worktrees) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}
