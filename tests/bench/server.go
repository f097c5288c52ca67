package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

var (
	startGoal = goal{plus: 8}
	pushGoal  = goal{times: 4, plus: 0.5}
)

// starting times a server from its start to its first list of tools.
func (b *bench) starting(ctx context.Context) ([]row, error) {
	t := b.largest()
	var c *client
	samples, err := interleave(ctx, b.starts,
		func(int) error { return b.greet(ctx) },
		func(int) (err error) {
			if c, err = connect(b.command(ctx, t, "serve")); err == nil {
				_, err = c.call("tools/list", nil)
			}
			return err
		},
		func(int) error { return c.close() },
	)
	if err != nil {
		return nil, err
	}
	return []row{startGoal.against("start to first tools/list, stdio, p50", t.frames, unitMS, samples[1].p50(), samples[0].p50())}, nil
}

// pushing times flame_push in a running server, for each tree.
func (b *bench) pushing(ctx context.Context) (rows []row, err error) {
	for _, frames := range b.scale.trees {
		floor, push, err := b.push(ctx, b.trees[frames])
		if err != nil {
			return nil, err
		}
		rows = append(rows, pushGoal.against("flame_push in a running server, p99", frames, unitMS, push.p99(), floor.p99()))
	}
	return rows, nil
}

// push times syncs of 4 KB and calls of flame_push in turn. It ends each frame at once, so that
// the next is beside it and not below.
func (b *bench) push(ctx context.Context, t tree) (floor, push sample, err error) {
	disk, err := newSyncer(t.dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, disk.close()) }()
	c, err := connect(b.command(ctx, t, "serve"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	samples, err := interleave(ctx, b.pushes,
		disk.sync,
		func(run int) error { _, err := c.push(run); return err },
		func(int) error { return c.pop() },
	)
	if err != nil {
		return nil, nil, err
	}
	return samples[0], samples[1], nil
}

var frameID = regexp.MustCompile(`frame-[a-z0-9]{8}`)

// push starts a frame and returns its id.
func (c *client) push(run int) (id string, err error) {
	goal := fmt.Sprintf("Piece of work %d", run)
	text, err := c.tool("flame_push", map[string]any{"goal": goal})
	if err != nil {
		return "", err
	}
	if id = frameID.FindString(text); id == "" {
		return "", fmt.Errorf("flame_push answered without an id: %q", text)
	}
	return id, nil
}

// pop ends the current frame.
func (c *client) pop() error {
	_, err := c.tool("flame_pop", map[string]any{"status": "completed", "summary": "It is done and it holds."})
	return err
}
