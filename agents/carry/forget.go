package carry

import (
	"context"
	"strings"

	"flame/core"
	"flame/git"
)

// Forget deletes what was given and returned under ids, in a checkout and at its remote.
// Folders are as in Options.
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

// idIn returns the id that a ref was made for; empty if it is no ref of this package.
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
