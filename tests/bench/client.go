package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A client speaks MCP with a server on the server's stdin and stdout, one request at a time.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int // of the last request
}

// connect starts the server and opens the session.
func connect(cmd *exec.Cmd) (*client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReader(out)}
	_, err = c.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	})
	if err == nil {
		err = c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *client) send(message map[string]any) error {
	return json.NewEncoder(c.in).Encode(message)
}

// call sends a request and returns its result. It skips the server's notifications.
func (c *client) call(method string, params any) (json.RawMessage, error) {
	c.id++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		var answer struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		switch err := json.Unmarshal(line, &answer); {
		case err != nil:
			return nil, fmt.Errorf("%s: %w: %s", method, err, line)
		case answer.ID == nil || *answer.ID != c.id:
		case answer.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		default:
			return answer.Result, nil
		}
	}
}

// tool calls a tool and returns its text.
func (c *client) tool(name string, args map[string]any) (string, error) {
	raw, err := c.call("tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, raw)
	}
	var text strings.Builder
	for _, part := range result.Content {
		text.WriteString(part.Text)
	}
	if result.IsError {
		return "", fmt.Errorf("%s: %s", name, text.String())
	}
	return text.String(), nil
}

// close ends the input of the server and waits for its exit.
func (c *client) close() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}
