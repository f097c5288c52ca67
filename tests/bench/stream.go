package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/samber/lo"

	"flame/hosts/opencode"
)

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
