package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
)

// A Place is where a project lives.
type Place struct {
	Dir      string // the project's folder: of a worktree, its main checkout
	Worktree string // the checkout at hand, that artifacts are relative to
	Data     string // where its data is, or would be
}

// Locate finds the project that start lies in: the nearest folder upwards with
// .flame or .git, but never home or above; else start itself. A git worktree
// belongs to its main checkout, and shares its data; where the main repository
// is bare, the data is in its flame folder (DESIGN §4).
func Locate(start, home string) (Place, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return Place{}, err
	}
	info, err := os.Stat(start)
	if err != nil || !info.IsDir() {
		return Place{}, core.NotFoundf("the folder %s does not exist", start).WithHint("FLAME_PROJECT_DIR, CLAUDE_PROJECT_DIR or the working folder names it")
	}
	for dir := start; !within(home, dir); dir = filepath.Dir(dir) {
		place, found, err := placeAt(dir)
		if found || err != nil {
			return place, err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return At(start), nil
}

// At gives the place of a project whose folder is known.
func At(dir string) Place {
	return Place{Dir: dir, Worktree: dir, Data: filepath.Join(dir, ".flame")}
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return path != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// placeAt tells whether dir is a project.
func placeAt(dir string) (place Place, found bool, err error) {
	git, err := os.Lstat(filepath.Join(dir, ".git"))
	switch {
	case err == nil && !git.IsDir():
		place, err = placeOfGitFile(dir)
		return place, true, err
	case err == nil:
		return At(dir), true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Place{}, false, err
	}
	if flame, err := os.Stat(filepath.Join(dir, ".flame")); err == nil && flame.IsDir() {
		return At(dir), true, nil
	}
	return Place{}, false, nil
}

// placeOfGitFile follows a .git file. That of a worktree leads to a folder that
// names the common one; that of a submodule does not.
func placeOfGitFile(dir string) (Place, error) {
	raw, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return Place{}, err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir:")
	if !ok {
		return At(dir), nil
	}
	gitDir := inside(dir, strings.TrimSpace(target))
	raw, err = os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return At(dir), nil
	}
	if err != nil {
		return Place{}, err
	}
	common := inside(gitDir, strings.TrimSpace(string(raw)))
	if filepath.Base(common) != ".git" {
		return Place{Dir: common, Worktree: dir, Data: filepath.Join(common, "flame")}, nil
	}
	place := At(filepath.Dir(common))
	place.Worktree = dir
	return place, nil
}

// inside gives path as seen from dir.
func inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
