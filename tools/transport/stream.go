package transport

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// notesAhead is how many notifications may wait for a slow client. The server
// drops any beyond that.
const notesAhead = 100

// A stream is one way to a client: standard output, an event stream, or the
// response to a POST. One goroutine writes to it, in pump, and writes a
// handler's notifications before the handler's answer.
type stream struct {
	notes   <-chan mcp.JSONRPCNotification
	wants   func(mcp.JSONRPCNotification) bool // filters notifications
	own     chan mcp.JSONRPCNotification       // notes, if they belong to one request
	outputs chan output
	done    chan struct{}   // closed when nothing more is written to it
	ended   <-chan struct{} // closed with the connection, though its writer may still be stuck
}

// An output is an encoded answer or request to the client, empty if there is
// nothing to answer.
type output struct {
	text []byte
	last bool // ends the stream, if that is the response to a POST
}

// stream returns the stream for everything c sends its client.
func (c *connection) stream() *stream {
	return &stream{
		notes:   c.session.ClientNotifications(),
		wants:   c.session.wants,
		outputs: make(chan output),
		done:    make(chan struct{}),
		ended:   c.ctx.Done(),
	}
}

// reply returns the stream for what one request causes.
func (c *connection) reply() *stream {
	s := c.stream()
	s.own = make(chan mcp.JSONRPCNotification, notesAhead)
	s.notes = s.own
	return s
}

// send queues o to be written and reports whether the stream took it: one that
// has ended does not.
func (s *stream) send(o output) bool {
	select {
	case s.outputs <- o:
		return true
	case <-s.done:
		return false
	case <-s.ended:
		return false
	}
}

// pump writes what is sent until ctx is done, write fails, or a last output is
// written and untilLast is set. It is called once.
func (s *stream) pump(ctx context.Context, untilLast bool, write func(output) error) error {
	defer close(s.done)
	for {
		select {
		case note := <-s.notes:
			if err := s.tell(note, write); err != nil {
				return err
			}
		case o := <-s.outputs:
			if err := s.deliver(o, write); err != nil || o.last && untilLast {
				return err
			}
		case <-ctx.Done():
			return s.deliver(output{}, write)
		}
	}
}

// deliver writes the waiting notifications, then the output.
func (s *stream) deliver(o output, write func(output) error) error {
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
	if len(o.text) == 0 {
		return nil
	}
	return write(o)
}

func (s *stream) tell(note mcp.JSONRPCNotification, write func(output) error) error {
	text, err := json.Marshal(note)
	if err != nil || !s.wants(note) {
		return nil // a note that cannot be encoded is not worth the stream
	}
	return write(output{text: text})
}
