package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/samber/lo"

	"flame/hosts/claudecode"
	"flame/hosts/opencode"
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

// A client speaks MCP with a server on the server's stdin and stdout, one request at a time.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int // of the last request
}

// connect starts the server and opens the session.
func connect(cmd *exec.Cmd) *client {
	in := lo.Must(cmd.StdinPipe())
	out := lo.Must(cmd.StdoutPipe())
	cmd.Stderr = os.Stderr
	lo.Must0(cmd.Start())
	c := &client{cmd: cmd, in: in, out: bufio.NewReader(out)}
	c.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return c
}

func (c *client) send(message map[string]any) {
	lo.Must0(json.NewEncoder(c.in).Encode(message))
}

// call sends a request and returns its result. It skips the server's notifications.
func (c *client) call(method string, params any) json.RawMessage {
	c.id++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	for {
		line := lo.Must(c.out.ReadBytes('\n'))
		var answer struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		lo.Must0(json.Unmarshal(line, &answer), "%s: %s", method, line)
		if answer.ID != nil && *answer.ID == c.id {
			check(answer.Error == nil, "%s: %s", method, answer.Error)
			return answer.Result
		}
	}
}

// tool calls a tool and returns its text.
func (c *client) tool(name string, args map[string]any) string {
	raw := c.call("tools/call", map[string]any{"name": name, "arguments": args})
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	lo.Must0(json.Unmarshal(raw, &result))
	var text strings.Builder
	for _, part := range result.Content {
		text.WriteString(part.Text)
	}
	check(!result.IsError, "%s: %s", name, text.String())
	return text.String()
}

// close ends the input of the server and waits for its exit.
func (c *client) close() {
	lo.Must0(errors.Join(c.in.Close(), c.cmd.Wait()))
}

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

var streamGoal = goal{plus: 2}

// streams times events to a running flame and back.
func (b *bench) streams(ctx context.Context) (rows []row) {
	t := b.largest()
	s := b.stream(ctx, t)
	defer s.close()
	const later = 1_000_000 // than the turns of hooks
	samples := interleave(ctx, b.calls,
		func(run int) { s.exchange(requestedAnew(t, later+run)) },
		func(run int) { s.exchange(requestedAnew(t, later+run)) },
	)
	return []row{
		streamGoal.against("flame hook --stream, messages.transform of a new prompt, p50", t.frames, unitMS, samples[0].p50(), 0),
		streamGoal.against("flame hook --stream, messages.transform, p50", t.frames, unitMS, samples[1].p50(), 0),
	}
}

// A stream is a running flame that takes in events of OpenCode.
type stream struct {
	in      io.WriteCloser
	answers *bufio.Reader
	wait    func() error
	told    int
}

func (b *bench) stream(ctx context.Context, t tree) *stream {
	cmd := b.command(ctx, t, "hook", opencode.Name, "--stream")
	in := lo.Must(cmd.StdinPipe())
	out := lo.Must(cmd.StdoutPipe())
	lo.Must0(cmd.Start())
	return &stream{in: in, answers: bufio.NewReader(out), wait: cmd.Wait}
}

// exchange sends a request and reads the answer, which folds something.
func (s *stream) exchange(event map[string]any) {
	s.told++
	line := lo.Must(json.Marshal(map[string]any{"n": s.told, "source": "bench", "session": event["session"], "event": event}))
	lo.Must(s.in.Write(append(line, '\n')))
	answer := lo.Must(s.answers.ReadString('\n'))
	check(strings.HasPrefix(answer, fmt.Sprintf(`{"n":%d`, s.told)) && strings.Contains(answer, "drop"), "event %d was answered %q", s.told, answer)
}

func (s *stream) close() { lo.Must0(errors.Join(s.in.Close(), s.wait())) }
