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

// What is owed is looked for every oweTime; shareTime bounds one try to share what an agent
// left, and sharedFor is for how long after its end that is tried.
const (
	oweTime   = 2 * time.Second
	shareTime = time.Minute
	sharedFor = core.Millis(24 * 60 * 60_000)
)

// Owe does what this machine owes the project's others, while it is connected to their hub,
// until ctx ends: it shares what the user wants them to see of agents, and tells workers to
// stop that could not be told before.
func Owe(ctx context.Context, a *Agents) {
	o := owing{a, map[string]bool{}}
	look := time.NewTicker(oweTime)
	defer look.Stop()
	for {
		err := errors.Join(tellCancelled(ctx, a), o.share(ctx))
		if err != nil && ctx.Err() == nil {
			a.Project.Log.Warn("what is owed to other machines", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// An owing is what shares agents.
type owing struct {
	a    *Agents
	done map[string]bool // by the ids of agents of which there is nothing more to share
}

// share shares what agents left that have ended and of which nothing was shared yet.
func (o owing) share(ctx context.Context) error {
	if len(o.a.Share) == 0 {
		return nil
	}
	var ended []record.Run
	err := o.a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		ended, err = record.JustEnded(tx, o.a.Project.Now(), sharedFor)
		return err
	})
	for _, run := range ended {
		if run.Frame != "" && run.For == "" && len(run.Shared) == 0 && !o.done[run.ID] { // else its asker shares it
			o.done[run.ID] = true
			err = errors.Join(err, share(ctx, o.a, run))
		}
	}
	return err
}

// share leaves on the hub what other machines may see of an agent.
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
		known, err := record.Runs.Load(tx, run.ID, &run)
		if !known || err != nil {
			return err
		}
		run.Shared = shared
		return record.Runs.Save(tx, run.ID, run)
	})
}

// shareable returns what is shared of a kind; nothing if the agent left none.
func shareable(ctx context.Context, a *Agents, run record.Run, kind string) (text []byte, err error) {
	more := false
	switch kind {
	case abroad.Prompts:
		told, err := record.AssignmentOf(ctx, a.Project.Store, run.ID)
		return []byte(told.Task), err
	case abroad.Logs: // of a very long one the begin
		text, _, err = supervise.ReadSome(filepath.Join(a.Folder(run.ID), supervise.OutputFile), abroad.MaxShared)
	case abroad.Patches:
		text, more, err = supervise.ReadSome(record.Patch(a.Data, run.ID), abroad.MaxShared)
	}
	if more {
		err = core.Invalidf("it has over %d MB", abroad.MaxShared>>20)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Shared returns what another machine shares of an agent, by the id of the agent or its
// frame. It asks the hub. The error is core.ErrNotFound if nothing of that kind is shared.
func Shared(ctx context.Context, a *Agents, id, kind string) (text []byte, err error) {
	if !slices.Contains(abroad.Kinds, kind) {
		return nil, core.Invalidf("%q is nothing that is shared of agents", core.OneLine(kind, 40)).WithHint("one of %s", strings.Join(abroad.Kinds, ", "))
	}
	if err := reach(a.Elsewhere); err != nil {
		return nil, err
	}
	var frame string
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		frame, err = abroad.FrameOf(tx, id)
		return err
	})
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
