// Package place finds a project and its data. It does not trust the content of a repository:
// a repository can make itself a project, but it can neither pose as another project, nor
// choose the data folder, nor contain data.
package place

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"flame/config/env"
	"flame/core"
)

// A Place is the place of a project.
type Place struct {
	Dir      string // the project's folder, by its canonical name: of a worktree, its main checkout or bare repository
	Worktree string // the checkout in use; paths of artifacts are relative to it

	Unmarked bool    // nothing marks this folder or one above it as a project
	Foreign  string  // the nearest repository or .flame around the start that another user owns, which therefore does not count
	Data     *Folder // the project's data; nil until FolderOf

	former string // the name that it had before it had the one of Dir; empty: none
}

// At returns the place of a project whose folder is known.
func At(dir string) Place { return at(followed(dir)) }

// at is At for a canonical name.
func at(dir string) Place { return Place{Dir: dir, Worktree: dir} }

// Locate finds the project that start is in: the nearest folder upwards, below home, with a
// .flame or .git that belongs to this user, or is safe for git; else start itself. A git worktree
// belongs to its main checkout or, if the main repository is bare, to that repository. Links are
// followed first: whichever way one goes into a folder, it is in the same project.
func Locate(start, home string, safe Safe) (Place, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return Place{}, err
	}
	if start = followed(start); !within(start, home) {
		home = unlinked(home)
	}
	info, err := os.Stat(start)
	if err != nil || !info.IsDir() {
		return Place{}, core.NotFoundf("the folder %s does not exist", start).
			WithHint(env.ProjectDir + ", the host or the working folder names it")
	}
	owner := owners{}
	if safe != nil {
		owner.safe = sync.OnceValue(safe) // it starts a process
	}
	for dir := range upwards(start, home) {
		if place, found := owner.placeAt(dir); found {
			place.Foreign = owner.foreign
			return place, nil
		}
	}
	_, marked := owner.placeAt(start) // home may be a project by itself
	return Place{Dir: start, Worktree: start, Unmarked: !marked, Foreign: owner.foreign}, nil
}

// AtDir returns the place of the project in dir, which the user named. If start is in another
// worktree of the same project, Worktree is that worktree.
func AtDir(dir, start, home string, safe Safe) (Place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Place{}, core.NotFoundf(env.ProjectDir+" is %s, which is not a folder", dir).
			WithHint("name a folder that exists, or leave it unset")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	dir = followed(dir)
	around, err := Locate(start, home, safe)
	if err == nil && same(around.Dir, dir) {
		return Place{Dir: dir, Worktree: around.Worktree}, nil
	}
	return at(dir), nil
}

// followed returns the canonical name of a folder, or the path itself if it leads nowhere.
func followed(path string) string {
	if real, err := realPath(path); err == nil {
		return real
	}
	return path
}

// unlinked returns a path without links, or the path itself if it leads nowhere.
func unlinked(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
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

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return path != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// inside returns path, which may be relative to dir, as an absolute path.
func inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// same reports whether two paths lead to the same file.
func same(a, b string) bool {
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && os.SameFile(ia, ib)
}

// Env are the parts of the environment that determine the data folder.
type Env struct {
	FlameDir string // FLAME_DIR; empty: not set
	DataHome string // XDG_DATA_HOME; empty: not set
	Home     string // the user's home folder; empty: unknown
}

// base returns the folder for the data of all projects: FLAME_DIR, else the folder flame in
// the user's data folder (XDG base directories). It is never in a checkout, because a
// repository can make its host set variables.
func (s Env) base() (string, error) {
	base, from := s.FlameDir, env.Dir
	switch {
	case base != "":
	case filepath.IsAbs(s.DataHome):
		base, from = filepath.Join(s.DataHome, "flame"), "XDG_DATA_HOME"
	case filepath.IsAbs(s.Home) && filepath.Clean(s.Home) != "/":
		base, from = filepath.Join(s.Home, ".local", "share", "flame"), "HOME"
	default:
		return "", core.Unavailablef(nil, "flame has no folder for its data: HOME is %q, which is not a home folder", s.Home).
			WithHint("set " + env.Dir + " to an absolute path of your own, outside all checkouts")
	}
	if !filepath.IsAbs(base) {
		return "", core.Invalidf("%s is %q, which is not an absolute path", from, base).
			WithHint("name a folder outside all checkouts by its absolute path")
	}
	base = filepath.Clean(base)
	checkout := checkoutAround(base, s.Home)
	nearest := Nearest(base)
	if real := unlinked(nearest); checkout == "" && (real != nearest || !within(base, s.Home)) {
		checkout = checkoutAround(real, unlinked(s.Home))
	}
	if checkout != "" {
		return "", core.Invalidf("%[2]s would put the data in the checkout %[1]s", checkout, from).
			WithHint("set " + env.Dir + " to a folder outside all checkouts: flame never uses data from a repository")
	}
	return base, nil
}

// checkoutAround returns the nearest checkout around a folder below home; empty without one.
func checkoutAround(dir, home string) string {
	for dir := range upwards(dir, home) {
		if info, _ := gitIn(dir); info != nil {
			return dir
		}
	}
	return ""
}

// maxName limits the readable part of a data folder's name, in bytes.
const maxName = 40

// folderName returns the name of the data folder of the project at a real path. Its first part
// is for people; the digits at its end distinguish projects.
func folderName(path string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, filepath.Base(path))
	plain = strings.Trim(plain[:min(len(plain), maxName)], ".-")
	if plain == "" {
		plain = "project"
	}
	return fmt.Sprintf("%s-%x", plain, sha256.Sum256([]byte(path)))[:len(plain)+11]
}
