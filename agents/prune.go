package agents

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// PruneResult lists what Prune deleted.
type PruneResult struct {
	Agents []string `json:"agents"`         // ids of agents whose files were deleted
	Bytes  int64    `json:"bytes"`          // their size on disk
	Kept   []string `json:"kept,omitempty"` // worktrees that stay, because flame has no patch with all their changes
}

// Prune deletes the output and the worktrees of agents that ended before a time. With look set
// it only reports what it would delete. It keeps records, results, patches and assignments, so
// that these agents can still be continued.
func (a *Agents) Prune(ctx context.Context, before core.Millis, look bool) (pruned PruneResult, err error) {
	pruned.Agents = []string{}
	all, kept, err := endedBefore(ctx, a, before)
	if err != nil {
		return pruned, err
	}
	if !look {
		all = forget(ctx, a, all)
	}
	for _, run := range all {
		paths, size := bulk(ctx, a, run, kept)
		if run.Worktree != "" && !slices.Contains(paths, run.Worktree) && sizeOf(run.Worktree) > 0 {
			pruned.Kept = append(pruned.Kept, run.Worktree)
		}
		if size == 0 {
			continue
		}
		if !look {
			if err := discard(ctx, a, run, paths); err != nil {
				return pruned, err
			}
		}
		pruned.Agents, pruned.Bytes = append(pruned.Agents, run.ID), pruned.Bytes+size
	}
	return pruned, nil
}

// endedBefore returns the settled agents that ended before a time, and the worktrees of all
// other agents.
func endedBefore(ctx context.Context, a *Agents, before core.Millis) (old []record.Agent, kept map[string]bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		old, kept = nil, map[string]bool{}
		all, err := record.List(tx)
		for _, run := range all {
			_, busy, err := record.ActiveAgents.Get(tx, run.ID)
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

// forget deletes the hidden refs that carried the repository to agents elsewhere, and their
// changes back. It returns the agents that can be pruned. Agents whose refs could not be
// deleted are left for the next call.
func forget(ctx context.Context, a *Agents, all []record.Agent) []record.Agent {
	given := lo.FilterMap(all, func(run record.Agent, _ int) (string, bool) {
		return run.ID, run.IsRemote() && run.Base != "" && sizeOf(a.Folder(run.ID)) > 0
	})
	if len(given) == 0 {
		return all
	}
	if err := changes.Forget(ctx, a.Dir, given, nil); err != nil {
		a.Project.Log.Warn("could not delete the refs that agents on other machines left at the remote", "error", err)
		return slices.DeleteFunc(all, func(run record.Agent) bool { return slices.Contains(given, run.ID) })
	}
	return all
}

// bulk returns the large files and folders of an agent, and their size.
func bulk(ctx context.Context, a *Agents, run record.Agent, kept map[string]bool) (paths []string, size int64) {
	folder := a.Folder(run.ID)
	all := []string{filepath.Join(folder, supervise.OutputFile), filepath.Join(folder, supervise.ErrorsFile)}
	if run.Worktree != "" && !kept[run.Worktree] && run.OwnWorktree().IsKept(ctx, record.Patch(a.Data, run.ID)) {
		all = append(all, run.Worktree)
	}
	for _, path := range all {
		if its := sizeOf(path); its > 0 {
			paths, size = append(paths, path), size+its
		}
	}
	return paths, size
}

// discard deletes files of an agent. It deletes a worktree only if flame has its patch and no
// agent works in it: an agent may have continued there since the check.
func discard(ctx context.Context, a *Agents, run record.Agent, paths []string) error {
	for _, path := range paths {
		err := error(nil)
		if path != run.Worktree {
			err = os.Remove(path)
		} else {
			var running []record.Agent
			running, err = project.Read(ctx, a.Project, record.Running)
			used := slices.ContainsFunc(running, func(other record.Agent) bool { return other.Worktree == path })
			repository := a.Dir
			if run.Requester != "" {
				repository = path // the worktree belongs to a mirror
			}
			if err == nil && !used {
				err = run.OwnWorktree().Remove(ctx, repository)
			}
		}
		if err != nil && !os.IsNotExist(err) {
			return core.Unavailablef(err, "could not delete %s: %v", path, err)
		}
	}
	return nil
}

// DiskUse returns the size of the folders of all agents, in bytes.
func (a *Agents) DiskUse() int64 { return sizeOf(filepath.Join(a.Data, "agents")) }

// sizeOf returns the bytes of a file, or of all files in a folder.
func sizeOf(path string) (size int64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // unreadable files count as empty
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
