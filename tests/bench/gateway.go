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

	"github.com/samber/lo"

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
func (b *bench) gateway(ctx context.Context) (rows []row) {
	t := b.middle()
	body := foldedBody(ctx, t)
	var arrived atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body) // a short read shows as a wrong size
		arrived.Store(n)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"message_stop\"}\n\n")
	}))
	defer upstream.Close()
	cmd := b.command(ctx, t, "gateway", "--upstream", upstream.URL)
	base := startGateway(cmd)
	defer func() { lo.Must0(errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait())) }()
	var early, late []float64
	samples := interleave(ctx, b.requests,
		func(int) { askModel(ctx, upstream.URL, body) },
		func(int) {
			askModel(ctx, base, body)
			check(arrived.Load() <= gatewayBody/2, "nothing was folded: %d of %d bytes went on", arrived.Load(), len(body))
		},
		func(run int) {
			megabytes := resident(ctx, cmd.Process.Pid)
			switch tenth := b.requests / 10; {
			case run < tenth && run >= tenth/2:
				early = append(early, megabytes)
			case run >= b.requests-tenth:
				late = append(late, megabytes)
			}
		})
	return []row{
		gatewayGoal.against("flame gateway, what it adds to a request of 500 KB, p50", t.frames, unitMS, samples[1].p50()-samples[0].p50(), 0),
		gatewayMemoryGoal.against("flame gateway, memory after all requests, against a tenth", t.frames, unitMB, middleOf(late), middleOf(early)),
	}
}

func middleOf(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// startGateway starts a gateway and returns the base URL that it prints.
func startGateway(cmd *exec.Cmd) string {
	out := lo.Must(cmd.StdoutPipe())
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	lo.Must0(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	_, base, found := strings.Cut(strings.TrimSpace(line), "=")
	check(err == nil && found, "the gateway said %q and %q: %v", line, complaint.String(), err)
	return base
}

// gatewaySession is the session of the requests.
const gatewaySession = "session-behind-a-gateway"

func askModel(ctx context.Context, base string, body []byte) {
	r := lo.Must(http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages?beta=true", bytes.NewReader(body)))
	r.Header.Set("X-Claude-Code-Session-Id", gatewaySession)
	r.Header.Set("X-Claude-Code-Request-Class", "main")
	response := lo.Must(http.DefaultClient.Do(r))
	defer response.Body.Close()
	text := lo.Must(io.ReadAll(response.Body))
	check(response.StatusCode == http.StatusOK, "the answer is %d %s", response.StatusCode, text)
}

// resident returns the memory of a process, in MB.
func resident(ctx context.Context, pid int) float64 {
	out := output(exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(pid)))
	return lo.Must(strconv.ParseFloat(strings.TrimSpace(out), 64)) * 1024 / 1e6
}

type object = map[string]any

// foldedBody returns a request of the session after ten pieces of work. Their frames are in the
// project of t.
func foldedBody(ctx context.Context, t tree) (body []byte) {
	p, closing := t.open()
	defer closing()
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
		frame := lo.Must(stack.Push(ctx, p, by, fmt.Sprintf("piece %d", piece), ""))
		call("mcp__flame__flame_push", object{"goal": frame.Goal}, fmt.Sprintf("Started %s %q. Parent: the root.\nIt is your current frame.", frame.ID, frame.Goal))
		for range reads {
			call("Read", object{"file_path": "/file"}, file)
		}
		lo.Must(stack.Pop(ctx, p, by, stack.PopArgs{Status: core.Completed, Summary: "done"}))
		call("mcp__flame__flame_pop", object{"status": "completed", "summary": "done"}, fmt.Sprintf("%s is completed: %q", frame.ID, frame.Goal))
	}
	return lo.Must(json.Marshal(object{"model": "claude-opus-5-5", "stream": true, "max_tokens": 1000, "messages": messages}))
}
