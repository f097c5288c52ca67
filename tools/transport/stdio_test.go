package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStdioAnswersOtherRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		line    string
		code    int    // of the error that comes back; 0: a result
		answers string // part of the answer
	}{
		"ping":                                {line: `{"jsonrpc":"2.0","id":"a","method":"ping"}`, answers: `"id":"a"`},
		"garbage":                             {line: `hello`, code: mcp.PARSE_ERROR, answers: `"id":null`},
		"half a message":                      {line: `{"jsonrpc":"2.0","id":1,`, code: mcp.PARSE_ERROR, answers: `"id":null`},
		"a batch":                             {line: ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, code: mcp.INVALID_REQUEST, answers: "batches"},
		"a number":                            {line: `7`, code: mcp.INVALID_REQUEST},
		"an invalid id":                       {line: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: mcp.INVALID_REQUEST},
		"another JSON-RPC":                    {line: `{"jsonrpc":"1.0","id":5,"method":"ping"}`, code: mcp.INVALID_REQUEST, answers: `"id":5`},
		"neither request nor answer":          {line: `{"jsonrpc":"2.0","id":5}`, code: mcp.INVALID_REQUEST, answers: `"id":5`},
		"an unknown method":                   {line: `{"jsonrpc":"2.0","id":5,"method":"flame/burn"}`, code: mcp.METHOD_NOT_FOUND},
		"discovery without a version":         {line: `{"jsonrpc":"2.0","id":5,"method":"server/discover"}`, code: mcp.METHOD_NOT_FOUND},
		"a protocol version without sessions": {line: discover, code: mcp.UNSUPPORTED_PROTOCOL_VERSION, answers: `"supported":["2025-11-25"`},
		"more than a message may have": {
			line: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", maxMessage) + `"}}`,
			code: mcp.INVALID_REQUEST, answers: "16777216 bytes",
		},
		"an id beyond a float64":    {line: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, answers: `"id":9007199254740993,`},
		"an id beyond all integers": {line: `{"jsonrpc":"2.0","id":36893488147419103232,"method":"ping"}`, answers: `"id":36893488147419103232,`},
		"an id with a fraction":     {line: `{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, answers: `"id":1.50,`},
		"a large id of no method": {
			line: `{"jsonrpc":"2.0","id":-9007199254740993,"method":"x"}`,
			code: mcp.METHOD_NOT_FOUND, answers: `"id":-9007199254740993,`,
		},
		"a large id of no message": {line: `{"jsonrpc":"2.0","id":9007199254740993}`, code: mcp.INVALID_REQUEST, answers: `"id":9007199254740993,`},
		"after blank lines":        {line: "\n  \r\n" + `{"jsonrpc":"2.0","id":6,"method":"ping"}`, answers: `"id":6`},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStdio(t.Context(), t, newRig())
			p.send(t, tt.line)
			answer := <-p.got()
			assert.Contains(t, answer.raw, tt.answers)
			if tt.code == 0 {
				assert.Nil(t, answer.Error)
			} else if assert.NotNil(t, answer.Error, answer.raw) {
				assert.Equal(t, tt.code, answer.Error.Code)
			}
			p.send(t, call(1, "note", ""))
			assert.Equal(t, "noted", (<-p.got()).text(), "the connection must go on")
		})
	}
}

func TestStdioKeepsTheOrderOfWrites(t *testing.T) {
	r := newRig()
	p := startStdio(t.Context(), t, r)
	var sent []string
	for i := range 500 {
		text := fmt.Sprint(i)
		sent = append(sent, text)
		p.send(t, call(i+1, "note", text)+"\n"+call(1000+i, "count", ""))
	}
	for range 2 * len(sent) {
		answer := <-p.got()
		if id := answer.ID.(float64); id >= 1000 {
			seen, err := strconv.Atoi(answer.text())
			require.NoError(t, err)
			assert.Greater(t, seen, int(id)-1000, "a read sees the writes before it")
		}
	}
	assert.Equal(t, sent, r.noted())
}

func TestACallThatGaveUpItsPlaceLetsNoOtherOvertake(t *testing.T) {
	r := newRig()
	p := startStdio(t.Context(), t, r) // the only transport whose lines arrive in their order
	p.send(t, call(1, "hold_write", ""))
	<-r.holding
	p.send(t, call(2, "note", "given up"))
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	assert.EqualValues(t, 2, (<-p.got()).ID)
	p.send(t, call(3, "note", "next"))
	p.send(t, `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
	assert.EqualValues(t, 4, (<-p.got()).ID)
	assert.Empty(t, r.noted())
	close(r.release)
	assert.ElementsMatch(t, []any{1., 3.}, []any{(<-p.got()).ID, (<-p.got()).ID})
	assert.Equal(t, []string{"next"}, r.noted())
}

func TestStdioAnswersAllAfterTheInputEnds(t *testing.T) {
	r := newRig()
	p := startStdio(t.Context(), t, r)
	p.send(t, call(1, "hold", ""))
	p.send(t, call(3, "ask", ""))
	p.send(t, call(2, "hold_write", ""))
	question := <-p.got()
	require.Equal(t, "elicitation/create", question.Method)
	_, err := io.WriteString(p.in, call(4, "note", "a last line without an end")) // waits for 2
	require.NoError(t, err)
	<-r.holding
	<-r.holding
	require.NoError(t, p.in.Close())

	unanswered := <-p.got()
	assert.EqualValues(t, 3, unanswered.ID, "nobody is left to ask")
	assert.Contains(t, unanswered.text(), "the client has disconnected")
	close(r.release)
	var ids []any
	for answer := range p.got() {
		ids = append(ids, answer.ID)
	}
	assert.ElementsMatch(t, []any{1., 2., 4.}, ids)
	p.ends(t)
}

// ends waits for the end of the server, which is a good one, and tells how long that takes.
func (p *stdioPeer) ends(t *testing.T) time.Duration {
	begun := time.Now()
	err := <-p.ended
	p.ended <- err // for the cleanup
	assert.NoError(t, err)
	return time.Since(begun)
}

func TestStdioEndsSoonAfterTheSignal(t *testing.T) {
	for name, inTime := range map[string]bool{"what ends in time is answered": true, "what does not is cancelled": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				r := newRig()
				p := startStdio(ctx, t, r)
				p.send(t, call(1, "hold", ""))
				<-r.holding
				stop()
				if inTime {
					synctest.Wait()
					close(r.release)
					assert.Equal(t, "released", (<-p.got()).text())
					assert.Zero(t, p.ends(t))
				} else {
					assert.Equal(t, grace, p.ends(t))
				}
			})
		})
	}
}

func TestStdioEndsSoonAfterTheInput(t *testing.T) {
	// working is a server with so many calls that wait.
	working := func(t *testing.T, calls int) (*rig, *stdioPeer) {
		r := newRig()
		p := startStdio(t.Context(), t, r)
		for id := range calls {
			p.send(t, call(id, "hold", ""))
			<-r.holding
		}
		return r, p
	}
	for name, test := range map[string]func(t *testing.T){
		"at once when all is answered": func(t *testing.T) {
			_, p := working(t, 0)
			require.NoError(t, p.in.Close())
			assert.Zero(t, p.ends(t))
		},
		"in time though calls take longer and tell how far they are": func(t *testing.T) {
			r, p := working(t, 1)
			go func() {
				for range 3 {
					r.srv.SendNotificationToAllClients("notifications/message", map[string]any{"data": "still at it"})
					time.Sleep(lastAnswer / 4)
				}
			}()
			require.NoError(t, p.in.Close())
			assert.Equal(t, lastAnswer, p.ends(t))
			for range 3 {
				assert.Equal(t, "still at it", (<-p.got()).Params["data"])
			}
		},
		"later while answers come": func(t *testing.T) {
			r, p := working(t, 3)
			go func() {
				for range 2 {
					time.Sleep(lastAnswer - time.Millisecond)
					r.release <- struct{}{}
				}
			}()
			require.NoError(t, p.in.Close())
			assert.Equal(t, 3*lastAnswer-2*time.Millisecond, p.ends(t))
			for range 2 {
				assert.Equal(t, "released", (<-p.got()).text())
			}
		},
		"in time though nobody reads the answers": func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			r := newRig()
			p := &stdioPeer{in: toServer, ended: make(chan error, 1)}
			go func() { p.ended <- ServeStdio(t.Context(), r.srv, writing, HiddenTool{}, in, out, nil) }()
			for _, line := range []string{initialize, call(1, "note", "one"), call(2, "note", "two")} {
				p.send(t, line)
			}
			synctest.Wait()
			require.NoError(t, p.in.Close())
			assert.Equal(t, lastAnswer, p.ends(t))
			assert.Equal(t, []string{"one", "two"}, r.noted())
			require.NoError(t, fromServer.Close()) // lets the writer go that stayed behind
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// A client whose process is gone does not close the input if another process has inherited its end.
func TestStdioEndsWithAClientThatGivesNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		p := startStdio(t.Context(), t, r)
		for _, answer := range []string{`"result":{}`, `"error":{"code":-32601,"message":"no ping here"}`} {
			r.checks <- time.Now() // a client that only started the server by another program
			ping := <-p.got()
			require.Equal(t, "ping", ping.Method)
			p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,%s}`, ping.ID, answer))
			p.send(t, call(1, "note", ""))
			assert.Equal(t, "noted", (<-p.got()).text())
		}
		r.checks <- time.Now()
		assert.Equal(t, signOfLife, p.ends(t))
	})
}

func TestStdioReportsADisconnectedClient(t *testing.T) {
	in, toServer := io.Pipe()
	defer toServer.Close()
	fromServer, out := io.Pipe()
	broken := errors.New("broken pipe")
	require.NoError(t, fromServer.CloseWithError(broken))
	ended := make(chan error, 1)
	go func() { ended <- ServeStdio(t.Context(), newRig().srv, writing, HiddenTool{}, in, out, nil) }()
	_, err := io.WriteString(toServer, initialize+"\n")
	require.NoError(t, err)
	assert.ErrorIs(t, <-ended, broken)
}

func TestStdioReportsInputThatFails(t *testing.T) {
	broken := errors.New("i/o error")
	in := io.MultiReader(strings.NewReader(initialize+"\n"), iotest.ErrReader(broken))
	var out strings.Builder
	assert.ErrorIs(t, ServeStdio(t.Context(), newRig().srv, writing, HiddenTool{}, in, &out, nil), broken)
	assert.Contains(t, out.String(), `"protocolVersion":"2025-11-25"`, "what came before is answered")
}

func TestStdioBoundsTheRequestsInProgress(t *testing.T) {
	r := newRig()
	p := startStdio(t.Context(), t, r)
	for i := range maxInFlight {
		p.send(t, call(i, "hold", ""))
	}
	p.send(t, call(5000, "note", ""))
	refusal := <-p.got()
	assert.EqualValues(t, 5000, refusal.ID)
	assert.Contains(t, refusal.raw, "wait for answers")
	close(r.release)
	for range maxInFlight {
		assert.Equal(t, "released", (<-p.got()).text())
	}
	p.send(t, call(5001, "note", ""))
	assert.Equal(t, "noted", (<-p.got()).text())
}

func TestSubscribersGetChangesOfResources(t *testing.T) {
	r := newRig()
	p := startStdio(t.Context(), t, r)
	changed := func(uri string) {
		r.srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
	}
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"flame://tree"}}`)
	<-p.got()
	changed("flame://other")
	changed("flame://tree")
	assert.Equal(t, "flame://tree", (<-p.got()).Params["uri"])
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"flame://tree"}}`)
	<-p.got()
	changed("flame://tree")
	p.send(t, call(3, "note", ""))
	assert.Equal(t, "noted", (<-p.got()).text(), "no news after unsubscribing")
}

func TestTheSubscriptionsOfASessionAreBounded(t *testing.T) {
	p := startStdio(t.Context(), t, newRig())
	ask := func(method string, n int) *mcp.JSONRPCErrorDetails {
		p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/%s","params":{"uri":"flame://frame/%d"}}`, method, n))
		return (<-p.got()).Error
	}
	for n := range 1000 {
		require.Nil(t, ask("subscribe", n))
	}
	assert.Nil(t, ask("subscribe", 0), "one that it has is not one more")
	refusal := ask("subscribe", 1000)
	require.NotNil(t, refusal)
	assert.Contains(t, refusal.Message, "1000 resources already (unsubscribe from some first")
	assert.Nil(t, ask("unsubscribe", 0))
	assert.Nil(t, ask("subscribe", 1000))
	assert.NotNil(t, ask("subscribe", 0))
}

// listening has the rig take in calls of hooks: each is answered with its arguments.
func listening() *rig {
	r := newRig()
	r.aside = HiddenTool{Tool: "hook", Model: "host/call", Answer: func(_ context.Context, arguments json.RawMessage) string {
		if string(arguments) == `"explode"` {
			panic("boom")
		}
		return "heard " + string(arguments)
	}}
	return r
}

func hookCall(arguments, meta string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hook","arguments":` + arguments + meta + `}}`
}

func TestAHookIsAnsweredWhileAnotherToolWaits(t *testing.T) {
	r := listening()
	p := startStdio(t.Context(), t, r)
	p.send(t, call(1, "hold_write", ""))
	<-r.holding
	p.send(t, call(2, "note", "later"))
	p.send(t, hookCall(`{"a":1}`, ""))
	assert.Equal(t, `heard {"a":1}`, (<-p.got()).text(), "before those that came before it")
	assert.Empty(t, r.noted())
	close(r.release)
	assert.ElementsMatch(t, []string{"released", "noted"}, []string{(<-p.got()).text(), (<-p.got()).text()})
}

func TestOnlyAHookIsAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		message string
		code    int // of the error; 0: it is answered
	}{
		"a hook":                        {message: hookCall(`{}`, "")},
		"with an empty _meta":           {message: hookCall(`{}`, `,"_meta":{}`)},
		"with an invalid _meta":         {message: hookCall(`{}`, `,"_meta":7`)},
		"without arguments":             {message: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hook"}}`},
		"a model that guessed its name": {message: hookCall(`{}`, `,"_meta":{"host/call":"toolu_1"}`), code: mcp.INVALID_PARAMS},
		"a model with a null for an id": {message: hookCall(`{}`, `,"_meta":{"host/call":null}`), code: mcp.INVALID_PARAMS},
		"a hook that panics":            {message: hookCall(`"explode"`, ""), code: mcp.INTERNAL_ERROR},
	} {
		t.Run(name, func(t *testing.T) {
			p := startStdio(t.Context(), t, listening())
			p.send(t, tt.message)
			answer := <-p.got()
			if tt.code == 0 {
				assert.Contains(t, answer.text(), "heard")
			} else if assert.NotNil(t, answer.Error, answer.raw) {
				assert.Equal(t, tt.code, answer.Error.Code)
			}
			p.send(t, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`)
			assert.NotContains(t, (<-p.got()).raw, `"hook"`, "it stands in no list")
		})
	}
}
