package transport

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/guard"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// A rig is a server with tools that show what a transport does to calls.
type rig struct {
	srv     *server.MCPServer
	holding chan string   // the tool "hold" says here that it began
	release chan struct{} // and goes on when this is closed
	aside   HiddenTool
	checks  chan time.Time // of stdio

	mu    sync.Mutex
	notes []string // what "note" was called with, in the order of effect
}

func newRig() *rig {
	r := &rig{holding: make(chan string, maxInFlight), release: make(chan struct{}), checks: make(chan time.Time)}
	r.srv = server.NewMCPServer("rig", "1",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithElicitation(),
		server.WithToolHandlerMiddleware(InOrder))
	for name, handle := range map[string]func(context.Context, mcp.CallToolRequest) (string, error){
		"note": r.note, "count": r.count, "hold": r.hold, "hold_write": r.hold, "tell": r.tell, "ask": r.ask,
		"who":     who,
		"explode": func(context.Context, mcp.CallToolRequest) (string, error) { panic("boom") },
	} {
		r.srv.AddTool(mcp.NewTool(name), func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := handle(ctx, request)
			return mcp.NewToolResultText(text), err
		})
	}
	return r
}

// writing are the rig's tools that change state; the calls after ask do not wait for its answer.
func writing(tool string) bool {
	return slices.Contains([]string{"note", "hold_write", "explode", "missing", "ask"}, tool)
}

func (r *rig) note(_ context.Context, request mcp.CallToolRequest) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, request.GetString("text", ""))
	return "noted", nil
}

// count reads how many notes there are.
func (r *rig) count(context.Context, mcp.CallToolRequest) (string, error) {
	return fmt.Sprint(len(r.noted())), nil
}

func (r *rig) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

func (r *rig) hold(ctx context.Context, request mcp.CallToolRequest) (string, error) {
	r.holding <- request.GetString("text", "")
	select {
	case <-r.release:
		return "released", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// tell reports progress three times and answers at once.
func (r *rig) tell(ctx context.Context, _ mcp.CallToolRequest) (string, error) {
	for i := range 3 {
		if err := r.srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progress": i}); err != nil {
			return "", err
		}
	}
	return "told", nil
}

func (r *rig) ask(ctx context.Context, _ mcp.CallToolRequest) (string, error) {
	answer, err := r.srv.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Message: "really?", RequestedSchema: map[string]any{"type": "object"},
	}})
	if err != nil {
		return err.Error(), nil
	}
	return string(answer.Action), nil
}

func who(ctx context.Context, _ mcp.CallToolRequest) (string, error) {
	return server.ClientSessionFromContext(ctx).SessionID(), nil
}

// A peer is the client's end of a transport.
type peer interface {
	send(t *testing.T, message string)
	got() <-chan received
}

// received is a message that came from the server.
type received struct {
	ID     any
	Method string
	Params map[string]any
	Result struct {
		Content []mcp.TextContent
	}
	Error *mcp.JSONRPCErrorDetails
	raw   string
}

func (r received) text() string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

func read(t *testing.T, text string) received {
	got := received{raw: text}
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	return got
}

func call(id int, tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, id, tool, text)
}

// token is what servers of these tests ask for, and their clients send.
const token, authorization = "0123456789abcdef", "Bearer " + token

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"elicitation":{}},"clientInfo":{"name":"peer","version":"1"}}}`
	discover = `{"jsonrpc":"2.0","id":"probe","method":"server/discover",` +
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// stdioPeer talks to ServeStdio over pipes.
type stdioPeer struct {
	in       *io.PipeWriter
	messages chan received
	ended    chan error
}

func (p *stdioPeer) send(t *testing.T, message string) {
	_, err := io.WriteString(p.in, message+"\n")
	require.NoError(t, err)
}

func (p *stdioPeer) got() <-chan received { return p.messages }

func startStdio(ctx context.Context, t *testing.T, r *rig) *stdioPeer {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := &stdioPeer{in: toServer, messages: make(chan received, 2*maxInFlight), ended: make(chan error, 1)}
	go func() {
		p.ended <- ServeStdio(ctx, r.srv, writing, r.aside, in, out, r.checks)
		_ = out.Close()
	}()
	go func() {
		defer close(p.messages)
		scanner := bufio.NewScanner(fromServer)
		scanner.Buffer(nil, maxMessage)
		for scanner.Scan() {
			p.messages <- read(t, scanner.Text())
		}
	}()
	t.Cleanup(func() { _ = toServer.Close(); <-p.ended })
	p.send(t, initialize)
	<-p.messages
	p.send(t, initialized)
	return p
}

// httpPeer talks streamable HTTP or, with a stream, server-sent events.
type httpPeer struct {
	url, session string
	messages     chan received
}

func (p *httpPeer) got() <-chan received { return p.messages }

// send posts and reads the whole response, in the background for requests: a
// streamable response comes when the call is over.
func (p *httpPeer) send(t *testing.T, message string) {
	exchange := func() {
		response, err := p.post(t.Context(), message)
		if errors.Is(err, context.Canceled) {
			return
		}
		if assert.NoError(t, err) {
			p.receive(t, response)
		}
	}
	if strings.Contains(message, `"id"`) && strings.Contains(message, `"method"`) && p.session != "" {
		go exchange()
		return
	}
	exchange()
}

func (p *httpPeer) post(ctx context.Context, message string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	if p.session != "" {
		request.Header.Set(sessionHeader, p.session)
	}
	return httpClient.Do(request)
}

func (p *httpPeer) receive(t *testing.T, response *http.Response) {
	defer response.Body.Close()
	assert.Less(t, response.StatusCode, 300)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		eachEvent(response.Body, func(_, data string) { p.messages <- read(t, data) })
		return
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && len(body) > 0 {
		p.messages <- read(t, string(body))
	}
}

// eachEvent reads server-sent events until the stream ends.
func eachEvent(stream io.Reader, f func(name, data string)) {
	scanner := bufio.NewScanner(stream)
	scanner.Buffer(nil, maxMessage)
	var name string
	for scanner.Scan() {
		if event, ok := strings.CutPrefix(scanner.Text(), "event: "); ok {
			name = event
		}
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			f(name, data)
		}
	}
}

// guarding returns the guard of a server on addr.
func guarding(t *testing.T, addr string) *guard.Guard {
	g, err := guard.New(addr, token)
	require.NoError(t, err)
	return g
}

func startHTTP(t *testing.T, r *rig, opts HTTPOptions) (*httptest.Server, *httpHandler) {
	opts.Guard, opts.Writes = cmp.Or(opts.Guard, guarding(t, "127.0.0.1:0")), writing
	handler := newHTTPHandler(r.srv, opts)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(func() { handler.sessions.close(expired()) })
	return web, handler
}

func startStreamable(t *testing.T, web *httptest.Server) *httpPeer {
	p := &httpPeer{url: web.URL + "/mcp", messages: make(chan received, 100)}
	response, err := p.post(t.Context(), initialize)
	require.NoError(t, err)
	p.session = response.Header.Get(sessionHeader)
	require.NotEmpty(t, p.session)
	p.receive(t, response)
	<-p.messages
	p.send(t, initialized)
	return p
}

func startSSE(t *testing.T, web *httptest.Server) *httpPeer {
	p := &httpPeer{messages: make(chan received, 100)}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/sse", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", authorization)
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	endpoint := make(chan string, 1)
	go func() {
		defer response.Body.Close()
		eachEvent(response.Body, func(name, data string) {
			if name == "endpoint" {
				endpoint <- data
				return
			}
			p.messages <- read(t, data)
		})
	}()
	p.url = web.URL + <-endpoint
	p.send(t, initialize)
	<-p.messages
	p.send(t, initialized)
	return p
}

// TestEveryTransport holds all transports to the same behaviour.
func TestEveryTransport(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *rig) peer{
		"stdio": func(t *testing.T, r *rig) peer { return startStdio(t.Context(), t, r) },
		"streamable HTTP": func(t *testing.T, r *rig) peer {
			web, _ := startHTTP(t, r, HTTPOptions{})
			return startStreamable(t, web)
		},
		"server-sent events": func(t *testing.T, r *rig) peer {
			web, _ := startHTTP(t, r, HTTPOptions{})
			return startSSE(t, web)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for behaviour, check := range behaviours {
				t.Run(behaviour, func(t *testing.T) {
					r := newRig()
					check(t, r, start(t, r))
				})
			}
		})
	}
}

var behaviours = map[string]func(*testing.T, *rig, peer){
	"progress arrives before the result it belongs to": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "tell", ""))
		for i := range 3 {
			assert.EqualValues(t, i, (<-p.got()).Params["progress"])
		}
		assert.Equal(t, "told", (<-p.got()).text())
	},
	"a panic is answered and the connection continues": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "explode", ""))
		answer := <-p.got()
		require.NotNil(t, answer.Error, answer.raw)
		assert.Equal(t, mcp.INTERNAL_ERROR, answer.Error.Code)
		assert.NotContains(t, answer.raw, "boom")
		p.send(t, call(2, "note", "after"))
		assert.Equal(t, "noted", (<-p.got()).text())
	},
	"a waiting write only delays the calls behind it": func(t *testing.T, r *rig, p peer) {
		p.send(t, call(1, "hold_write", ""))
		<-r.holding
		p.send(t, call(2, "note", "behind"))
		p.send(t, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		assert.EqualValues(t, 3, (<-p.got()).ID)
		assert.Empty(t, r.noted())
		close(r.release)
		assert.ElementsMatch(t, []any{1., 2.}, []any{(<-p.got()).ID, (<-p.got()).ID})
		assert.Equal(t, []string{"behind"}, r.noted())
	},
	"a waiting read delays no other call": func(t *testing.T, r *rig, p peer) {
		p.send(t, call(1, "hold", ""))
		<-r.holding
		p.send(t, call(2, "note", "overtakes"))
		assert.Equal(t, "noted", (<-p.got()).text())
		p.send(t, call(3, "who", ""))
		assert.EqualValues(t, 3, (<-p.got()).ID)
		close(r.release)
		assert.Equal(t, "released", (<-p.got()).text())
	},
	"a cancelled call changes nothing and lets the next continue": func(t *testing.T, r *rig, p peer) {
		p.send(t, call(1, "hold_write", ""))
		<-r.holding
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		assert.EqualValues(t, 1, (<-p.got()).ID)
		p.send(t, call(2, "note", "next"))
		assert.Equal(t, "noted", (<-p.got()).text())
	},
	"a write that never reaches its handler does not block the next": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "missing", ""))
		assert.NotNil(t, (<-p.got()).Error)
		p.send(t, call(2, "note", "next"))
		assert.Equal(t, "noted", (<-p.got()).text())
	},
	"the user is asked within a call": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "ask", ""))
		question := <-p.got()
		assert.Equal(t, "elicitation/create", question.Method)
		assert.Equal(t, "really?", question.Params["message"])
		p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{}}}`, question.ID))
		assert.Equal(t, "accept", (<-p.got()).text())
	},
	"a client that cannot ask its user says so": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "ask", ""))
		p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32601,"message":"cannot ask"}}`, (<-p.got()).ID))
		assert.Contains(t, (<-p.got()).text(), "cannot ask")
	},
	"a question is taken back when its call is cancelled": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "ask", ""))
		question := <-p.got()
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		withdrawn := <-p.got()
		assert.Equal(t, "notifications/cancelled", withdrawn.Method)
		assert.Equal(t, question.ID, withdrawn.Params["requestId"])
	},
	"late and unknown answers and cancellations are normal": func(t *testing.T, _ *rig, p peer) {
		p.send(t, `{"jsonrpc":"2.0","id":99,"result":{}}`)
		p.send(t, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`)
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
		p.send(t, call(1, "note", ""))
		assert.Equal(t, "noted", (<-p.got()).text())
	},
	"a tool knows its session": func(t *testing.T, _ *rig, p peer) {
		p.send(t, call(1, "who", ""))
		first := (<-p.got()).text()
		assert.NotEmpty(t, first)
		p.send(t, call(2, "who", ""))
		assert.Equal(t, first, (<-p.got()).text())
	},
}
