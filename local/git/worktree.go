package git

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// AddWorktree makes a worktree of dir's repository at an absolute path, with the files of a
// commit and without a branch. If the repository still knows a worktree there whose folder was
// deleted, the new one takes its place.
func AddWorktree(ctx context.Context, dir, path, commit string) error {
	// Without --force, only a prune makes git forget a deleted folder, and a prune also removes
	// the worktrees that other processes have begun to make.
	if _, err := Run(ctx, dir, "worktree", "add", "--force", "--detach", "--", path, commit); err != nil {
		return err
	}
	// With includeIf, the configuration can name other commands for the worktree. So a
	// separate call in the worktree writes the files.
	_, err := Run(ctx, path, "reset", "--hard", "--quiet")
	if err != nil {
		_, _ = Run(context.WithoutCancel(ctx), path, "worktree", "remove", "--force", "--", path) // err is the one that matters
	}
	return err
}

// AddIntent makes the index of dir list exactly the present files, new ones without their
// content, like `git add --all --intent-to-add`. It does not update submodules: git would
// run git in each to look for changes.
func AddIntent(ctx context.Context, dir string) error {
	return addAll(ctx, call{dir: dir}, "--intent-to-add")
}

// addAll adds all present files in the folder of a call, but no submodule.
func addAll(ctx context.Context, c call, options ...string) error {
	submodules, err := Submodules(ctx, c.dir)
	if err != nil {
		return err
	}
	paths := []string{"."}
	for _, path := range submodules {
		paths = append(paths, ":(exclude,literal)"+path)
	}
	c.stdin = strings.Join(paths, "\x00")
	c.args = slices.Concat([]string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"}, options)
	_, err = c.run(ctx)
	return err
}

// Submodules returns the paths, relative to dir, at which the index has a repository,
// checked out or not. This package reads nothing in them.
func Submodules(ctx context.Context, dir string) (paths []string, err error) {
	list, err := Run(ctx, dir, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		if rest, found := strings.CutPrefix(entry, "160000 "); found { // the mode of a submodule
			_, path, _ := strings.Cut(rest, "\t")
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// SizeOf returns the number of files in a commit, and their size in the repository in bytes,
// without submodules. A list of over 64 MB is an error with the cause ErrTooMuch.
func SizeOf(ctx context.Context, dir, commit string) (files int, bytes int64, err error) {
	if err := checkID(commit); err != nil {
		return 0, 0, err
	}
	list, err := Run(ctx, dir, "ls-tree", "-r", "-l", "-z", commit)
	if err != nil {
		return 0, 0, err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		about, _, _ := strings.Cut(entry, "\t")
		words := strings.Fields(about) // mode, type, id, size
		if len(words) != 4 || words[1] != "blob" {
			continue
		}
		size, _ := strconv.ParseInt(words[3], 10, 64) // 0 for a missing file; a checkout fails without it
		files, bytes = files+1, bytes+size
	}
	return files, bytes, nil
}
