package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"flame/core"
	"flame/project"
)

var (
	lostGoal  = goal{plus: 0}
	worstGoal = goal{plus: 150}
)

// A note is a decision for a frame.
type note struct{ frame, text string }

// crowdOfServers has servers write as fast as they can.
func (b *bench) crowdOfServers(ctx context.Context) (rows []row, err error) {
	return b.servers(ctx, "servers writing at once")
}

// besideInvalidation has them do so while a command invalidates many frames.
func (b *bench) besideInvalidation(ctx context.Context) (rows []row, err error) {
	root, err := b.middle().planMany(ctx, b.voided)
	if err != nil {
		return nil, err
	}
	invalidated := make(chan error, 1)
	go func() {
		_, err := output(b.command(ctx, b.middle(), "invalidate", root, "no use"))
		invalidated <- err
	}()
	rows, err = b.servers(ctx, fmt.Sprintf("servers writing beside the invalidation of %d frames", b.voided))
	return rows, errors.Join(err, <-invalidated)
}

// planMany plans n frames below a new one and returns its id.
func (t tree) planMany(ctx context.Context, n int) (root string, err error) {
	_, kept := t.open()
	defer func() { err = errors.Join(err, kept.Close()) }()
	root = "plan-root"
	const batch = 1000
	for from := 0; from < n && err == nil; from += batch {
		err = kept.Update(ctx, func(tx project.Tx) error {
			err := tx.SaveFrame(core.Frame{ID: root, Goal: "a large plan", Status: core.Planned})
			for i := from; i < min(n, from+batch) && err == nil; i++ {
				part := core.Frame{ID: fmt.Sprintf("plan-%d", i), Parent: root, Goal: "a part of it", Status: core.Planned}
				err = tx.SaveFrame(part)
			}
			return err
		})
	}
	return root, err
}

// servers has a crowd of servers write at once; what names the rows.
func (b *bench) servers(ctx context.Context, what string) (rows []row, err error) {
	var clients []*client
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	var writers []func(note) error
	for range b.crowd {
		c, err := connect(b.command(ctx, b.middle(), "serve"))
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
		writers = append(writers, func(n note) error {
			_, err := c.tool("flame_add_decision", map[string]any{"frameID": n.frame, "decision": n.text})
			return err
		})
	}
	return b.crowded(ctx, what, writers)
}

// crowded lets all writers write at once, each its own notes, and counts the lost
// notes.
func (b *bench) crowded(ctx context.Context, doing string, writers []func(note) error) ([]row, error) {
	t, each := b.middle(), b.calls
	notes := notesFor(t, doing, len(writers)*each)
	steps := make([]func(int) error, len(writers))
	for i, write := range writers {
		steps[i] = func(run int) error { return write(notes[i*each+run]) }
	}
	took, err := together(each, steps)
	if err != nil {
		return nil, err
	}
	lost, err := t.lost(ctx, notes)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d %s, ", len(writers), doing)
	return []row{
		lostGoal.against(what+"lost", t.frames, unitWrites, float64(lost), 0),
		worstGoal.against(fmt.Sprintf("%sworst of %d", what, len(took)), t.frames, unitMS, took.worst(), 0),
	}, nil
}

// together runs all steps at once, each so many times, and times every run.
func together(runs int, steps []func(run int) error) (sample, error) {
	samples, errs := make([]sample, len(steps)), make([]error, len(steps))
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() {
			for run := 0; run < runs && errs[i] == nil; run++ {
				start := time.Now()
				errs[i] = step(run)
				samples[i] = append(samples[i], time.Since(start))
			}
		})
	}
	running.Wait()
	return slices.Concat(samples...), errors.Join(errs...)
}

// notesFor makes distinct notes, for distant frames.
func notesFor(t tree, who string, n int) []note {
	notes := make([]note, n)
	for i := range notes {
		notes[i] = note{frame: t.frame(i), text: fmt.Sprintf("%s decided %d", who, i)}
	}
	return notes
}

// lost counts the notes that the store does not have.
func (t tree) lost(ctx context.Context, notes []note) (n int, err error) {
	_, kept := t.open()
	defer func() { err = errors.Join(err, kept.Close()) }()
	err = kept.View(ctx, func(tx project.Tx) error {
		for _, note := range notes {
			f, err := tx.Frame(note.frame)
			if err != nil {
				return err
			}
			if !slices.Contains(f.Decisions, note.text) {
				n++
			}
		}
		return nil
	})
	return n, err
}
