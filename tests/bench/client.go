package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/samber/lo"
)

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
