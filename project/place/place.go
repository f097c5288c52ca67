// Package place finds a project and its data. It trusts nothing that a repository holds:
// a repository can make itself a project but never pass for another, and it can neither
// say where data is nor bring any along (DESIGN §4).
package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flame/config/env"
	"flame/core"
)

// A Place is where a project lives.
type Place struct {
	Dir      string // the project's folder: of a worktree, its main checkout or bare repository
	Worktree string // the checkout in use, which artifacts are relative to

	Alone bool    // nothing marks the folder as a project: it is one for lack of a better
	Data  *Folder // the project's data; nil until its place is known, see FolderOf
}

// At returns the place of a project whose folder is known.
func At(dir string) Place { return Place{Dir: dir, Worktree: dir} }

// Locate finds the project that start is in: the nearest folder upwards with a .flame or
// .git of this user's own, but never home or above; else start itself. A git worktree
// belongs to its main checkout or, if the main repository is bare, to that.
func Locate(start, home string) (Place, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return Place{}, err
	}
	info, err := os.Stat(start)
	if err != nil || !info.IsDir() {
		return Place{}, core.NotFoundf("the folder %s does not exist", start).
			WithHint(env.ProjectDir + ", the host or the working folder names it")
	}
	for dir := range upwards(start, home) {
		if place, found := placeAt(dir); found {
			return place, nil
		}
	}
	_, marked := placeAt(start) // home may be a project by itself
	return Place{Dir: start, Worktree: start, Alone: !marked}, nil
}

// Given returns the place of the project in dir, which the user named. If start is in
// another worktree of the same project, that is the Worktree.
func Given(dir, start, home string) (Place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Place{}, core.NotFoundf(env.ProjectDir+" is %s, which is not a folder", dir).
			WithHint("name a folder that exists, or leave it unset")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	around, err := Locate(start, home)
	if err == nil && same(around.Dir, dir) {
		return Place{Dir: dir, Worktree: around.Worktree}, nil
	}
	return At(dir), nil
}

// upwards yields dir and the folders above it, without home and the folders above home.
func upwards(dir, home string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for ; !within(home, dir) && yield(dir); dir = filepath.Dir(dir) {
			if dir == filepath.Dir(dir) {
				return
			}
		}
	}
}

// within reports whether path is dir or is below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return path != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// placeAt returns the place of the project in dir, if dir is one.
func placeAt(dir string) (place Place, found bool) {
	git := filepath.Join(dir, ".git")
	if info, err := os.Stat(git); err == nil && isOwn(info) {
		if info.IsDir() {
			return At(dir), true
		}
		return placeOfGitFile(dir, git), true
	}
	info, err := os.Lstat(filepath.Join(dir, ".flame"))
	if err == nil && info.IsDir() && isOwn(info) {
		return At(dir), true
	}
	return Place{}, false
}

// placeOfGitFile follows the .git file of a worktree to the main checkout. It does not
// follow the file of a submodule, nor one that the folder it names does not point back
// to: anyone can write such a file, to pass for a worktree of another repository.
func placeOfGitFile(dir, file string) Place {
	target, ok := strings.CutPrefix(firstLine(file), "gitdir:")
	if !ok {
		return At(dir)
	}
	gitDir := inside(dir, strings.TrimSpace(target))
	back, common := firstLine(filepath.Join(gitDir, "gitdir")), firstLine(filepath.Join(gitDir, "commondir"))
	if back == "" || common == "" || !same(inside(gitDir, back), file) {
		return At(dir)
	}
	common = inside(gitDir, common)
	if info, err := os.Stat(common); err != nil || !info.IsDir() || !isOwn(info) {
		return At(dir)
	}
	if filepath.Base(common) == ".git" {
		common = filepath.Dir(common)
	}
	return Place{Dir: common, Worktree: dir}
}

// inside returns path as seen from dir.
func inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// isMissing reports whether err says that a file, or a folder on the path to it, does not
// exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
