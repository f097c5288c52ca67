package main

import (
	"context"
	"fmt"
	"regexp"
)

var (
	startGoal = goal{plus: 8}
	pushGoal  = goal{times: 4, plus: 0.5}
)

// starting times a server from its start to its first list of tools.
func (b *bench) starting(ctx context.Context) []row {
	t := b.largest()
	var c *client
	samples := interleave(ctx, b.starts,
		func(int) { b.greet(ctx) },
		func(int) {
			c = connect(b.command(ctx, t, "serve"))
			c.call("tools/list", nil)
		},
		func(int) { c.close() },
	)
	return []row{startGoal.against("start to first tools/list, stdio, p50", t.frames, unitMS, samples[1].p50(), samples[0].p50())}
}

// pushing times flame_push in a running server, for each tree.
func (b *bench) pushing(ctx context.Context) (rows []row) {
	for _, frames := range b.scale.trees {
		floor, push := b.push(ctx, b.trees[frames])
		rows = append(rows, pushGoal.against("flame_push in a running server, p99", frames, unitMS, push.p99(), floor.p99()))
	}
	return rows
}

// push times syncs of 4 KB and calls of flame_push in turn. It ends each frame at once, so that
// the next is beside it and not below.
func (b *bench) push(ctx context.Context, t tree) (floor, push sample) {
	disk := newSyncer(t.dir)
	defer disk.close()
	c := connect(b.command(ctx, t, "serve"))
	defer c.close()
	samples := interleave(ctx, b.pushes,
		disk.sync,
		func(run int) { c.push(run) },
		func(int) { c.pop() },
	)
	return samples[0], samples[1]
}

var frameID = regexp.MustCompile(`frame-[a-z0-9]{8}`)

// push starts a frame and returns its id.
func (c *client) push(run int) (id string) {
	goal := fmt.Sprintf("Piece of work %d", run)
	text := c.tool("flame_push", map[string]any{"goal": goal})
	id = frameID.FindString(text)
	check(id != "", "flame_push answered without an id: %q", text)
	return id
}

// pop ends the current frame.
func (c *client) pop() {
	c.tool("flame_pop", map[string]any{"status": "completed", "summary": "It is done and it holds."})
}
