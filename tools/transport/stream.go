package transport

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// notesAhead is how many notifications may wait for a client that reads
// slowly. The server drops what comes beyond.
const notesAhead = 100

// A stream is one way to a client: standard output, an event stream, or the
// response to a POST. One goroutine writes to it, in carry, and writes what a
// handler told before the answer of that handler.
type stream struct {
	notes <-chan mcp.JSONRPCNotification
	wants func(mcp.JSONRPCNotification) bool // what is not wanted is left out
	own   chan mcp.JSONRPCNotification       // notes, if they are those of one request
	mail  chan letter
	over  chan struct{}   // closed when nobody carries it any more
	ended <-chan struct{} // closed when the connection is: it may still be carried then, by a writer that is stuck
}

// A letter is an encoded answer or request to the client, empty where nothing
// is to be answered.
type letter struct {
	text []byte
	last bool // the stream ends with it, if it is the response to a POST
}

// stream is the way for all that c tells its client.
func (c *connection) stream() *stream {
	return &stream{
		notes: c.session.ClientNotifications(),
		wants: c.session.wants,
		mail:  make(chan letter),
		over:  make(chan struct{}),
		ended: c.ctx.Done(),
	}
}

// reply is the way for what one request brings.
func (c *connection) reply() *stream {
	s := c.stream()
	s.own = make(chan mcp.JSONRPCNotification, notesAhead)
	s.notes = s.own
	return s
}

// send hands l over to be written. It is false when the stream has ended.
func (s *stream) send(l letter) bool {
	select {
	case s.mail <- l:
		return true
	case <-s.over:
		return false
	case <-s.ended:
		return false
	}
}

// carry writes what is sent, until ctx is done, write fails, or a last letter
// is written and untilLast is set. A stream is carried once.
func (s *stream) carry(ctx context.Context, untilLast bool, write func(letter) error) error {
	defer close(s.over)
	for {
		select {
		case note := <-s.notes:
			if err := s.tell(note, write); err != nil {
				return err
			}
		case l := <-s.mail:
			if err := s.deliver(l, write); err != nil || l.last && untilLast {
				return err
			}
		case <-ctx.Done():
			return s.deliver(letter{}, write)
		}
	}
}

// deliver writes the notifications that wait, then the letter.
func (s *stream) deliver(l letter, write func(letter) error) error {
	for range notesAhead {
		select {
		case note := <-s.notes:
			if err := s.tell(note, write); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	if len(l.text) == 0 {
		return nil
	}
	return write(l)
}

func (s *stream) tell(note mcp.JSONRPCNotification, write func(letter) error) error {
	text, err := json.Marshal(note)
	if err != nil || !s.wants(note) {
		return nil // one that cannot be encoded is not worth the stream
	}
	return write(letter{text: text})
}
