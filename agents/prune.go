package agents

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// A Pruned is what was deleted of agents.
type Pruned struct {
	Agents []string `json:"agents"` // ids of those that something was deleted of
	Bytes  int64    `json:"bytes"`  // that it took on disk
}

// Prune deletes what agents that ended before a time printed, and their worktrees;
// with look set it only says what would go. Their records, results, patches and what
// they were started from stay, so that they can still be gone on with.
func (a *Agents) Prune(ctx context.Context, before core.Millis, look bool) (pruned Pruned, err error) {
	pruned.Agents = []string{}
	all, kept, err := a.prunable(ctx, before)
	if err != nil {
		return pruned, err
	}
	for _, run := range all {
		paths, size := a.bulk(ctx, run, kept)
		if size == 0 {
			continue
		}
		if !look {
			if err := a.discard(ctx, run, paths); err != nil {
				return pruned, err
			}
		}
		pruned.Agents, pruned.Bytes = append(pruned.Agents, run.ID), pruned.Bytes+size
	}
	return pruned, nil
}

// prunable returns the agents that ended before a time and that nothing is left to be
// done about, and the worktrees that others still have.
func (a *Agents) prunable(ctx context.Context, before core.Millis) (old []record.Run, kept map[string]bool, err error) {
	kept = map[string]bool{}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		all, err := record.List(tx)
		for _, run := range all {
			busy, err := record.Living.Load(tx, run.ID, new(record.Live))
			if err != nil {
				return err
			}
			if run.State.Ended() && run.EndedAt < before && !busy {
				old = append(old, run)
			} else {
				kept[run.Worktree] = true
			}
		}
		return err
	})
	return old, kept, err
}

// bulk returns what there is of an agent that takes much room, and how much.
func (a *Agents) bulk(ctx context.Context, run record.Run, kept map[string]bool) (paths []string, size int64) {
	all := []string{filepath.Join(a.Folder(run.ID), supervise.OutputFile), filepath.Join(a.Folder(run.ID), supervise.ErrorsFile)}
	if run.Worktree != "" && !kept[run.Worktree] && run.Own().IsKept(ctx, a.patchOf(run.ID)) {
		all = append(all, run.Worktree)
	}
	for _, path := range all {
		if its := sizeOf(path); its > 0 {
			paths, size = append(paths, path), size+its
		}
	}
	return paths, size
}

// discard deletes files of an agent. A worktree goes only where its patch is kept.
func (a *Agents) discard(ctx context.Context, run record.Run, paths []string) error {
	for _, path := range paths {
		var err error
		if path != run.Worktree {
			err = os.Remove(path)
		} else if used, lookErr := a.inUse(ctx, path); !used && lookErr == nil {
			err = run.Own().Remove(ctx, a.Dir)
		} else {
			err = lookErr
		}
		if err != nil && !os.IsNotExist(err) {
			return core.Unavailablef(err, "could not delete %s: %v", path, err)
		}
	}
	return nil
}

// inUse reports whether an agent works in a worktree: one may have begun to go on
// there since it was looked at.
func (a *Agents) inUse(ctx context.Context, worktree string) (used bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		running, err := record.AtWork(tx)
		used = slices.ContainsFunc(running, func(run record.Run) bool { return run.Worktree == worktree })
		return err
	})
	return used, err
}

// DiskUse returns the bytes that the folders of all agents take.
func (a *Agents) DiskUse() int64 { return sizeOf(filepath.Join(a.Data, "agents")) }

// sizeOf returns the bytes of a file, or of all files in a folder.
func sizeOf(path string) (size int64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // what cannot be read counts nothing
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
