// Package git runs git so that it starts nothing that a repository contains or configures: no
// hook, filter, fsmonitor, external diff, textconv, signature program, pager, editor or
// transport, and nothing of a submodule. Only Fetch, Push and Refs connect to other
// repositories, with the user's own configuration alone. This package does not trust any
// repository, so it also ignores the user's configuration for all repositories. It therefore
// takes files of git-lfs, git-crypt and other filters as they are committed: in a worktree that
// it makes, they are pointers, or encrypted.
package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// patience bounds one Run: an agent must be able to end even if the disk hangs.
const patience = 2 * time.Minute

// commands are the commands that Run accepts, each with the options that keep it from
// starting programs where no setting can. `git add` is missing because it runs git in
// submodules and has no option against that: see AddIntent.
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

// Run runs git in dir and returns its output. It accepts only safe commands, and adds the
// options that make them safe. It kills git, with all processes that git started, after
// two minutes or 64 MB of output. Callers put --end-of-options or -- before arguments that
// come from data.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	args, err := guarded(args)
	if err != nil {
		return "", err
	}
	return call{dir: dir, args: args}.run(ctx)
}

// guarded returns the arguments with the options of their command.
func guarded(args []string) ([]string, error) {
	for words := range min(2, len(args)) {
		name, rest := args[:words+1], args[words+1:]
		if options, known := commands[strings.Join(name, " ")]; known {
			return slices.Concat(name, options, rest), nil
		}
	}
	return nil, core.Invalidf("flame does not run git %s", core.OneLine(strings.Join(args, " "), 80))
}

// FirstCommit returns the id of the first commit in the history of HEAD. It identifies a
// repository after a move or a new clone. Of several roots it is the one that first parents
// lead to, so a merge of another project's history does not change it. It ignores replaced
// and grafted commits. It is empty in a folder that is not a repository, in an implicit
// bare repository, before the first commit, and in a shallow clone, which lacks that
// commit.
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

// SafeDirectories returns the values of safe.directory in the configuration of the user and of the
// system, in order; none if git cannot tell. No repository has a say in it.
func SafeDirectories() []string {
	ctx, stop := context.WithTimeout(context.Background(), hurry)
	defer stop()
	text, err := execute(ctx, call{dir: "/", args: []string{"config", "--type=path", "--get-all", "-z", "safe.directory"}}, os.DevNull)
	if err != nil {
		return nil // git ends with 1 if the user has set nothing
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
}

// hurry bounds a question to git that hooks ask.
const hurry = time.Second

// isNone reports whether an error of rev-parse means that the folder is no repository, or
// that the repository has no commit.
func isNone(err error) bool {
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true // --verify --quiet prints nothing for a branch without a commit
	}
	said := err.Error()
	return strings.Contains(said, "not a git repository") || strings.Contains(said, "cannot use bare repository")
}
