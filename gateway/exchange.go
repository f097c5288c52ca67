package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"flame/core"
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
	sent    sent

	metered Metered
	reader  *messages.Reader // of the answer; nil: it is none that can be read
}

// A sent is how a request went on.
type sent struct {
	body    []byte
	edition int  // of the ledger; Unknown if it went as it came
	edited  bool // something was left out
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// serveMessages passes on a request for an answer.
func (g *Gateway) serveMessages(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, asked: g.Wire.Asked(r.Header), at: time.Now()}
	x.session = g.sessionOf(x.asked)
	body, rest, err := readBody(r)
	if err != nil {
		return // the host is gone
	}
	x.metered = Metered{Asked: g.Project.Now(), Class: string(x.asked.Class), Given: int64(len(body))}
	x.sent = sent{body: body, edition: notNoted}
	if rest == nil && r.Header.Get("Content-Encoding") == "" {
		x.fold(r.Context())
	}
	x.metered.Sent = int64(len(x.sent.body))
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	setBody(r, x.sent.body, rest)
	defer x.finish()
	g.proxy.ServeHTTP(w, r)
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
}

// fold edits the body, if that is to be done. Whatever goes wrong in it, the request goes
// on.
func (x *exchange) fold(ctx context.Context) {
	if x.g.Folding == Off || !x.asked.Converses() || x.session == nil {
		return
	}
	defer func() {
		if wrong := recover(); wrong != nil {
			x.g.Log.Error("a request could not be folded", "panic", wrong, "stack", string(debug.Stack()))
			x.sent.edition, x.sent.edited = notNoted, false
		}
	}()
	request, err := messages.Parse(x.sent.body)
	if err != nil {
		x.g.Log.Debug("a request goes out as it came", "error", err)
		return
	}
	if x.g.Folding == Edit {
		x.sent.body = request.Cleared(x.g.Wire)
		return
	}
	x.session.fold(ctx, x, request)
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
	response.Body = &tee{response.Body, x.reader}
}

func (x *exchange) since() core.Millis { return core.Millis(time.Since(x.at).Milliseconds()) }

// finish tells what the request came to.
func (x *exchange) finish() {
	m := &x.metered
	m.Took = x.since()
	var name string
	if x.reader != nil {
		x.reader.Close()
		m.Answer, m.Model, name = x.reader.ID, x.reader.Model, x.reader.Name
		m.Usage = x.g.Wire.Usage(m.Model, x.reader.Usage, x.reader.Final)
		if x.asked.Class != hosts.Compaction && x.asked.Class != hosts.Auxiliary {
			m.Context = int(m.Usage.TokensIn + m.Usage.CacheRead + m.Usage.CacheWritten)
		}
	}
	if x.session == nil {
		return // nobody knows whose it is
	}
	x.session.answered(x, name)
	x.g.teller.tell(telling{by: x.caller(), metered: *m, answer: x.answer(name)})
}

// caller returns whose request it is.
func (x *exchange) caller() project.Caller {
	by := project.Caller{Session: x.asked.Session, Host: x.g.Host, Agent: x.g.Agent, Trust: project.Stamped}
	if x.asked.Agent != "" {
		by.Session, by.Parent = x.asked.Agent, x.asked.Session
	}
	return by
}

// A tee is the body of an answer that somebody else reads, too.
type tee struct {
	io.ReadCloser
	reader *messages.Reader
}

// Read reads from the body.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	_, _ = t.reader.Write(p[:n]) // it never fails
	return n, err
}
