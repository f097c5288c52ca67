package place

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flame/local/safefile"
)

// Safe returns the values of safe.directory in the user's own configuration of git, in order and
// with ~ resolved. It is asked only about what another user owns.
type Safe func() []string

// owners decides which markers of projects count.
type owners struct {
	safe    func() []string // as Safe; nil: no folder is safe
	foreign string          // the first folder whose marker did not count
}

// placeAt returns the place of the project in dir, if dir is one.
func (o *owners) placeAt(dir string) (place Place, found bool) {
	if info, elsewhere := gitIn(dir); info != nil && o.count(dir, info) {
		if !elsewhere {
			return at(dir), true
		}
		place = o.placeOfGitFile(dir, filepath.Join(dir, ".git"))
		if info.IsDir() && place.Dir != dir { // by a link
			place.former = dir
		}
		return place, true
	}
	if info := repositoryIn(dir); info != nil && o.count(dir, info) {
		main, _ := mainOf(dir)
		return main, true
	}
	info, err := os.Lstat(filepath.Join(dir, ".flame"))
	if err != nil || !info.IsDir() {
		return Place{}, false
	}
	return at(dir), o.count(dir, info)
}

// count reports whether a file of the project in dir counts: this user owns it, or has told git
// that dir is safe.
func (o *owners) count(dir string, info fs.FileInfo) bool {
	counts := isOwn(info) || o.safe != nil && isSafe(dir, o.safe())
	if !counts {
		o.foreign = cmp.Or(o.foreign, dir)
	}
	return counts
}

// isSafe reports whether values of safe.directory name dir as git reads them (git-config(1)): an
// empty value clears those before it, * stands for all folders, and /* at the end for all below.
func isSafe(dir string, values []string) bool {
	safe := false
	for _, value := range values {
		above, all := strings.CutSuffix(value, "/*")
		switch {
		case value == "":
			safe = false
		case value == "*", all && dir != unlinked(above) && within(dir, unlinked(above)), filepath.IsAbs(value) && unlinked(value) == dir:
			safe = true
		}
	}
	return safe
}

// gitIn returns the file or folder .git of a checkout in dir; nil without one. Elsewhere is whether
// it leads to a repository instead of being one. Git takes no folder without a HEAD for a repository:
// while Codex runs a command, its sandbox has an empty .git in each folder that the command may write to.
func gitIn(dir string) (info fs.FileInfo, elsewhere bool) {
	git := filepath.Join(dir, ".git")
	info, err := os.Lstat(git)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		elsewhere = true
		info, err = os.Stat(git)
	}
	if err != nil || info.IsDir() && !isRepository(git) {
		return nil, false
	}
	return info, elsewhere || !info.IsDir()
}

// repositoryIn returns the folder dir if it is the data of a repository by itself, such as a bare
// one; else nil.
func repositoryIn(dir string) fs.FileInfo {
	if !isRepository(dir) {
		return nil
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return nil
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	return info
}

// isRepository reports whether a folder has the HEAD of a repository.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return !errors.Is(err, fs.ErrNotExist)
}

// placeOfGitFile returns the place of a checkout whose .git is a file that names the folder of its
// repository, or a link to it. Anyone can write a file that poses as a checkout of another repository, so a
// worktree's repository must point back to it, and any other must have no better known checkout.
func (o *owners) placeOfGitFile(dir, file string) Place {
	common, ok := named(file)
	if !ok {
		return at(dir)
	}
	worktree := false
	if to := textOf(filepath.Join(common, "commondir")); to != "" {
		if back := textOf(filepath.Join(common, "gitdir")); back == "" || !same(inside(common, back), file) {
			return at(dir)
		}
		common, worktree = inside(common, to), true
	}
	if info, err := os.Stat(common); err != nil || !info.IsDir() || !isRepository(common) || !o.count(dir, info) {
		return at(dir)
	}
	main, known := mainOf(followed(common))
	if !worktree && known && main.Dir != dir {
		return at(dir)
	}
	main.Worktree = dir
	return main
}

// named returns the folder that a .git file names, or a link in its place leads to.
func named(file string) (gitDir string, ok bool) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return followed(file), true
	}
	target, ok := strings.CutPrefix(textOf(file), "gitdir:")
	return inside(filepath.Dir(file), strings.TrimLeft(target, " \t")), ok
}

// mainOf returns the place by which a repository whose data is in common is known: its main checkout,
// else common itself. It is not known if the repository has a checkout and nothing says where, as
// git init --separate-git-dir leaves it.
func mainOf(common string) (main Place, known bool) {
	around := filepath.Dir(common)
	if filepath.Base(common) == ".git" {
		return at(around), true
	}
	pointsBack := func(dir string) bool {
		gitDir, ok := named(filepath.Join(dir, ".git"))
		return ok && same(gitDir, common)
	}
	core := coreSettings(common)
	if checkout := core["worktree"]; checkout != "" { // of a submodule
		if dir := followed(inside(common, checkout)); pointsBack(dir) {
			return at(dir), true
		}
		return at(common), true
	}
	if pointsBack(around) { // a folder with worktrees, whose repository is often called .bare
		return Place{Dir: around, Worktree: around, former: common}, true
	}
	return at(common), core["bare"] == "true"
}

// maxSettings bounds the configuration of a repository, in bytes.
const maxSettings = 1 << 20

// coreSettings returns the section core of a repository's own configuration, without what it
// includes. Names are in lower case.
func coreSettings(common string) map[string]string {
	found := map[string]string{}
	for _, name := range []string{"config", "config.worktree"} {
		text, _ := safefile.ReadFile(filepath.Join(common, name), maxSettings) // without it, nothing is set
		inCore := false
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
				inCore = strings.EqualFold(line, "[core]")
			} else if key, value, ok := strings.Cut(line, "="); ok && inCore {
				found[strings.ToLower(strings.TrimSpace(key))] = unquoted(strings.TrimSpace(value))
			}
		}
	}
	return found
}

// unquoted returns a value of git's configuration without quotation marks and escapes.
func unquoted(value string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `"`, "").Replace(value)
}
