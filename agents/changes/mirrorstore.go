package changes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/local/git"
)

// Mirrors are the repositories that a worker keeps, so that it fetches only the new part of a
// base. Each remote has its own mirrors: a machine that knows the id of a commit cannot get it
// from another remote's mirror.
type Mirrors struct {
	Dir     string   // absolute
	Allowed []string // patterns of the allowed remotes; see covered

	MaxFiles int   // most files of a base; 0: 500,000
	MaxBytes int64 // most bytes of its files in the repository; 0: 10 GB
}

// The limits of a base. They leave room for the largest projects. They also keep a base that
// unpacks to much more than was sent, by mistake or on purpose, from filling a worker's disk.
const (
	maxFiles = 500_000
	maxBytes = 10 << 30
)

// fits returns an error for a base that is too large to check out.
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

// of returns the absolute paths of the mirrors for a base, the newest first. It removes their
// access to the objects of other repositories.
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
			_ = os.Remove(filepath.Join(mirror, ".git", "objects", "info", "alternates")) // usually there is no such file
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

// key returns the prefix of the names of a base's mirrors. It contains the first commit, so
// all of them have ids of one format.
func (b Base) key() string {
	r, _ := git.ParseRemote(b.Remote) // remote has checked it
	sum := sha256.Sum256([]byte(b.Repository + " " + r.Name()))
	return hex.EncodeToString(sum[:10])
}

// keyOf returns the parts of a mirror's path or name; 0 for another path.
func keyOf(path string) (key string, number int) {
	key, last, _ := strings.Cut(filepath.Base(path), "-")
	number, err := strconv.Atoi(last)
	if err != nil || len(key) != 20 || number < 1 {
		return "", 0
	}
	return key, number
}

// mirrorOf returns the mirror of the worktree at dir. It returns an error if that is not a
// mirror for the base, since an agent can change the file by which git finds the repository.
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

func isAt(path, real string) bool {
	leads, err := filepath.EvalSymlinks(path)
	return err == nil && leads == real
}

func inUse(mirror string) bool {
	worktrees, err := os.ReadDir(filepath.Join(mirror, ".git", "worktrees"))
	return len(worktrees) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// covered reports whether a pattern such as github.com/me/* covers a remote, whatever form its
// address has. A * matches one part of a path, ** at the end matches all further parts. Only
// patterns such as file:/path/* cover folders of a machine.
func covered(r git.Remote, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = plainPattern(pattern)
		return strings.HasPrefix(pattern, "file:") == r.IsFolder() && covers(pattern, r.Name())
	})
}

// plainPattern returns a pattern in the form of a remote's name.
func plainPattern(pattern string) string {
	if folder, isFile := strings.CutPrefix(pattern, "file:"); isFile {
		return "file:/" + strings.TrimSuffix(strings.Trim(folder, "/"), ".git")
	}
	_, rest, isURL := strings.Cut(pattern, "://")
	if !isURL {
		rest = pattern
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if name, folder, found := strings.Cut(host, ":"); found && !isURL && strings.Trim(folder, "0123456789") != "" {
		host, path = name, strings.Trim(folder+"/"+path, "/") // host:path
	}
	whole := strings.ToLower(host) + "/" + path
	return strings.TrimSuffix(strings.TrimSuffix(whole, "/"), ".git")
}

func covers(pattern, name string) bool {
	if pattern == "**" {
		return true
	}
	if above, deep := strings.CutSuffix(pattern, "/**"); deep {
		parts, n := strings.Split(name, "/"), strings.Count(above, "/")+1
		if len(parts) <= n {
			return false
		}
		pattern, name = above, strings.Join(parts[:n], "/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
