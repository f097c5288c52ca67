package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"flame/hosts/opencode"
)

var streamGoal = goal{plus: 2}

// streams times events to a running flame and back.
func (b *bench) streams(ctx context.Context) (rows []row, err error) {
	t := b.largest()
	s, err := b.stream(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	const later = 1_000_000 // than the turns of hooks
	samples, err := interleave(ctx, b.calls,
		func(run int) error { return s.exchange(requestedAnew(t, later+run)) },
		func(run int) error { return s.exchange(requestedAnew(t, later+run)) },
	)
	if err != nil {
		return nil, err
	}
	return []row{
		streamGoal.against("flame hook --stream, messages.transform of a new prompt, p50", t.frames, unitMS, samples[0].p50(), 0),
		streamGoal.against("flame hook --stream, messages.transform, p50", t.frames, unitMS, samples[1].p50(), 0),
	}, nil
}

// A stream is a running flame that takes in events of OpenCode.
type stream struct {
	in      io.WriteCloser
	answers *bufio.Reader
	wait    func() error
	told    int
}

func (b *bench) stream(ctx context.Context, t tree) (*stream, error) {
	cmd := b.command(ctx, t, "hook", opencode.Name, "--stream")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &stream{in: in, answers: bufio.NewReader(out), wait: cmd.Wait}, cmd.Start()
}

// exchange sends a request and reads the answer, which folds something.
func (s *stream) exchange(event map[string]any) error {
	s.told++
	line, err := json.Marshal(map[string]any{"n": s.told, "source": "bench", "session": event["session"], "event": event})
	if err != nil {
		return err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return err
	}
	answer, err := s.answers.ReadString('\n')
	if err == nil && (!strings.HasPrefix(answer, fmt.Sprintf(`{"n":%d`, s.told)) || !strings.Contains(answer, "drop")) {
		err = fmt.Errorf("event %d was answered %q", s.told, answer)
	}
	return err
}

func (s *stream) close() error { return errors.Join(s.in.Close(), s.wait()) }
