package intake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts"
	"flame/project/turns"
)

// MaxEvent is the greatest size of an event in bytes: a tool's answer can hold a whole
// file.
const MaxEvent = 64 << 20

// A Stream handles the events of one plugin, from the first to the end of its host, as lines of
// JSON. Each line is a streamEvent; the answer is a line with the same number.
type Stream struct {
	Handler Handler
	Host    hosts.Host
	Dir     string // root of the worktree, for every event
	Agent   string // id of the agent in whose process the host runs; empty outside of agents
	Off     bool   // every event gets an empty answer, and nothing else is done
	In      io.Reader
	Out     io.Writer

	sessions map[string]bool // of the events so far
}

// A streamEvent is a line that a plugin sends: an event with its number. A plugin may send an event again
// if it got no answer; an event whose number is not greater than that of an earlier one changes
// nothing.
type streamEvent struct {
	N       int64           `json:"n"`
	Source  string          `json:"source"`            // the plugin, by an id that no other has
	Session string          `json:"session,omitempty"` // that the event is about; empty: none, or several
	At      core.Millis     `json:"at,omitempty"`      // when it happened; 0: now
	Event   json.RawMessage `json:"event"`
}

// A streamAnswer is the line that answers a streamEvent.
type streamAnswer struct {
	N      int64           `json:"n"`
	Answer json.RawMessage `json:"answer,omitempty"` // absent for an empty one
	Late   bool            `json:"late,omitempty"`   // the event will be handled later; the answer holds what could be said without it
	Error  string          `json:"error,omitempty"`  // why the event got no answer; sending it again does not help
}

// Run answers events until In ends, and then records the end of sessions whose host is gone. When
// ctx is done, it puts the events that it has read into the inbox. If it cannot store an event, it
// ends with ErrLost; the plugin can send that event and later ones again.
func (s *Stream) Run(ctx context.Context) error {
	lines := make(chan []byte, 64)
	var failed error // of In, once lines is closed
	go func() {
		defer close(lines)
		failed = eachLine(s.In, lines)
	}()
	s.sessions = map[string]bool{}
	wait := lookPace
	look := time.NewTimer(wait)
	defer look.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return errors.Join(failed, s.close(context.WithoutCancel(ctx)))
			}
			if err := s.answer(ctx, line); err != nil {
				return err
			}
		case <-look.C:
			wait = pause(wait, s.takeIn(ctx))
			look.Reset(wait)
		case <-ctx.Done():
			s.putBy(ctx, lines)
			return nil
		}
	}
}

// putBy puts the lines that were read into the inbox: ctx is done.
func (s *Stream) putBy(ctx context.Context, lines <-chan []byte) {
	for {
		select {
		case line, more := <-lines:
			if !more || s.answer(ctx, line) != nil {
				return
			}
		default:
			return
		}
	}
}

// eachLine sends each line of in; of an overlong line it sends the beginning.
func eachLine(in io.Reader, lines chan<- []byte) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 {
			lines <- line
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("stream: %w", err)
		}
	}
}

// readLine reads to the end of the line. Of a line that is too long it keeps only the
// first part that was read.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for size := 0; ; {
		part, err := r.ReadSlice('\n')
		if size += len(part); size <= MaxEvent {
			line = append(line, part...)
		} else if len(line) > r.Size() {
			line = slices.Clone(line[:r.Size()])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// readTold reads a line, and reports whether it is what a plugin sends. An event can hold a
// whole conversation, which is left to those that the event is for: encoding/json would
// look at each of its characters three times here.
func readTold(line []byte) (t streamEvent, readable bool) {
	if !hosts.ValidJSON(line) || !gjson.ParseBytes(line).IsObject() {
		return t, false
	}
	found := gjson.GetManyBytes(line, "n", "at", "source", "session", "event")
	for i, is := range []gjson.Type{gjson.Number, gjson.Number, gjson.String, gjson.String} {
		if found[i].Type != is && found[i].Type != gjson.Null {
			return t, false
		}
	}
	return streamEvent{
		N: found[0].Int(), At: core.Millis(found[1].Int()),
		Source: found[2].String(), Session: found[3].String(), Event: json.RawMessage(found[4].Raw),
	}, true
}

// numberOf returns the number of a line that is cut off or not JSON.
func numberOf(line []byte) (n int64, found bool) {
	number := regexp.MustCompile(`^\s*\{\s*"n"\s*:\s*(\d{1,15})\b`) // here, as no hook is to wait for it
	digits := number.FindSubmatch(line)
	if digits == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits[1]), 10, 64)
	return n, err == nil
}

// answer handles a line and writes the answer. If the host no longer reads answers, it still
// handles events. For an event that could not be stored it writes no answer and returns ErrLost:
// the plugin can send it again, but not to a stream that has handled later ones.
func (s *Stream) answer(ctx context.Context, line []byte) error {
	said := streamAnswer{}
	var err error
	if t, readable := readTold(line); !readable {
		n, found := numberOf(line)
		if !found {
			s.Handler.Project.Log.Warn("flame cannot read a line of the stream", "size", len(line))
			return nil
		}
		said.N = n
		said.Error = "it is not JSON, or has more than " + strconv.Itoa(MaxEvent>>20) + " MB"
	} else if said, err = s.handle(ctx, t); errors.Is(err, ErrLost) {
		return err
	}
	text, err := json.Marshal(said)
	if err != nil {
		s.Handler.Project.Log.Warn("flame cannot write an answer", "error", err)
		text = fmt.Appendf(nil, `{"n":%d}`, said.N)
	}
	_, _ = s.Out.Write(append(text, '\n'))
	return nil
}

func (s *Stream) handle(ctx context.Context, t streamEvent) (streamAnswer, error) {
	if s.Off {
		return streamAnswer{N: t.N}, nil
	}
	if t.Session != "" {
		s.sessions[t.Session] = true
	}
	if now := s.Handler.Project.Now(); t.At <= 0 || t.At > now {
		t.At = now
	}
	answer, late, err := s.Handler.Handle(ctx, s.Host, QueuedEvent{At: t.At, Dir: s.Dir, Agent: s.Agent, Source: t.Source, N: t.N, Event: t.Event})
	said := streamAnswer{N: t.N, Answer: answer, Late: late}
	if err != nil {
		s.Handler.Project.Log.Warn("hook", "error", err)
		said.Error = "flame could not handle it; the log says why"
	}
	return said, err
}

// takeIn handles events from the inbox while no new event has to wait long for that, and reports
// whether there were no errors.
func (s *Stream) takeIn(ctx context.Context) bool {
	if s.Off {
		return true
	}
	ctx, stop := context.WithTimeout(ctx, s.Host.Events.Patience)
	defer stop()
	return s.Handler.TakeWaiting(ctx)
}

// close records that the sessions have ended: no more of their events will come.
func (s *Stream) close(ctx context.Context) error {
	if s.Off || len(s.sessions) == 0 {
		return nil
	}
	if s.Host.Events.SessionsEnded != nil {
		ids := slices.Sorted(maps.Keys(s.sessions))
		queued := QueuedEvent{At: s.Handler.Project.Now(), Dir: s.Dir, Agent: s.Agent, Event: s.Host.Events.SessionsEnded(ids)}
		if _, _, err := s.Handler.Handle(ctx, s.Host, queued); err != nil {
			s.Handler.Project.Log.Warn("hook", "error", err)
		}
	}
	s.takeIn(ctx)
	if s.Handler.Inbox.HasLines() {
		return nil // how far it was taken in must not be forgotten
	}
	return turns.ForgetSources(ctx, s.Handler.Project)
}
