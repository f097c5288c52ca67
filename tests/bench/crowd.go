package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"flame/project"
)

var (
	lostGoal  = goal{plus: 0}
	worstGoal = goal{plus: 150}
)

// A note is a decision to be written into a frame.
type note struct{ frame, text string }

// crowdOfServers has servers write as fast as they can.
func (b *bench) crowdOfServers(ctx context.Context) (rows []row, err error) {
	var writers []func(note) error
	for range b.crowd {
		c, err := connect(b.command(ctx, b.middle(), "serve"))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		writers = append(writers, func(n note) error {
			_, err := c.tool("flame_add_decision", map[string]any{"frameID": n.frame, "decision": n.text})
			return err
		})
	}
	return b.crowded(ctx, "servers", b.calls, writers)
}

// crowdOfCommands has as many commands run at once as there were servers.
func (b *bench) crowdOfCommands(ctx context.Context) ([]row, error) {
	writers := slices.Repeat([]func(note) error{func(n note) error {
		_, err := output(b.command(ctx, b.middle(), "decision", "--frame", n.frame, n.text))
		return err
	}}, b.crowd)
	return b.crowded(ctx, "commands", b.commands, writers)
}

// crowded lets all writers write at once, each its own notes, and counts those
// that are not there afterwards.
func (b *bench) crowded(ctx context.Context, who string, each int, writers []func(note) error) ([]row, error) {
	t := b.middle()
	samples, errs := make([]sample, len(writers)), make([]error, len(writers))
	notes := notesFor(t, who, len(writers)*each)
	var running sync.WaitGroup
	for i, own := range slices.Collect(slices.Chunk(notes, each)) {
		running.Go(func() {
			for _, n := range own {
				start := time.Now()
				if errs[i] = writers[i](n); errs[i] != nil {
					return
				}
				samples[i] = append(samples[i], time.Since(start))
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	lost, err := t.lost(ctx, notes)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(samples...)
	what := fmt.Sprintf("%d %s writing at once, ", len(writers), who)
	return []row{
		lostGoal.against(what+"lost", t.frames, unitWrites, float64(lost), 0),
		worstGoal.against(what+"worst of "+fmt.Sprint(len(all)), t.frames, unitMS, all.worst(), 0),
	}, nil
}

// notesFor makes notes that differ, for frames far apart.
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
