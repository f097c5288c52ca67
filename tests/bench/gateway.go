package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"flame/core"
	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/stack"
)

var (
	gatewayGoal       = goal{plus: 10}
	gatewayMemoryGoal = goal{times: 1.1}
)

// gatewayBody is the size of a request, in bytes; folding leaves out most of it.
const gatewayBody = 500_000

// gateway times and weighs a gateway that folds requests, beside the same requests without one.
// Its memory after a tenth of them is its baseline.
func (b *bench) gateway(ctx context.Context) (rows []row, err error) {
	t := b.middle()
	body, err := foldedBody(ctx, t)
	if err != nil {
		return nil, err
	}
	var arrived atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body) // a short read shows as a wrong size
		arrived.Store(n)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"message_stop\"}\n\n")
	}))
	defer upstream.Close()
	cmd := b.command(ctx, t, "gateway", "--upstream", upstream.URL)
	base, err := startGateway(cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cmd.Process.Signal(os.Interrupt), cmd.Wait()) }()
	var early, late []float64
	samples, err := interleave(ctx, b.requests,
		func(int) error { return askModel(ctx, upstream.URL, body) },
		func(int) error {
			err := askModel(ctx, base, body)
			if n := arrived.Load(); err == nil && n > gatewayBody/2 {
				err = fmt.Errorf("nothing was folded: %d of %d bytes went on", n, len(body))
			}
			return err
		},
		func(run int) error {
			megabytes, err := resident(ctx, cmd.Process.Pid)
			switch tenth := b.requests / 10; {
			case run < tenth && run >= tenth/2:
				early = append(early, megabytes)
			case run >= b.requests-tenth:
				late = append(late, megabytes)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return []row{
		gatewayGoal.against("flame gateway, what it adds to a request of 500 KB, p50", t.frames, unitMS, samples[1].p50()-samples[0].p50(), 0),
		gatewayMemoryGoal.against("flame gateway, memory after all requests, against a tenth", t.frames, unitMB, middleOf(late), middleOf(early)),
	}, nil
}

func middleOf(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// startGateway starts a gateway and returns the base URL that it prints.
func startGateway(cmd *exec.Cmd) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, base, found := strings.Cut(strings.TrimSpace(line), "=")
	if err != nil || !found {
		return "", errors.Join(fmt.Errorf("the gateway said %q and %q: %w", line, complaint.String(), err), cmd.Process.Kill(), cmd.Wait())
	}
	return base, nil
}

// gatewaySession is the session of the requests.
const gatewaySession = "session-behind-a-gateway"

func askModel(ctx context.Context, base string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Claude-Code-Session-Id", gatewaySession)
	r.Header.Set("X-Claude-Code-Request-Class", "main")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %d %s", response.StatusCode, text)
	}
	return err
}

// resident returns the memory of a process, in MB.
func resident(ctx context.Context, pid int) (float64, error) {
	out, err := output(exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(pid)))
	if err != nil {
		return 0, err
	}
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	return kilobytes * 1024 / 1e6, err
}

type object = map[string]any

// foldedBody returns a request of the session after ten pieces of work. Their frames are in the
// project of t.
func foldedBody(ctx context.Context, t tree) (body []byte, err error) {
	p, kept := t.open()
	defer func() { err = errors.Join(err, kept.Close()) }()
	by := project.Caller{Session: gatewaySession, Host: claudecode.Name, Trust: project.TrustHook}
	const pieces, reads = 10, 10
	file := strings.Repeat("some words of a file\n", gatewayBody/(pieces*reads*23))
	messages, calls := []object{{"role": "user", "content": "Do the work."}}, 0
	call := func(tool string, input object, answer string) {
		calls++
		id := fmt.Sprintf("toolu_%d", calls)
		messages = append(messages,
			object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": tool, "input": input}}},
			object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": answer}}})
	}
	for piece := range pieces {
		frame, err := stack.Push(ctx, p, by, fmt.Sprintf("piece %d", piece), "")
		if err != nil {
			return nil, err
		}
		call("mcp__flame__flame_push", object{"goal": frame.Goal}, fmt.Sprintf("Started %s %q. Parent: the root.\nIt is your current frame.", frame.ID, frame.Goal))
		for range reads {
			call("Read", object{"file_path": "/file"}, file)
		}
		if _, err := stack.Pop(ctx, p, by, stack.PopArgs{Status: core.Completed, Summary: "done"}); err != nil {
			return nil, err
		}
		call("mcp__flame__flame_pop", object{"status": "completed", "summary": "done"}, fmt.Sprintf("%s is completed: %q", frame.ID, frame.Goal))
	}
	return json.Marshal(object{"model": "claude-opus-5-5", "stream": true, "max_tokens": 1000, "messages": messages})
}
