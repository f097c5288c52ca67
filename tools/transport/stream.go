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
// response to a POST. One goroutine writes to it, in pump, and writes what a
// handler told before the answer of that handler.
type stream struct {
	notes   <-chan mcp.JSONRPCNotification
	wants   func(mcp.JSONRPCNotification) bool // what is not wanted is left out
	own     chan mcp.JSONRPCNotification       // notes, if they are those of one request
	outputs chan output
	done    chan struct{}   // closed when nothing is written to it any more
	ended   <-chan struct{} // closed when the connection is: its writer may still be stuck then
}

// An output is an encoded answer or request to the client, empty where nothing
// is to be answered.
type output struct {
	text []byte
	last bool // the stream ends with it, if it is the response to a POST
}

// stream returns the way for all that c tells its client.
func (c *connection) stream() *stream {
	return &stream{
		notes:   c.session.ClientNotifications(),
		wants:   c.session.wants,
		outputs: make(chan output),
		done:    make(chan struct{}),
		ended:   c.ctx.Done(),
	}
}

// reply returns the way for what one request brings.
func (c *connection) reply() *stream {
	s := c.stream()
	s.own = make(chan mcp.JSONRPCNotification, notesAhead)
	s.notes = s.own
	return s
}

// send hands o over to be written. It reports whether the stream took it: one that has
// ended does not.
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

// pump writes what is sent, until ctx is done, write fails, or a last output
// is written and untilLast is set. It is called once.
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

// deliver writes the notifications that wait, then the output.
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
		return nil // one that cannot be encoded is not worth the stream
	}
	return write(output{text: text})
}
