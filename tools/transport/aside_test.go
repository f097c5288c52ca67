package transport

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
)

// listening has the rig take in calls of hooks: each is answered with its arguments.
func listening() *rig {
	r := newRig()
	r.aside = Aside{Tool: "hook", Model: "host/call", Answer: func(_ context.Context, arguments json.RawMessage) string {
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
	t.Parallel()
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
	t.Parallel()
	tests := map[string]struct {
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
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
