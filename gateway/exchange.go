package gateway

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"flame/core"
	"flame/core/fold"
	"flame/gateway/messages"
	"flame/hosts"
	"flame/project"
)

// maxBody limits the body of a request that is read, in bytes; larger ones pass.
const maxBody = 64 << 20

// An exchange is a request to the model and its answer.
type exchange struct {
	g       *Gateway
	asked   hosts.Asked
	session *session // nil: it says nothing about one
	at      time.Time
	due     time.Time // when it has to go on
	sent    sent

	metered Metered
	reader  *messages.Reader // of the answer; nil: it is none that can be read
	noted   bool             // in the session
	name    string           // of the answer, once it is noted; empty if it has none
}

// A sent is how a request went on.
type sent struct {
	body    []byte
	edition int            // of the ledger; Unknown if it went as it came
	edited  bool           // the body is not as it came
	names   messages.Names // of the messages, as they came

	uncounted fold.Meter // of it, if it is still to be counted
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// serveMessages passes on a request for an answer.
func (g *Gateway) serveMessages(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, at: time.Now()}
	g.guarded("the headers of a request", func() { x.asked = g.Wire.Asked(r.Header) })
	x.session = g.sessionOf(x.asked)
	body, rest, err := readBody(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the host is gone, or does not obey HTTP
	}
	x.metered = Metered{Asked: g.Project.Now(), Class: string(x.asked.Class), Given: int64(len(body))}
	x.sent = sent{body: body, edition: notNoted}
	if rest == nil && r.Header.Get("Content-Encoding") == "" {
		x.fold(r.Context(), r.Header)
	}
	x.metered.Sent = int64(len(x.sent.body))
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	counted := &counter{Reader: rest}
	if rest != nil {
		rest = counted
	}
	setBody(r, x.sent.body, rest)
	defer func() {
		x.metered.Given += counted.n.Load()
		x.metered.Sent += counted.n.Load()
		g.guarded("an answer", x.finish)
	}()
	g.proxy.ServeHTTP(w, r)
}

// A counter counts what is read of a body.
type counter struct {
	io.Reader
	n atomic.Int64 // bytes
}

// Read reads from the body.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// guarded calls f, and reports whether it came to its end. What goes wrong in it must not
// hold up what passes. The log gets no value of a panic: it may have words of the user's.
func (g *Gateway) guarded(what string, f func()) (ended bool) {
	defer func() {
		if wrong := recover(); wrong != nil {
			g.Log.Error("the gateway stumbled over "+what, "panic", fmt.Sprintf("%T", wrong), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// readBody reads the body of a request; rest is what comes behind maxBody, nil if that is
// all.
func readBody(r *http.Request) (body []byte, rest io.Reader, err error) {
	var read bytes.Buffer
	if r.ContentLength > 0 {
		read.Grow(int(min(r.ContentLength, maxBody)) + bytes.MinRead)
	}
	if _, err = io.Copy(&read, io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, nil, err
	}
	if read.Len() > maxBody {
		rest = r.Body
	}
	return read.Bytes(), rest, nil
}

// maxKept limits the body of any other request that is read before it goes on, in bytes.
const maxKept = 1 << 20

// keep reads the body of a request, if it is short.
func keep(r *http.Request) error {
	if r.ContentLength <= 0 || r.ContentLength > maxKept {
		return nil
	}
	body, rest, err := readBody(r)
	if err == nil {
		setBody(r, body, rest)
	}
	return err
}

// setBody gives a request another body. It can be sent once more if the connection turns
// out to be closed.
func setBody(r *http.Request, body []byte, rest io.Reader) {
	if rest != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), rest))
		return
	}
	r.ContentLength, r.TransferEncoding = int64(len(body)), nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody() // it cannot fail
	r.Header.Del("Content-Length")
	r.Header.Del("Expect") // the body is here
}

// fold edits the body, if that is to be done. Whatever goes wrong in it, the request goes
// on.
func (x *exchange) fold(ctx context.Context, headers http.Header) {
	if x.g.Folding == Off || !x.asked.Converses() || x.session == nil || x.session.stopped(x.asked.Class) {
		return
	}
	x.due = time.Now().Add(x.g.Patience)
	came := x.sent
	if !x.g.guarded("a request", func() { x.edit(ctx, headers) }) {
		x.sent = came
	}
	x.sent.edited = !bytes.Equal(x.sent.body, came.body)
}

// clearing is in the header of requests for which the API edits contexts.
const clearing = "context-management-"

func (x *exchange) edit(ctx context.Context, headers http.Header) {
	request, err := messages.Parse(x.sent.body)
	if err != nil {
		x.g.Log.Debug("a request goes out as it came", "error", err)
		return
	}
	switch off, err := x.off(ctx); {
	case err == nil && off:
	case x.g.Folding != Edit:
		x.session.fold(ctx, x, request)
	case strings.Contains(strings.Join(headers.Values("Anthropic-Beta"), ","), clearing):
		x.sent.body = request.Cleared(x.g.Wire)
	}
}

// off reports whether flame was turned off for the project.
func (x *exchange) off(ctx context.Context) (bool, error) {
	soon, cancel := context.WithDeadline(ctx, x.due)
	defer cancel()
	return x.g.Project.Off(soon)
}

// answered begins to read the answer.
func (x *exchange) answered(response *http.Response) {
	x.metered.Status = response.StatusCode
	if response.Header.Get("Content-Encoding") != "" {
		return
	}
	if x.reader = messages.NewReader(response.Header.Get("Content-Type")); x.reader == nil {
		return
	}
	x.reader.First = func() { x.metered.First = x.since() }
	response.Body = &tee{ReadCloser: response.Body, x: x, left: response.ContentLength}
}

func (x *exchange) since() core.Millis { return core.Millis(time.Since(x.at).Milliseconds()) }

// finish tells what the request came to.
func (x *exchange) finish() {
	m := &x.metered
	m.Took = x.since()
	if x.reader != nil {
		x.g.guarded("an answer", x.read)
	}
	if x.session == nil {
		return // nobody knows whose it is
	}
	x.note()
	x.g.teller.tell(telling{by: x.caller(), metered: *m, answer: x.answer(), sent: x.sent.uncounted})
}

// note has the session know of the answer, once.
func (x *exchange) note() {
	if !x.noted && x.session != nil {
		x.noted = true
		if x.reader != nil {
			x.name = x.reader.Name(x.sent.names)
		}
		x.session.answered(x)
	}
}

// refused reports whether the API did not take the request for what is in its messages.
func (x *exchange) refused() bool {
	return x.metered.Status == http.StatusBadRequest && x.reader != nil && x.reader.Malformed
}

// statuses are those of errors that the API tells of when an answer has begun.
var statuses = map[string]int{"overloaded_error": 529, "rate_limit_error": http.StatusTooManyRequests}

// read takes what the answer told.
func (x *exchange) read() {
	x.reader.Close()
	m := &x.metered
	m.Answer, m.Model = x.reader.ID, x.reader.Model
	if x.reader.Failed != "" && m.Status == http.StatusOK {
		m.Status = cmp.Or(statuses[x.reader.Failed], http.StatusInternalServerError)
	}
	m.Usage = x.g.Wire.Usage(m.Model, x.reader.Usage, x.reader.Final)
	if x.asked.Class != hosts.Compaction && x.asked.Class != hosts.Auxiliary {
		m.Context = int(m.Usage.TokensIn + m.Usage.CacheRead + m.Usage.CacheWritten)
		if m.Window = x.reader.Window; m.Status == http.StatusOK {
			m.Window = x.asked.Window
		}
	}
}

// caller returns whose request it is.
func (x *exchange) caller() project.Caller {
	by := project.Caller{Session: x.asked.Session, Host: x.g.Host, Agent: x.g.Agent, Trust: project.Stamped}
	if x.asked.Agent != "" {
		by.Session, by.Parent = x.asked.Agent, x.asked.Session
	}
	return by
}

// A tee is the body of an answer that is also read here.
type tee struct {
	io.ReadCloser
	x     *exchange
	blind bool  // the answer cannot be read
	left  int64 // bytes to come; negative: nobody knows
}

// Read reads from the body. The session knows of an answer before the host has all of it:
// it may send its next request while the connection of this one is not at its end.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.blind = t.blind || !t.x.g.guarded("a part of an answer", func() {
		_, _ = t.x.reader.Write(p[:n]) // it never fails
		t.left -= int64(n)
		if (t.x.reader.Whole || t.left == 0 || err == io.EOF) && !t.x.noted { // before the host has it all, and asks again
			t.x.reader.Close()
			t.x.note()
		}
	})
	return n, err
}
