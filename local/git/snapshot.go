package git

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
)

// maxIndex bounds the size of an index that copyIndex copies, in bytes.
const maxIndex = 1 << 30

// flame are variables that make flame the author of commits.
var flame = []string{
	"GIT_AUTHOR_NAME=flame", "GIT_AUTHOR_EMAIL=flame@localhost", "GIT_COMMITTER_NAME=flame", "GIT_COMMITTER_EMAIL=flame@localhost",
}

// Snapshot returns a commit, by flame, of the present files of dir, the top of a checkout,
// without ignored files and submodules. If the parent has the same files, Snapshot returns
// the parent. It changes nothing in the checkout: the commit is on no branch, and it uses a
// copy of the index.
func Snapshot(ctx context.Context, dir, parent, message string) (commit string, err error) {
	if err := checkID(parent); err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp("", "flame-git-")
	if err != nil {
		return "", core.Unavailablef(err, "flame cannot make a folder for a copy of the index: %v", err).WithHint("TMPDIR names the folder above it")
	}
	defer os.RemoveAll(temporary)
	index := filepath.Join(temporary, "index")
	if err := copyIndex(ctx, dir, index); err != nil {
		return "", err
	}
	// Git would write half of a split index beside the user's index.
	c := call{dir: dir, env: append([]string{
		"GIT_INDEX_FILE=" + index, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.splitIndex", "GIT_CONFIG_VALUE_0=false",
	}, flame...)}
	if err := addAll(ctx, c); err != nil {
		return "", err
	}
	c.args = []string{"write-tree"}
	tree, err := c.run(ctx)
	if err != nil {
		return "", err
	}
	was, err := Run(ctx, dir, "rev-parse", "--verify", "--quiet", parent+"^{tree}")
	if err != nil || was == tree {
		return parent, err
	}
	c.args = []string{"commit-tree", "-p", parent, "-m", message, strings.TrimSpace(tree)}
	commit, err = c.run(ctx)
	return strings.TrimSpace(commit), err
}

// copyIndex copies the index of a checkout, if it has one.
func copyIndex(ctx context.Context, dir, to string) error {
	from, err := Run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return err
	}
	from = strings.TrimSuffix(from, "\n")
	info, err := os.Lstat(from)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxIndex) {
		return core.Invalidf("the index %s is not a regular file, or is too large", from)
	}
	if err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer copied.Close()
	_, err = io.Copy(copied, io.LimitReader(source, maxIndex))
	return err
}
