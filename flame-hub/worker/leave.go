package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/flame-hub/queue"
	"flame/local/git"
)

// Bounds of an agent's results: bytes, files, and characters of texts in a report.
const (
	maxOutput  = 64 << 20
	maxPatch   = 50 << 20
	maxChanges = 1_000
	maxText    = 100_000
)

// leave keeps the agent's results on the hub, and cuts the report to the size of a record.
func (h *held) leave(ctx context.Context, r *record.Report) (err error) {
	if h.agent == "" {
		return nil // it has not started
	}
	dir, name := h.Agents.Folder(h.agent), fmt.Sprintf("%s-%d-", h.lease.Job, h.lease.Attempt)
	var noOutput, noPatch error
	r.Output, noOutput = h.put(ctx, filepath.Join(dir, supervise.OutputFile), name+"output", maxOutput, false)
	r.Patch, noPatch = h.put(ctx, filepath.Join(dir, changes.PatchFile), name+"patch", maxPatch, true)
	r.Outcome.Text, r.Outcome.Error = core.Cut(r.Outcome.Text, maxText), core.Cut(r.Outcome.Error, maxText/10)
	r.Outcome.Stderr = core.Cut(r.Outcome.Stderr, maxText/10)
	r.Changes = r.Changes[:min(len(r.Changes), maxChanges)]
	for i := range r.Changes {
		r.Changes[i].Excerpt = "" // it is in the patch
	}
	return errors.Join(noOutput, noPatch)
}

// put stores at most the first bytes of a file of an agent's folder on the hub, and returns its
// name there, or "" without such a file. With whole, it stores the whole file or nothing.
func (h *held) put(ctx context.Context, path, name string, most int64, whole bool) (string, error) {
	text, more, err := supervise.ReadFrom(path, 0, most)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0:
		return "", nil
	case err != nil:
		return "", err
	case more && whole:
		return "", fmt.Errorf("%s has over %d MB, and stays on the worker's machine", filepath.Base(path), most>>20)
	}
	return name, h.line.lasting(ctx, func(q *queue.Queue) error { return q.PutObject(ctx, name, bytes.NewReader(text)) })
}

// mirrors are the repositories that this worker keeps.
func (w *Worker) mirrors() changes.Mirrors {
	return changes.Mirrors{Dir: filepath.Join(w.Data, "mirrors"), Allowed: w.Repos}
}

// takeOn begins the agent of a job.
func (h *held) takeOn(ctx context.Context, work record.Task, asker string) error {
	run, err := agents.AcceptRemote(ctx, h.Agents, work, agents.WorkerPolicy{
		Asker: asker, Attempt: h.lease.Attempt, Most: h.Most,
		Prepare: func(ctx context.Context, folder string) (agents.Workspace, error) {
			return h.prepare(ctx, work, folder)
		},
	})
	if err == nil {
		h.agent = run.ID
	}
	return err
}

// prepare makes the folder that an agent works in: a worktree of the repository that its
// asker works in, or an empty folder if the asker works outside of repositories.
func (h *held) prepare(ctx context.Context, work record.Task, folder string) (at agents.Workspace, err error) {
	if work.Base == nil {
		at.Dir = filepath.Join(folder, "work")
		return at, os.Mkdir(at.Dir, 0o700)
	}
	h.base = work.Base
	at.Worktree, at.Base = filepath.Join(folder, "worktree"), work.Base.Commit
	at.Dir, err = h.mirrors().Checkout(ctx, at.Worktree, *work.Base)
	return at, err
}

// giveBack pushes the agent's changes and removes its worktree. If the push fails, the patch
// has them.
func (h *held) giveBack(ctx context.Context, r *record.Report) error {
	folder := h.Agents.Folder(h.agent)
	worktree := filepath.Join(folder, "worktree")
	if _, err := os.Lstat(worktree); err != nil || h.base == nil || h.agent == "" {
		return nil // it changed nothing, has no repository, or has not started
	}
	back, err := h.mirrors().Collect(ctx, worktree, *h.base, h.lease.Job, h.lease.Attempt, record.Patch(h.Data, h.agent))
	if back.Changes != nil {
		r.Changes = back.Changes
	}
	if err != nil {
		return err
	}
	r.Changes = back.Changes
	if back.Ref == "" {
		return nil // Return has removed the worktree
	}
	return changes.Worktree{Dir: worktree}.Remove(context.WithoutCancel(ctx), worktree)
}

// OwnRepository returns the pattern of the project's own remote, if it has one.
func OwnRepository(ctx context.Context, dir string) []string {
	fetch, _, err := git.Remotes(ctx, dir)
	if err != nil || fetch == "" {
		return nil
	}
	remote, err := git.ParseRemote(fetch)
	if err != nil {
		return nil
	}
	return []string{remote.Name()}
}
