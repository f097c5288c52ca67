package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"flame/hosts/claudecode"
)

var calledGoal = goal{plus: 1.5}

// calling times events that Claude Code's hooks send to the running server, from the call to the
// answer, and durable writes at the same time.
func (b *bench) calling(ctx context.Context) (rows []row, err error) {
	t := b.largest()
	disk, err := newSyncer(t.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, disk.close()) }()
	c, err := connect(b.command(ctx, t, "serve", "--host", claudecode.Name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, e := range hookEvents {
		if !e.called {
			continue
		}
		samples, err := b.callEach(ctx, c, e, disk)
		if err != nil {
			return nil, err
		}
		floor := 0.0
		if e.kept != nil {
			floor = samples[1].p50()
		}
		rows = append(rows, calledGoal.against("an event that the server takes, "+e.what+", p50", t.frames, unitMS, samples[0].p50(), floor))
	}
	return rows, nil
}

// callEach calls the server with e and syncs in turn, and checks the effect of e.
func (b *bench) callEach(ctx context.Context, c *client, e hookEvent, disk *syncer) ([]sample, error) {
	const later = 1_000_000 // than the events of hooks
	before, err := b.keptBy(ctx, e)
	if err != nil {
		return nil, err
	}
	samples, err := interleave(ctx, b.calls, func(run int) error { return c.hook(e, b.largest(), later+run) }, disk.sync)
	if err != nil {
		return nil, err
	}
	after, err := b.keptBy(ctx, e)
	if err == nil && e.kept != nil && after-before != b.calls {
		err = fmt.Errorf("of %d events %s the server kept %d", b.calls, e.what, after-before)
	}
	return samples, err
}

// hook calls the hooks' tool with e and checks the answer.
func (c *client) hook(e hookEvent, t tree, run int) error {
	input, err := asCalled(e.event(t, run))
	if err != nil {
		return err
	}
	text, err := c.tool("hook", input)
	if err == nil && e.answer != nil && !strings.Contains(text, e.answer(t)) {
		err = fmt.Errorf("the server answered %s without %s: %q", e.what, e.answer(t), text)
	}
	return err
}

// asCalled returns an event as Claude Code passes it to a server: other values than strings as
// JSON, and only the name of a written file.
func asCalled(event object) (object, error) {
	input := object{}
	for name, value := range event {
		if _, text := value.(string); !text {
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			value = string(encoded)
		}
		input[name] = value
	}
	if call, written := event["tool_input"].(object); written && event["tool_name"] == "Write" {
		input["tool_input"] = object{"file_path": call["file_path"], "notebook_path": ""}
		delete(input, "tool_response")
	}
	return input, nil
}
