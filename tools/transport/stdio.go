package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// NoteTime is how long an ending process tries to record the end of its
	// sessions: the store may be locked for longer than it has.
	NoteTime = 750 * time.Millisecond

	// lastAnswer is how long after the input's end, or after the answer before, an answer may take. A
	// large message needs some of it on a busy machine.
	lastAnswer = 5 * time.Second

	// signOfLife is how long a client may take to answer a ping: it may be stopped for a while.
	signOfLife = 30 * time.Second

	// stdioSession is the id of the only session on standard input.
	stdioSession = "stdio"
)

// ServeStdio serves the one client that writes a JSON-RPC message per line to
// in and reads the answers from out. Calls of tools for which writes is true
// take effect in the order of their lines, and calls of the others see what
// those before them did; everything else runs concurrently.
//
// It returns nil when in has ended and everything is answered, or no answer
// could be delivered for a while; or soon after ctx is done. It returns the
// error when in or out fails. Then one read of in and one write to out may
// remain blocked, as neither can be interrupted.
//
// Calls of hooks go to aside, which this transport alone has: over it only the
// host itself can call. Each of checks has it ask the client for a sign of life, and end without one.
func ServeStdio(
	ctx context.Context, srv *server.MCPServer, writes func(tool string) bool, aside HiddenTool, in io.Reader, out io.Writer, checks <-chan time.Time,
) error {
	conn, err := backend{srv, writes, slog.Default(), aside}.connect(ctx, stdioSession)
	if err != nil {
		return err
	}
	patience, release := withGrace(ctx, conn.ctx)
	defer release()
	late := time.AfterFunc(time.Hour, release)
	late.Stop() // the time begins with the end of the input
	write := lineWriter(out)
	answers := conn.stream()
	written := make(chan error, 1)
	go func() {
		err := answers.pump(conn.ctx, false, func(o output) error {
			err := write(o)
			if o.last && late.Stop() {
				late.Reset(lastAnswer)
			}
			return err
		})
		conn.cancel() // the client no longer reads
		written <- err
	}()

	go conn.endWithClient(answers, checks)
	readErr := conn.acceptLines(ctx, in, answers)
	late.Reset(lastAnswer)
	conn.stop(patience)
	defer conn.endInTime(ctx)
	select {
	case err := <-written:
		return errors.Join(readErr, err)
	case <-patience.Done():
	}
	select {
	case err := <-written:
		return errors.Join(readErr, err)
	default:
		return readErr // the client does not read: the rest is not sent
	}
}

// endWithClient ends the connection if its client does not answer at a check: other processes may hold
// the other end of the input for it.
func (c *connection) endWithClient(out *stream, checks <-chan time.Time) {
	for {
		select {
		case <-checks:
		case <-c.ctx.Done():
			return
		}
		ctx, stop := context.WithTimeout(c.ctx, signOfLife)
		_, err := c.questions.request(ctx, out, mcp.MethodPing, nil)
		stop()
		if errors.Is(err, context.DeadlineExceeded) {
			c.log.Warn("the client is gone, though its end of the input is open: the server ends")
			c.cancel()
		}
	}
}

// endInTime ends the session of a process that is about to exit.
func (c *connection) endInTime(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), NoteTime)
	defer cancel()
	c.server.UnregisterSession(ctx, c.session.SessionID())
}

// acceptLines takes messages until in ends, ctx is done, or the other side
// closes the connection.
func (c *connection) acceptLines(ctx context.Context, in io.Reader, out *stream) error {
	lines := readLines(c.ctx, in)
	for {
		select {
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return fmt.Errorf("standard input: %w", l.err)
			}
			c.acceptLine(l, out)
		case <-ctx.Done():
			return nil
		case <-c.ctx.Done():
			return nil
		}
	}
}

func (c *connection) acceptLine(l inputLine, out *stream) {
	if l.tooLong {
		c.refuse(tooLarge(), out)
		return
	}
	if len(bytes.TrimSpace(l.text)) == 0 {
		return
	}
	m, refusal := parse(l.text)
	if refusal == nil {
		_, refusal = c.accept(m, out)
	}
	if refusal != nil {
		c.refuse(refusal, out)
	}
}

// An inputLine is one line of input, without its newline, or the error that
// came instead.
type inputLine struct {
	text    []byte
	tooLong bool // text exceeded maxMessage and is left out
	err     error
}

// readLines returns the lines of in, the last one with the error that ended it.
func readLines(ctx context.Context, in io.Reader) <-chan inputLine {
	lines := make(chan inputLine)
	reader := bufio.NewReaderSize(in, 64<<10)
	go func() {
		for {
			l := readLine(reader)
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads to the end of a line, keeping at most maxMessage bytes of it.
// A last line without a newline counts.
func readLine(reader *bufio.Reader) inputLine {
	var l inputLine
	for {
		part, err := reader.ReadSlice('\n')
		l.tooLong = l.tooLong || len(l.text)+len(part) > maxMessage
		if l.tooLong {
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(l.text) > 0 || l.tooLong):
			return l
		}
		l.err = err
		return l
	}
}

// lineWriter returns a function that writes each message on its own line.
func lineWriter(out io.Writer) func(output) error {
	return func(o output) error {
		if _, err := out.Write(append(o.text, '\n')); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	}
}

// withGrace returns a context that is done grace after one of ends is.
func withGrace(ends ...context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.Background())
	for _, end := range ends {
		context.AfterFunc(end, func() { time.AfterFunc(grace, cancel) })
	}
	return late, cancel
}
