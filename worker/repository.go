package worker

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"flame/agents"
	"flame/agents/away"
	"flame/agents/carry"
	"flame/agents/changes"
	"flame/agents/record"
	"flame/git"
)

// mirrors are the repositories that this worker keeps.
func (w *Worker) mirrors() carry.Mirrors {
	return carry.Mirrors{Dir: filepath.Join(w.Data, "mirrors"), Allowed: w.Repos}
}

// takeOn begins the agent of a job.
func (h *held) takeOn(ctx context.Context, work away.Work, asker string) error {
	run, err := agents.TakeOn(ctx, h.Agents, work, agents.Terms{
		Asker: asker, Attempt: h.lease.Attempt, Most: h.Most,
		Prepare: func(ctx context.Context, folder string) (agents.Place, error) { return h.prepare(ctx, work, folder) },
	})
	if err == nil {
		h.agent = run.ID
	}
	return err
}

// prepare makes the folder that an agent works in: a worktree of the repository that its
// asker works in, or an empty one where that works in none.
func (h *held) prepare(ctx context.Context, work away.Work, folder string) (at agents.Place, err error) {
	if work.Base == nil {
		at.Dir = filepath.Join(folder, "work")
		return at, os.Mkdir(at.Dir, 0o700)
	}
	h.base = work.Base
	at.Worktree, at.Base = filepath.Join(folder, "worktree"), work.Base.Commit
	at.Dir, err = h.mirrors().Take(ctx, at.Worktree, *work.Base, func(to io.Writer) error {
		return Asker{Data: h.Data}.Fetch(ctx, work.Bundle, to, carry.MaxBundle)
	})
	return at, err
}

// giveBack pushes what the agent changed, and removes its worktree: the patch has the same,
// also where the push fails.
func (h *held) giveBack(ctx context.Context, r *away.Report) error {
	folder := h.Agents.Folder(h.agent)
	worktree := filepath.Join(folder, "worktree")
	if _, err := os.Lstat(worktree); err != nil || h.base == nil || h.agent == "" {
		return nil // it changed nothing, has no repository, or was not begun
	}
	back, err := h.mirrors().Return(ctx, worktree, *h.base, h.lease.Job, h.lease.Attempt, record.Patch(h.Data, h.agent))
	if back.Changes != nil {
		r.Changes = back.Changes
	}
	if err != nil {
		return err
	}
	r.Ref, r.Changes = back.Ref, back.Changes
	if back.Ref == "" {
		return nil // it is removed already
	}
	return changes.Worktree{Dir: worktree}.Remove(context.WithoutCancel(ctx), worktree)
}

// OwnRepository returns the patterns of the project's own remote, and of what comes as a
// bundle because its asker has no remote.
func OwnRepository(ctx context.Context, dir string) []string {
	patterns := []string{"bundle"}
	fetch, _, err := git.Remotes(ctx, dir)
	if err != nil || fetch == "" {
		return patterns
	}
	if remote, err := git.ParseRemote(fetch); err == nil {
		patterns = append(patterns, remote.Name())
	}
	return patterns
}
