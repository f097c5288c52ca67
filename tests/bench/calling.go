package main

import (
	"context"
	"encoding/json"

	"github.com/samber/lo"

	"flame/hosts/claudecode"
)

var calledGoal = goal{plus: 1.5}

// calling times events that Claude Code's hooks send to the running server, from the call to the
// answer, and durable writes at the same time.
func (b *bench) calling(ctx context.Context) (rows []row) {
	t := b.largest()
	disk := newSyncer(t.dir)
	defer disk.close()
	c := connect(b.command(ctx, t, "serve", "--host", claudecode.Name))
	defer c.close()
	for _, e := range hookEvents {
		if !e.called {
			continue
		}
		samples := b.callEach(ctx, c, e, disk)
		floor := 0.0
		if e.kept != nil {
			floor = samples[1].p50()
		}
		rows = append(rows, calledGoal.against("an event that the server takes, "+e.what+", p50", t.frames, unitMS, samples[0].p50(), floor))
	}
	return rows
}

// callEach calls the server with e and syncs in turn, and checks the effect of e.
func (b *bench) callEach(ctx context.Context, c *client, e hookEvent, disk *syncer) []sample {
	const later = 1_000_000 // than the events of hooks
	before := b.keptBy(ctx, e)
	samples := interleave(ctx, b.calls, func(run int) { c.hook(e, b.largest(), later+run) }, disk.sync)
	kept := b.keptBy(ctx, e) - before
	check(e.kept == nil || kept == b.calls, "of %d events %s the server kept %d", b.calls, e.what, kept)
	return samples
}

// hook calls the hooks' tool with e and checks the answer.
func (c *client) hook(e hookEvent, t tree, run int) {
	e.check(t, c.tool("hook", asCalled(e.event(t, run))))
}

// asCalled returns an event as Claude Code passes it to a server: other values than strings as
// JSON, and only the name of a written file.
func asCalled(event object) object {
	input := object{}
	for name, value := range event {
		if _, text := value.(string); !text {
			value = string(lo.Must(json.Marshal(value)))
		}
		input[name] = value
	}
	if call, written := event["tool_input"].(object); written && event["tool_name"] == "Write" {
		input["tool_input"] = object{"file_path": call["file_path"], "notebook_path": ""}
		delete(input, "tool_response")
	}
	return input
}
