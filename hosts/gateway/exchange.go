package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/codec"
	"flame/project"
	"flame/project/usage"
)

// maxBody bounds the body of a request that flame reads, in bytes. Larger ones pass unchanged.
const maxBody = 64 << 20

// An exchange is a request to the model and its answer.
type exchange struct {
	g       *Gateway
	path    string // of the request, below the base URL
	asked   hosts.RequestInfo
	session *session // nil: the request does not name one
	at      time.Time
	due     time.Time // when the request must be sent
	sent    editedRequest

	metered usage.MeteredRequest
	reader  *codec.Reader // of the answer; nil: flame cannot read it
	noted   bool          // the session knows the answer
	name    string        // of the answer, once it is noted; empty without a name
}

// An editedRequest is a request as flame sends it.
type editedRequest struct {
	body    []byte
	edition int                // of the ledger; Unknown for an unchanged request
	edited  bool               // flame changed the body
	names   codec.MessageNames // of the messages that came

	uncounted fold.Meter // its size, if that was not counted yet
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// serveAnswer passes on a request for an answer, to a path below the base URL.
func (g *Gateway) serveAnswer(w http.ResponseWriter, r *http.Request, path string) {
	x := &exchange{g: g, path: path, at: time.Now()}
	body, rest, err := readBody(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the host is gone, or does not obey HTTP
	}
	g.guarded("what a request says about itself", func() { x.ask(r, body, rest == nil) })
	x.session = g.sessionOf(x.asked)
	x.metered = usage.MeteredRequest{
		Asked: g.Project.Now(), Class: string(x.asked.Class), Given: int64(len(body)),
		Logged: g.Wire.NoSessionID && (x.asked.Class == hosts.ClassMain || x.asked.Class == hosts.ClassSubagent),
	}
	x.sent = editedRequest{body: body, edition: notNoted}
	if rest == nil && r.Header.Get("Content-Encoding") == "" {
		x.fold(r.Context(), r.Header)
	}
	x.metered.Sent = int64(len(x.sent.body))
	if rest != nil { // its length is what the host says
		x.metered.Given = max(x.metered.Given, r.ContentLength)
		x.metered.Sent = x.metered.Given
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	setBody(r, x.sent.body, rest)
	defer func() { g.guarded("an answer", x.finish) }()
	g.proxy.ServeHTTP(w, r)
}

// ask finds out what the request says about itself.
func (x *exchange) ask(r *http.Request, body []byte, whole bool) {
	if !whole {
		body = nil
	}
	x.asked = x.g.Wire.RequestInfo(r.Header, body)
	if !x.g.Wire.NoSessionID {
		return
	}
	soon, cancel := context.WithTimeout(r.Context(), x.g.Patience)
	defer cancel()
	session, err := GatewaySession(soon, x.g.Project, x.g.Name)
	if err != nil {
		x.g.Log.Warn("flame cannot find out which session sends a request", "error", err)
	}
	x.asked.Session = session
}

// guarded calls f, and reports whether it finished. A fault in f must not stop the request.
// The log omits the value of a panic, which may contain words of the user.
func (g *Gateway) guarded(what string, f func()) (ended bool) {
	defer func() {
		if wrong := recover(); wrong != nil {
			g.Log.Error("the gateway failed on "+what, "panic", fmt.Sprintf("%T", wrong), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// readBody reads the body of a request; rest is the part after maxBody, nil if there is none.
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

// maxKept bounds the body of any other request that flame reads before it sends the request, in
// bytes.
const maxKept = 1 << 20

// keep reads the body of a request if it is short, so that the request can be sent again.
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
	r.Header.Del("Expect") // flame has the body already
}

// fold edits the body if the settings say so. An error does not stop the request.
func (x *exchange) fold(ctx context.Context, headers http.Header) {
	if x.g.Folding == FoldOff || !x.asked.Converses() || x.session == nil || x.session.stopped(x.asked.Class) {
		return
	}
	x.due = time.Now().Add(x.g.Patience)
	came := x.sent
	if !x.g.guarded("a request", func() { x.edit(ctx, headers) }) {
		x.sent = came
	}
	x.sent.edited = !bytes.Equal(x.sent.body, came.body)
}

func (x *exchange) edit(ctx context.Context, headers http.Header) {
	request, err := x.g.api.Parse(x.path, x.sent.body)
	if err != nil {
		x.g.Log.Debug("flame sends a request unchanged", "error", err)
		return
	}
	switch off, err := x.off(ctx); {
	case err == nil && off:
	case x.g.Folding == FoldByAPI:
		x.sent.body = request.Cleared(headers, x.g.Wire)
	default:
		x.session.fold(ctx, x, request)
	}
}

// off reports whether flame was turned off for the project.
func (x *exchange) off(ctx context.Context) (bool, error) {
	soon, cancel := context.WithDeadline(ctx, x.due)
	defer cancel()
	return x.g.Project.Off(soon)
}

// answered starts to read the answer.
func (x *exchange) answered(response *http.Response) {
	x.metered.Status = response.StatusCode
	if response.Header.Get("Content-Encoding") != "" {
		return
	}
	if x.reader = x.g.api.NewReader(response.Header.Get("Content-Type")); x.reader == nil {
		return
	}
	x.reader.First = func() { x.metered.First = x.since() }
	response.Body = &tee{ReadCloser: response.Body, x: x, left: response.ContentLength}
}

func (x *exchange) since() core.Millis { return core.Millis(time.Since(x.at).Milliseconds()) }

// finish reports the outcome of the request.
func (x *exchange) finish() {
	m := &x.metered
	m.Took = x.since()
	if x.reader != nil {
		x.g.guarded("an answer", x.read)
	}
	if x.session == nil { // its session is not known
		if x.g.Wire.NoSessionID {
			x.g.teller.count(*m)
		}
		return
	}
	x.note()
	x.g.teller.tell(measurement{by: x.caller(), metered: *m, answer: x.answer(), sent: x.sent.uncounted})
}

// note tells the session of the answer, once.
func (x *exchange) note() {
	if !x.noted && x.session != nil {
		x.noted = true
		if x.reader != nil {
			x.name = x.reader.Name(x.sent.names)
		}
		x.session.answered(x)
	}
}

// refused reports whether the API refused the request because of its messages.
func (x *exchange) refused() bool {
	return x.metered.Status == http.StatusBadRequest && x.reader != nil && x.reader.Malformed
}

// read copies the figures of the answer.
func (x *exchange) read() {
	x.reader.Close()
	m := &x.metered
	m.Answer, m.Model = x.reader.ID, x.reader.Model
	if x.reader.Failed != 0 && m.Status == http.StatusOK {
		m.Status = x.reader.Failed
	}
	m.Usage = x.g.Wire.Usage(m.Model, x.reader.Usage, x.reader.Final).Possible()
	ofAnother := x.asked.Class == hosts.ClassSubagent && x.asked.Agent == "" // than the session
	if x.asked.Class != hosts.ClassCompaction && x.asked.Class != hosts.ClassAuxiliary && !ofAnother {
		m.Context = int(m.Usage.TokensIn + m.Usage.CacheRead + m.Usage.CacheWritten)
		if m.Window = x.reader.Window; m.Status == http.StatusOK {
			m.Window = x.asked.Window
		}
	}
}

// caller returns the sender of the request.
func (x *exchange) caller() project.Caller {
	by := project.Caller{Session: x.asked.Session, Host: x.g.Host, Agent: x.g.Agent, Trust: project.ByHost}
	if x.asked.Agent != "" {
		by.Session, by.Parent = x.asked.Agent, x.asked.Session
	}
	return by
}

// A tee is the body of an answer that is also read here.
type tee struct {
	io.ReadCloser
	x     *exchange
	blind bool  // flame cannot read the answer
	left  int64 // bytes that are still to come; negative: not known
}

// Read reads from the body. The session learns of an answer before the host has all of it:
// the host may send its next request before the connection of this one has ended.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.blind = t.blind || !t.x.g.guarded("a part of an answer", func() {
		_, _ = t.x.reader.Write(p[:n]) // it never fails
		t.left -= int64(n)
		if (t.x.reader.Whole || t.left == 0 || err == io.EOF) && !t.x.noted { // before the host has all of it and sends its next request
			t.x.reader.Close()
			t.x.note()
		}
	})
	return n, err
}
