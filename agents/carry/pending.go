package carry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/git"
)

// maxPending bounds what goes along though it is not committed, in bytes. It is no place
// for data that nobody wants in a repository.
const maxPending = 50 << 20

// Pending is what of a checkout is not committed, but for ignored files.
type Pending struct {
	Files     int
	Untracked []string // paths of those that git does not know yet
	Bytes     int64    // of the files as they are now
	Largest   string
}

// PendingOf returns what is not committed of the checkout that dir is in.
func PendingOf(ctx context.Context, dir string) (p Pending, err error) {
	top, _, err := topOf(ctx, dir)
	if err != nil {
		return p, err
	}
	list, err := git.Run(ctx, top, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
	largest := int64(-1)
	for entry := range strings.SplitSeq(list, "\x00") {
		if len(entry) < 4 {
			continue
		}
		path := entry[3:]
		p.Files++
		if strings.HasPrefix(entry, "??") {
			p.Untracked = append(p.Untracked, path)
		}
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path)))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, a link, or a repository of its own
		}
		p.Bytes += info.Size()
		if info.Size() > largest {
			p.Largest, largest = path, info.Size()
		}
	}
	return p, err
}

// Check returns the advice for more than goes along.
func (p Pending) Check() error {
	if p.Bytes <= maxPending {
		return nil
	}
	return core.Invalidf("what is not committed has %d MB, and at most %d go along", p.Bytes>>20, int64(maxPending)>>20).
		WithHint("commit or ignore the largest files first, such as %s", core.OneLine(p.Largest, 200))
}

// Told says what goes along, or stays behind, of what is not committed; empty where
// everything is.
func (p Pending) Told(along bool) string {
	files := fmt.Sprintf("%d files that are", p.Files)
	if p.Files == 1 {
		files = "1 file that is"
	}
	switch {
	case p.Files == 0:
		return ""
	case !along:
		return files + " not committed: the agent does not see them; uncommitted takes them along"
	case len(p.Untracked) == 0:
		return files + " not committed go along"
	}
	return files + " not committed go along, among them new ones: " + core.OneLine(strings.Join(p.Untracked, ", "), 300)
}
