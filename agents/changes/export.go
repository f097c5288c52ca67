package changes

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"flame/core"
	"flame/local/git"
)

// A Base is the state of a repository that an agent on another machine begins from.
type Base struct {
	Repository string `json:"repository"` // id of the first commit of its history
	Remote     string `json:"remote"`     // to fetch from, without user or password
	Commit     string `json:"commit"`
	Ref        string `json:"ref"`              // ref of the commit in the remote
	Prefix     string `json:"prefix,omitempty"` // working folder of the agent in the repository, with slashes
}

const (
	baseRefs = "refs/flame/base/"
	runRefs  = "refs/flame/run/"
)

// names matches ids that may be part of a ref.
var names = core.Pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// hashes matches ids of commits.
var hashes = core.Pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkID(id string) error {
	if !names().MatchString(id) {
		return core.Invalidf("%q cannot be part of a ref's name", core.OneLine(id, 80)).WithHint("use letters, digits, - and _")
	}
	return nil
}

func runRef(id string, attempt int) string { return runRefs + id + "/" + strconv.Itoa(attempt) }

// check returns an error for a base that Export cannot have produced.
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
	case b.Remote == "":
		problem = "it has no remote"
	default:
		return nil
	}
	return core.Invalidf("this base is not valid: %s", problem).WithHint("ask again, with the same flame on both machines")
}

// remote returns the base's remote if the patterns allow it.
func (b Base) remote(allowed []string) (git.Remote, error) {
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

// Export puts the commit of a checkout where another machine can fetch it, under an id.
// Uncommitted files stay behind. It refuses shallow clones, whose history has no beginning, and
// sends of a partial clone what is there. Files of git-lfs and other filters go as committed.
// Remotes that are folders must match one of the patterns in folders, such as file:/path/*.
func Export(ctx context.Context, checkout, id string, folders []string) (b Base, err error) {
	if err := checkID(id); err != nil {
		return Base{}, err
	}
	top, prefix, err := topOf(ctx, checkout)
	if err != nil {
		return Base{}, err
	}
	b = Base{Ref: baseRefs + id, Prefix: prefix}
	if b.Commit = Commit(ctx, top); b.Commit == "" {
		return Base{}, core.Invalidf("the repository has no commit yet").WithHint("commit something first")
	}
	if b.Repository, err = git.FirstCommit(ctx, top); err != nil {
		return Base{}, err
	}
	if b.Repository == "" {
		return Base{}, core.Invalidf("a shallow clone cannot go to another machine").WithHint("run git fetch --unshallow first")
	}
	return b, b.send(ctx, top, folders)
}

// send pushes the base to the checkout's remote and records that.
func (b *Base) send(ctx context.Context, top string, folders []string) error {
	fetch, push, err := remotesOf(ctx, top, folders)
	if err != nil {
		return err
	}
	if fetch == (git.Remote{}) {
		return core.Invalidf("the repository has no remote by https or ssh, from which another machine could fetch it").
			WithHint("add one that both machines reach: git remote add origin URL")
	}
	if err := git.Push(ctx, top, push, git.Update{Ref: b.Ref, Commit: b.Commit}); err != nil {
		return core.Unavailablef(err, "the base could not be pushed to %s: %v", push.URL(), err).
			WithHint("other machines get it from there: see that git push works without being asked for a password")
	}
	b.Remote = fetch.URL()
	return nil
}

// remotesOf returns the remotes from which a checkout fetches and to which it pushes; nothing
// if other machines cannot use them.
func remotesOf(ctx context.Context, dir string, folders []string) (fetch, push git.Remote, err error) {
	rawFetch, rawPush, err := git.Remotes(ctx, dir)
	if err != nil {
		return fetch, push, err
	}
	from, err := git.ParseRemote(rawFetch)
	to, otherErr := git.ParseRemote(rawPush)
	for _, r := range []git.Remote{from, to} {
		if err != nil || otherErr != nil || r.IsFolder() && !covered(r, folders) {
			return fetch, push, nil
		}
	}
	return from, to, nil
}

// topOf returns the top folder of a checkout, and the path of a folder in it.
func topOf(ctx context.Context, dir string) (top, prefix string, err error) {
	told, err := git.Run(ctx, dir, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return "", "", core.Invalidf("%v", err).WithHint("only work in a git repository goes to another machine")
	}
	top, prefix, _ = strings.Cut(strings.TrimSuffix(told, "\n"), "\n")
	// The configuration could name any folder as the work tree, such as HOME.
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	for err == nil && real != top {
		if _, none := os.Lstat(filepath.Join(real, ".git")); none == nil || filepath.Dir(real) == real {
			return "", "", core.Invalidf("the files of the repository at %s are elsewhere, in %s", real, top).WithHint("unset core.worktree")
		}
		real = filepath.Dir(real)
	}
	if _, none := os.Lstat(filepath.Join(top, ".git")); err == nil && none != nil {
		err = core.Invalidf("%s has no repository of its own", top)
	}
	return top, strings.TrimSuffix(prefix, "/"), err
}

// Forget deletes the refs that Export and Return made under ids, in a checkout and at its
// remote. It accepts the same folders as Export.
func Forget(ctx context.Context, checkout string, ids, folders []string) error {
	wanted := map[string]bool{}
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
		wanted[id] = true
	}
	own, err := git.Run(ctx, checkout, "for-each-ref", "--format=%(refname)", baseRefs, runRefs)
	if err != nil {
		return err
	}
	for _, ref := range strings.Fields(own) {
		if wanted[idIn(ref)] {
			if _, err := git.Run(ctx, checkout, "update-ref", "-d", ref); err != nil {
				return err
			}
		}
	}
	_, remote, err := remotesOf(ctx, checkout, folders)
	if err != nil || remote == (git.Remote{}) || len(ids) == 0 {
		return err
	}
	refs, err := git.Refs(ctx, checkout, remote, "refs/flame/")
	var updates []git.Update
	for _, ref := range refs {
		if wanted[idIn(ref)] {
			updates = append(updates, git.Update{Ref: ref})
		}
	}
	if err == nil && len(updates) > 0 {
		err = git.Push(ctx, checkout, remote, updates...)
	}
	if err != nil {
		return core.Unavailablef(err, "the refs at %s could not be deleted: %v", remote.Name(), err).
			WithHint("try again when the remote can be reached")
	}
	return nil
}

// idIn returns the id in a ref of this package; empty for other refs.
func idIn(ref string) string {
	if id, isBase := strings.CutPrefix(ref, baseRefs); isBase {
		return id
	}
	rest, isRun := strings.CutPrefix(ref, runRefs)
	id, _, nested := strings.Cut(rest, "/")
	if !isRun || !nested {
		return ""
	}
	return id
}
