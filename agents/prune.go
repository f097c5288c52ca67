package agents

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/samber/lo"

	"flame/agents/carry"
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
	p := pruner{store: a.Project.Store, data: a.Data, dir: a.Dir}
	all, err := p.ended(ctx, before)
	if err != nil {
		return pruned, err
	}
	if !look {
		all = forget(ctx, a, all)
	}
	for _, run := range all {
		paths, size := p.bulk(ctx, run)
		if size == 0 {
			continue
		}
		if !look {
			if err := p.discard(ctx, run, paths); err != nil {
				return pruned, err
			}
		}
		pruned.Agents, pruned.Bytes = append(pruned.Agents, run.ID), pruned.Bytes+size
	}
	return pruned, nil
}

// forget deletes the hidden refs by which agents elsewhere got the repository, and what they
// changed came back. It returns the agents that can be pruned: those whose refs could not be
// deleted now are left for another time.
func forget(ctx context.Context, a *Agents, all []record.Run) []record.Run {
	given := lo.FilterMap(all, func(run record.Run, _ int) (string, bool) {
		return run.ID, run.Elsewhere() && run.Base != "" && sizeOf(record.Folder(a.Data, run.ID)) > 0
	})
	if len(given) == 0 {
		return all
	}
	if err := carry.Forget(ctx, a.Dir, given, nil); err != nil {
		a.Project.Log.Warn("what agents on other machines left at the remote could not be deleted", "error", err)
		return slices.DeleteFunc(all, func(run record.Run) bool { return slices.Contains(given, run.ID) })
	}
	return all
}

// A pruner deletes what agents left.
type pruner struct {
	store project.Store
	data  string          // the project's data folder
	dir   string          // a checkout of the project
	kept  map[string]bool // worktrees that others still have
}

// ended returns the agents that ended before a time and that nothing is left to be done
// about.
func (p *pruner) ended(ctx context.Context, before core.Millis) (old []record.Run, err error) {
	err = p.store.View(ctx, func(tx project.Tx) error {
		old, p.kept = nil, map[string]bool{}
		all, err := record.List(tx)
		for _, run := range all {
			busy, err := record.Living.Load(tx, run.ID, new(record.Live))
			if err != nil {
				return err
			}
			if run.State.Ended() && run.EndedAt < before && !busy {
				old = append(old, run)
			} else {
				p.kept[run.Worktree] = true
			}
		}
		return err
	})
	return old, err
}

// bulk returns what there is of an agent that takes much room, and how much.
func (p *pruner) bulk(ctx context.Context, run record.Run) (paths []string, size int64) {
	folder := record.Folder(p.data, run.ID)
	all := []string{filepath.Join(folder, supervise.OutputFile), filepath.Join(folder, supervise.ErrorsFile)}
	if run.Worktree != "" && !p.kept[run.Worktree] && run.Own().IsKept(ctx, record.Patch(p.data, run.ID)) {
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
func (p *pruner) discard(ctx context.Context, run record.Run, paths []string) error {
	for _, path := range paths {
		var err error
		if path != run.Worktree {
			err = os.Remove(path)
		} else if used, lookErr := p.inUse(ctx, path); !used && lookErr == nil {
			err = run.Own().Remove(ctx, p.repositoryOf(run))
		} else {
			err = lookErr
		}
		if err != nil && !os.IsNotExist(err) {
			return core.Unavailablef(err, "could not delete %s: %v", path, err)
		}
	}
	return nil
}

// repositoryOf returns a folder of the repository that an agent's worktree is of.
func (p *pruner) repositoryOf(run record.Run) string {
	if run.For != "" {
		return run.Worktree // it is of a mirror
	}
	return p.dir
}

// inUse reports whether an agent works in a worktree: one may have begun to go on
// there since it was looked at.
func (p *pruner) inUse(ctx context.Context, worktree string) (used bool, err error) {
	err = p.store.View(ctx, func(tx project.Tx) error {
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
