package sweep

import (
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/files"
)

// pruneAge is how old a root without work must be to be archived (DESIGN §8).
const pruneAge = 7 * project.Day

// Prune archives, or with remove deletes, the roots that have been unchanged for a week
// and have no children, artifacts, decisions, summary or results. It leaves alone the
// current frames of live sessions. It works in batches, each complete in itself.
func Prune(ctx context.Context, p *project.Project, remove bool) (pruned []core.Frame, err error) {
	now := p.Now()
	var roots []string
	err = p.Store.View(ctx, func(tx project.Tx) error {
		roots, err = untouchedRoots(tx, project.FrameQuery{Roots: true, Archived: remove}, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = project.InBatches(ctx, p, roots, func(tx project.Tx, id string) (*core.Frame, error) {
		return pruneRoot(tx, id, now, remove)
	}, func(root *core.Frame) {
		if root != nil {
			pruned = append(pruned, *root)
		}
	})
	return pruned, err
}

// untouchedRoots returns the ids of the untouched roots among the frames that q
// describes.
func untouchedRoots(tx project.Tx, q project.FrameQuery, now core.Millis) (ids []string, err error) {
	links, err := tx.Links(q)
	if err != nil {
		return nil, err
	}
	return ids, project.EachFrame(tx, links, func(root core.Frame) error {
		if untouched(root, now) {
			ids = append(ids, root.ID)
		}
		return nil
	})
}

// pruneRoot prunes a root if it is still idle, and returns it; else nil.
func pruneRoot(tx project.Tx, id string, now core.Millis, remove bool) (*core.Frame, error) {
	root, err := tx.Frame(id)
	if err != nil {
		return nil, project.IgnoreMissing(err)
	}
	idle, err := isIdleRoot(tx, root, now)
	if err != nil || !idle {
		return nil, err
	}
	if remove {
		return &root, errors.Join(tx.DeleteFrame(id), files.Delete(tx, id))
	}
	root.ArchivedAt = now
	return &root, tx.SaveFrame(root)
}

// untouched reports whether root has no results and is old enough to be pruned. What
// becomes of another machine's is that one's matter.
func untouched(root core.Frame, now core.Millis) bool {
	worked := len(root.Artifacts)+len(root.Decisions)+len(root.Summary)+len(root.Results) > 0
	return !worked && !root.Foreign() && now-root.UpdatedAt >= pruneAge
}

// isIdleRoot reports whether root is untouched, has no children, and no live
// session works in it.
func isIdleRoot(tx project.Tx, root core.Frame, now core.Millis) (bool, error) {
	if !untouched(root, now) {
		return false, nil
	}
	children, err := tx.CountFrames(project.FrameQuery{Parent: root.ID, Archived: true})
	if err != nil || project.Total(children) > 0 {
		return false, err
	}
	at, err := tx.FindSessions(project.SessionQuery{Current: root.ID})
	for _, session := range at {
		if session.State != core.SessionEnded && now-session.LastActivityAt < pruneAge {
			return false, err
		}
	}
	return err == nil, err
}
