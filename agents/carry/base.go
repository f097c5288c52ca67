// Package carry takes the state of a repository to another machine, and what an agent
// changed there back, by git alone. The asker gives a base, by a hidden ref of the
// project's remote or as a bundle; a worker takes it into a mirror that it keeps, makes
// a worktree of it, and returns a patch and another hidden ref. No branch, index or
// reflog of the user's changes. A base, and what is in a repository, is data of others.
package carry

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"flame/core"
	"flame/git"
)

// A Base is the state of a repository that an agent on another machine begins from.
type Base struct {
	Repository string `json:"repository"`       // first commit of its history
	Remote     string `json:"remote,omitempty"` // to fetch from, without user or password; empty where Bundle is set
	Commit     string `json:"commit"`
	Ref        string `json:"ref"`              // where the remote, or the bundle, has the commit
	Prefix     string `json:"prefix,omitempty"` // folder in the repository that the agent works in, with slashes
	Bundle     bool   `json:"bundle,omitempty"` // it comes as a bundle
}

// Bundles is the pattern that allows repositories without a remote.
const Bundles = "bundle"

const (
	baseRefs = "refs/flame/base/"
	runRefs  = "refs/flame/run/"
)

// names matches the ids that may be part of a ref.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`) })

// hashes matches the ids of commits.
var hashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

func checkID(id string) error {
	if !names().MatchString(id) {
		return core.Invalidf("%q cannot be part of a ref's name", core.OneLine(id, 80)).WithHint("use letters, digits, - and _")
	}
	return nil
}

// runRef returns the ref of what an attempt changed.
func runRef(id string, attempt int) string { return runRefs + id + "/" + strconv.Itoa(attempt) }

// check returns an error for a base that nobody can have given.
func (b Base) check() error {
	id, isBase := strings.CutPrefix(b.Ref, baseRefs)
	prefix := filepath.FromSlash(b.Prefix)
	problem := ""
	switch {
	case !hashes().MatchString(b.Commit), !hashes().MatchString(b.Repository), len(b.Commit) != len(b.Repository):
		problem = "its commit is no full id"
	case !isBase || !names().MatchString(id):
		problem = "its ref is not one of flame's"
	case prefix != "" && (!filepath.IsLocal(prefix) || filepath.Clean(prefix) != prefix):
		problem = "its folder is not in the repository"
	case (b.Remote == "") != b.Bundle:
		problem = "it has either a remote or a bundle"
	default:
		return nil
	}
	return core.Invalidf("this base cannot be taken: %s", problem).WithHint("ask again, with the same flame on both machines")
}

// remote returns the base's remote, if the patterns allow it.
func (b Base) remote(allowed []string) (git.Remote, error) {
	if b.Bundle {
		if slices.Contains(allowed, Bundles) {
			return git.Remote{}, nil
		}
		return git.Remote{}, core.Invalidf("this worker takes no repositories without a remote").WithHint("start it with --repos %s", Bundles)
	}
	r, err := git.ParseRemote(b.Remote)
	if err != nil {
		return r, err
	}
	if r.URL() != b.Remote {
		return r, core.Invalidf("the remote of this base holds a user or a password").WithHint("ask again, with the same flame on both machines")
	}
	if !covered(r, allowed) {
		return r, core.Invalidf("this worker does not take the repository %s", core.OneLine(r.Name(), 200)).
			WithHint("start it with --repos '%s'", core.OneLine(r.Name(), 200))
	}
	return r, nil
}
