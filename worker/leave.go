package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"flame/agents"
	"flame/agents/away"
	"flame/agents/changes"
	"flame/agents/supervise"
	"flame/core"
	"flame/hub/queue"
)

// What an agent leaves is bounded, in bytes and files; of texts in a report, in characters.
const (
	maxOutput  = 64 << 20
	maxPatch   = 50 << 20
	maxChanges = 1_000
	maxText    = 100_000
)

// What is told of an agent's output while it runs is bounded, in bytes; all of it comes at
// the end.
const (
	maxPrinted = 32 << 20
	maxAtOnce  = 256 << 10
)

// print tells what the agent of a job's attempt prints until ctx ends. It waits for a hub that
// is slow to take it, and holds up nothing else.
func (h *held) print(ctx context.Context, id string, attempt int) {
	look := time.NewTicker(lookPace)
	defer look.Stop()
	for told := int64(0); told < maxPrinted; {
		text, err := agents.PrintedBy(h.Agents, h.agent, told, maxAtOnce)
		for piece := range slices.Chunk(text, queue.MaxPiece) {
			var q *queue.Queue
			if q, err = h.line.queue(ctx); err == nil {
				err = q.Print(ctx, id, attempt, told, piece)
			}
			if err != nil {
				break
			}
			told += int64(len(piece))
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrUnavailable) {
			h.Log.Warn("what an agent prints is told at its end only", "agent", h.agent, "error", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// leave has the hub keep what the agent left, and fits the report to what a record holds.
func (h *held) leave(ctx context.Context, r *away.Report) (err error) {
	if h.agent == "" {
		return nil // it was not begun
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

// put has the hub keep a file of an agent's folder, at most so many bytes of it, and returns
// under which name; empty if there is none. What is of no use in part is not kept in part.
func (h *held) put(ctx context.Context, path, name string, most int64, whole bool) (string, error) {
	text, more, err := supervise.ReadSome(path, most)
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
