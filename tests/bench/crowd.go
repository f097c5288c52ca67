package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/samber/lo"

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
func (b *bench) crowdOfServers(ctx context.Context) (rows []row) {
	return b.servers(ctx, "servers writing at once")
}

// besideInvalidation has them do so while a command invalidates many frames.
func (b *bench) besideInvalidation(ctx context.Context) (rows []row) {
	root := b.middle().planMany(ctx, b.voided)
	var invalidating sync.WaitGroup
	defer invalidating.Wait()
	invalidating.Go(func() { output(b.command(ctx, b.middle(), "invalidate", root, "no use")) })
	return b.servers(ctx, fmt.Sprintf("servers writing beside the invalidation of %d frames", b.voided))
}

// planMany plans n frames below a new one and returns its id.
func (t tree) planMany(ctx context.Context, n int) (root string) {
	p, closing := t.open()
	defer closing()
	root = "plan-root"
	const batch = 1000
	for from := 0; from < n; from += batch {
		lo.Must0(p.Store.Update(ctx, func(tx project.Tx) error {
			err := tx.SaveFrame(core.Frame{ID: root, Goal: "a large plan", Status: core.Planned})
			for i := from; i < min(n, from+batch) && err == nil; i++ {
				part := core.Frame{ID: fmt.Sprintf("plan-%d", i), Parent: root, Goal: "a part of it", Status: core.Planned}
				err = tx.SaveFrame(part)
			}
			return err
		}))
	}
	return root
}

// servers has a crowd of servers write at once; what names the rows.
func (b *bench) servers(ctx context.Context, what string) (rows []row) {
	var writers []func(note)
	for range b.crowd {
		c := connect(b.command(ctx, b.middle(), "serve"))
		defer c.close()
		writers = append(writers, func(n note) { c.tool("flame_add_decision", object{"frameID": n.frame, "decision": n.text}) })
	}
	return b.crowded(ctx, what, writers)
}

// crowded lets all writers write at once, each its own notes, and counts the lost
// notes.
func (b *bench) crowded(ctx context.Context, doing string, writers []func(note)) []row {
	t, each := b.middle(), b.calls
	notes := notesFor(t, doing, len(writers)*each)
	steps := make([]func(int), len(writers))
	for i, write := range writers {
		steps[i] = func(run int) { write(notes[i*each+run]) }
	}
	took := together(each, steps)
	lost := t.lost(ctx, notes)
	what := fmt.Sprintf("%d %s, ", len(writers), doing)
	return []row{
		lostGoal.against(what+"lost", t.frames, unitWrites, float64(lost), 0),
		worstGoal.against(fmt.Sprintf("%sworst of %d", what, len(took)), t.frames, unitMS, took.worst(), 0),
	}
}

// together runs all steps at once, each so many times, and times every run.
func together(runs int, steps []func(run int)) sample {
	samples := make([]sample, len(steps))
	var running sync.WaitGroup
	for i, step := range steps {
		running.Go(func() {
			for run := range runs {
				start := time.Now()
				step(run)
				samples[i] = append(samples[i], time.Since(start))
			}
		})
	}
	running.Wait()
	return slices.Concat(samples...)
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
func (t tree) lost(ctx context.Context, notes []note) (n int) {
	p, closing := t.open()
	defer closing()
	lo.Must0(p.Store.View(ctx, func(tx project.Tx) error {
		n = lo.CountBy(notes, func(note note) bool { return !slices.Contains(lo.Must(tx.Frame(note.frame)).Decisions, note.text) })
		return nil
	}))
	return n
}
