package carry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flame/git"
)

// newMark begins the name of a mirror that is being made.
const newMark = ".new-"

// used notes that a mirror is of use.
func used(mirror string) {
	now := time.Now()
	_ = os.Chtimes(mirror, now, now) // else it is made again some day
}

// RemoveIdle removes the mirrors that were not used since a time and have no worktrees, and
// what was left half made. A mirror that is wanted at that moment is made again.
func (m Mirrors) RemoveIdle(ctx context.Context, since time.Time) (removed int, err error) {
	entries, err := os.ReadDir(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, entry := range entries {
		_, number := keyOf(entry.Name())
		half := strings.HasPrefix(entry.Name(), newMark)
		info, wrong := entry.Info()
		if number == 0 && !half || wrong != nil || !info.IsDir() || !info.ModTime().Before(since) {
			continue
		}
		mirror := filepath.Join(m.Dir, entry.Name())
		if !half {
			_, _ = git.Run(ctx, mirror, "worktree", "prune") // of folders that are gone; one that is damaged has no use
		}
		if inUse(mirror) {
			continue
		}
		if wrong := remove(mirror, half); wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		removed++
	}
	return removed, err
}

// remove removes a folder with a mirror, which is whole until it is gone.
func remove(mirror string, half bool) error {
	if !half {
		gone := filepath.Join(filepath.Dir(mirror), newMark+filepath.Base(mirror))
		if err := os.Rename(mirror, gone); err != nil {
			return err
		}
		mirror = gone
	}
	return os.RemoveAll(mirror)
}
