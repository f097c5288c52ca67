package agents

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/result"
	"flame/agents/supervise"
	"flame/project"
	"flame/project/files"
)

const (
	maxPatchFile = 1 << 20 // bytes that are read of an agent's patch
	maxCalls     = 100     // that are taken in at once
)

// FilesOf returns which files were changed in the caller's frame, or the one ref names;
// children of it are not included. Of an agent that had a worktree for itself, here or on
// another machine, and has ended, it is what git tells of that, however it was changed.
func FilesOf(ctx context.Context, a *Agents, by project.Caller, ref string) (l files.List, err error) {
	var run record.Run
	err = a.Project.View(ctx, by, func(s *project.Step) error {
		frame, err := s.Resolve(ref)
		if err != nil {
			return err
		}
		var id string
		if known, err := project.RecordAgentFrame.Load(s.Tx, frame.ID, &id); err != nil {
			return err
		} else if known {
			if _, err := record.Runs.Load(s.Tx, id, &run); err != nil {
				return err
			}
		}
		l, err = files.WithPatches(s, frame.ID)
		return err
	})
	if err != nil || run.Worktree == "" && !run.Elsewhere() || !run.State.Ended() {
		return l, err
	}
	patch, cut, err := supervise.ReadSome(record.Patch(a.Data, run.ID), maxPatchFile)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil // it changed nothing, or flame was not there at its end
	}
	if err != nil {
		l.Trouble = "the patch of the agent's worktree cannot be read: " + err.Error()
		return l, nil
	}
	return files.ListOf(changes.Split(string(patch), cut)), nil
}

// noteFiles keeps what the log of an agent that ends tells of changes of files, unless
// its host has told of them meanwhile. Those of subagents that flame knows are in the
// frames of these.
func noteFiles(ctx context.Context, a *Agents, told result.Result, session string) error {
	session = cmp.Or(session, told.Session, told.ID)
	for calls := range slices.Chunk(told.Calls(a.Hosts), maxCalls) {
		err := a.Project.Store.Update(ctx, func(tx project.Tx) error {
			below, err := tx.FindSessions(project.SessionQuery{Parent: session, Limit: 1})
			if err != nil {
				return err
			}
			own := slices.DeleteFunc(slices.Clone(calls), func(c files.Call) bool { return c.Below && len(below) > 0 })
			return files.Add(a.Project.Step(tx, project.Caller{}), session, told.Frame, own)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
