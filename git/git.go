// Package git runs git so that nothing a repository ships or configures is run:
// no hook, filter, fsmonitor, external diff, textconv, signature program, pager
// or editor, no transport, and nothing of a submodule's. Only Fetch, Push and
// Refs speak to other repositories, by a configuration that is the user's alone. A repository is data
// here, whoever wrote it; the same means exclude what the user configured for
// every repository. Files of git-lfs, git-crypt and other filters are therefore
// taken as they are committed: in a worktree made here they are pointers, or
// encrypted.
package git

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// patience bounds one Run: a folder that hangs must not keep an agent from
// ending.
const patience = 2 * time.Minute

// commands lists what Run runs, with the options that keep each to this
// package's promise if no setting does. `git add` is missing because it looks
// into submodules and has no option against that: see AddIntent.
var commands = map[string][]string{
	"apply":           nil,
	"commit-tree":     nil,
	"diff":            {"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short"},
	"for-each-ref":    nil,
	"ls-files":        nil,
	"ls-tree":         {"--full-tree"},
	"reset":           nil,
	"rev-list":        nil,
	"rev-parse":       nil,
	"status":          {"--ignore-submodules=dirty"},
	"update-ref":      nil,
	"worktree add":    {"--no-checkout"}, // see AddWorktree
	"worktree list":   nil,
	"worktree prune":  nil,
	"worktree remove": nil,
}

// Run runs git in dir and returns its output. It accepts only commands known to
// be safe, each with the options that make it so. A call that takes longer than
// two minutes or prints more than 64 MB is ended, with everything it started.
// The arguments are git's: put --end-of-options or -- before one that comes
// from data.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	args, err := guarded(args)
	if err != nil {
		return "", err
	}
	return call{dir: dir, args: args}.run(ctx)
}

// guarded returns the arguments with the options that their command needs.
func guarded(args []string) ([]string, error) {
	for words := range min(2, len(args)) {
		name, rest := args[:words+1], args[words+1:]
		if options, known := commands[strings.Join(name, " ")]; known {
			return slices.Concat(name, options, rest), nil
		}
	}
	return nil, core.Invalidf("flame does not run git %s", core.OneLine(strings.Join(args, " "), 80))
}

// FirstCommit returns the id of the commit that the history of HEAD begins
// with, which identifies a repository after it was moved or cloned again. If
// there are several roots it is the one that first parents lead to: merging in
// another project's history does not change it. Replaced and grafted commits
// count as they were made. It is empty in a folder that is not a repository, in
// an implicit bare one, before the first commit, and in a shallow clone, which
// lacks that commit.
func FirstCommit(ctx context.Context, dir string) (hash string, err error) {
	asMade := []string{"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null"}
	head, err := Run(ctx, dir, "rev-parse", "--is-shallow-repository", "--verify", "--quiet", "HEAD")
	if isNone(err) || strings.HasPrefix(head, "true") {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	roots := []string{"rev-list", "--first-parent", "--max-parents=0", "HEAD", "--"}
	hash, err = call{dir: dir, env: asMade, args: roots}.run(ctx)
	return strings.TrimSpace(hash), err
}

// isNone reports whether an answer of rev-parse means that there is no
// repository, or no commit in it.
func isNone(err error) bool {
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true // all that --verify --quiet prints for an unborn HEAD
	}
	said := err.Error()
	return strings.Contains(said, "not a git repository") || strings.Contains(said, "cannot use bare repository")
}
