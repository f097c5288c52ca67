package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/agents/abroad"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/project"
)

// The limits of what an agent elsewhere may store on this machine, in bytes.
const (
	maxAwayOutput = 64 << 20
	maxAwayPatch  = 50 << 20
)

// cancelTime is how long a cancelled agent may take to end elsewhere.
const cancelTime = 30 * time.Second

// mostAgain is how often flame restarts the follower of an agent.
const mostAgain = 10

// followAgain starts another follower for an agent elsewhere whose follower was has died. If
// that fails, it tells the worker to stop, so that the agent does not run unseen.
func followAgain(ctx context.Context, a *Agents, run record.Run, was supervise.Process) (following bool, err error) {
	if reach(a.Elsewhere) != nil {
		return false, nil
	}
	again := false
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		live, known, err := record.Living.Get(tx, run.ID)
		switch {
		case err != nil:
			return err
		case !known || live.Supervisor != was:
			following = true // another process has done that
			return nil
		case live.Again >= mostAgain:
			return nil
		}
		again, following = true, true
		live.Starter, live.Supervisor, live.Since = supervise.Self(), supervise.Process{}, a.Project.Now()
		live.Again++
		return record.Living.Save(tx, run.ID, live)
	})
	switch {
	case err != nil:
		return following, err
	case again:
		return true, launch(ctx, a, a.planner(), run)
	case following:
		return true, nil
	}
	why := "its follower was killed"
	err = a.Elsewhere.Cancel(ctx, run.ID, why)
	if errors.Is(err, core.ErrUnavailable) {
		err = errors.Join(owe(ctx, a, run.ID, why), err)
	}
	if err != nil {
		a.Project.Log.Warn("could not stop the worker of an agent that has lost its follower", "agent", run.ID, "error", err)
	}
	return false, nil
}

// owe records that flame must still tell a worker to stop an agent; Owe does so later.
func owe(ctx context.Context, a *Agents, id, why string) error {
	return a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Untold.Save(tx, id, why) })
}

// tellCancelled tells workers to stop that could not be reached before.
func tellCancelled(ctx context.Context, a *Agents) error {
	untold, err := project.Read(ctx, a.Project, func(tx project.Tx) (map[string]string, error) { return record.Untold.ByID(tx) })
	for id, why := range untold {
		told := a.Elsewhere.Cancel(ctx, id, why)
		if told != nil && !errors.Is(told, core.ErrNotFound) {
			return errors.Join(err, told) // later
		}
		err = errors.Join(err, a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Untold.Delete(tx, id) }))
	}
	return err
}

// Owe checks every oweTime. shareTime bounds one attempt to share the work of an agent, and
// flame makes such attempts for sharedFor after the agent's end.
const (
	oweTime   = 2 * time.Second
	shareTime = time.Minute
	sharedFor = core.Millis(24 * 60 * 60_000)
)

// Owe does what this machine still owes to the project's other machines, while the hub is
// connected and until ctx ends: it shares the work of agents as far as the user allows, and
// tells workers to stop that it could not reach before.
func Owe(ctx context.Context, a *Agents) {
	tried := map[string]bool{} // by the ids of agents
	for range project.Steadily(ctx, oweTime) {
		err := errors.Join(tellCancelled(ctx, a), shareEnded(ctx, a, tried))
		if err != nil && ctx.Err() == nil {
			a.Project.Log.Warn("could not share work with other machines or stop their workers", "error", err)
		}
	}
}

// shareEnded shares the work of ended agents of which nothing was shared yet. It skips the
// agents in tried.
func shareEnded(ctx context.Context, a *Agents, tried map[string]bool) error {
	if len(a.Share) == 0 {
		return nil
	}
	ended, err := project.Read(ctx, a.Project, func(tx project.Tx) ([]record.Run, error) {
		return record.JustEnded(tx, a.Project.Now(), sharedFor)
	})
	for _, run := range ended {
		if run.Frame != "" && run.For == "" && len(run.Shared) == 0 && !tried[run.ID] { // the asker shares its own
			tried[run.ID] = true
			err = errors.Join(err, share(ctx, a, run))
		}
	}
	return err
}

// share stores on the hub what other machines may see of an agent.
func share(ctx context.Context, a *Agents, run record.Run) error {
	ctx, stop := context.WithTimeout(ctx, shareTime)
	defer stop()
	var shared []string
	for _, kind := range a.Share {
		text, err := shareable(ctx, a, run, kind)
		if err == nil && len(text) > 0 {
			err = a.Elsewhere.Leave(ctx, abroad.SharedName(run.Frame, kind), bytes.NewReader(text))
		}
		if err != nil {
			return fmt.Errorf("%s of %s are not shared: %w", kind, run.ID, err)
		}
		if len(text) > 0 {
			shared = append(shared, kind)
		}
	}
	if len(shared) == 0 {
		return nil
	}
	return a.Project.Store.Update(ctx, func(tx project.Tx) error {
		run, known, err := record.Runs.Get(tx, run.ID)
		if !known || err != nil {
			return err
		}
		run.Shared = shared
		return record.Runs.Save(tx, run.ID, run)
	})
}

// shareable returns the content of one kind that an agent shares, or nothing if the agent has
// none.
func shareable(ctx context.Context, a *Agents, run record.Run, kind string) (text []byte, err error) {
	more := false
	switch kind {
	case abroad.Prompts:
		told, err := record.AssignmentOf(ctx, a.Project, run.ID)
		return []byte(told.Task), err
	case abroad.Logs: // only the beginning of a very long log
		text, _, err = supervise.ReadFrom(filepath.Join(a.Folder(run.ID), supervise.OutputFile), 0, abroad.MaxShared)
	case abroad.Patches:
		text, more, err = supervise.ReadFrom(record.Patch(a.Data, run.ID), 0, abroad.MaxShared)
	}
	if more {
		err = core.Invalidf("it has over %d MB", abroad.MaxShared>>20)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Shared returns what another machine shares of an agent, by the id of the agent or of its
// frame. It asks the hub. If that machine shares nothing of the kind, the error is
// core.ErrNotFound.
func Shared(ctx context.Context, a *Agents, id, kind string) ([]byte, error) {
	if !slices.Contains(abroad.Kinds, kind) {
		return nil, core.Invalidf("%q is nothing that is shared of agents", core.OneLine(kind, 40)).WithHint("one of %s", strings.Join(abroad.Kinds, ", "))
	}
	if err := reach(a.Elsewhere); err != nil {
		return nil, err
	}
	frame, err := project.Read(ctx, a.Project, func(tx project.Tx) (string, error) { return abroad.FrameOf(tx, id) })
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, shareTime)
	defer stop()
	var got bytes.Buffer
	err = a.Elsewhere.Fetch(ctx, abroad.SharedName(frame, kind), &got, abroad.MaxShared)
	if errors.Is(err, core.ErrNotFound) {
		err = core.NotFoundf("no %s of %s are shared", kind, id).
			WithHint("%s on the machine of the agent says what is shared once it has ended; the hub keeps that for a week", env.Share)
	}
	return got.Bytes(), err
}
