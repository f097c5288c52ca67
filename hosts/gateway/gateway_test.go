package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway"
	"flame/project"
	"flame/project/stack"
	"flame/project/usage"
	"flame/store"
	"flame/tests/model"
	"flame/tests/model/rules"
	"flame/tests/projecttest"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

const secret = "secret-path"

// A talk is a conversation of a client, which keeps its whole history, with a model behind
// a gateway.
type talk struct {
	t        *testing.T
	f        *projecttest.Fixture
	url      string // of the gateway
	model    *model.Server
	judge    *rules.Judge
	history  []any
	session  string
	log      *bytes.Buffer
	faults   *faulty // between the gateways and the store
	stop     func()  // ends the gateway
	clock    atomic.Int64
	statuses []int
	lengths  []int        // bytes of the requests as they were asked
	beside   func() []any // what the user says beside the results of tools; nil: nothing
	behind   func()       // happens behind the results of tools; nil: nothing
}

type object = map[string]any

// newTalk starts a gateway before a model that obeys the rules of the API.
func newTalk(t *testing.T, script ...model.Turn) *talk {
	t.Helper()
	f := projecttest.New(t)
	c := &talk{t: t, f: f, session: "s", log: &bytes.Buffer{}}
	c.clock.Store(int64(f.Clock))
	kept := store.Open(f.Data, store.Options{}) // without the checks of the fixture's, which are for one goroutine
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	f.Project.Store, f.Project.NewID = kept, project.NewID
	c.faults = &faulty{Store: kept}
	f.Project.Now = func() core.Millis { return core.Millis(c.clock.Load()) }
	c.judge = rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
	c.model = model.Start(t, model.Script{{Name: "main", Kind: model.Work, Turns: script}})
	c.model.Enforce(c.judge)
	c.start(gateway.Options{Folding: gateway.FoldOn})
	return c
}

// start starts a gateway; one that was there is ended.
func (c *talk) start(o gateway.Options) {
	c.t.Helper()
	if c.stop != nil {
		c.stop()
	}
	upstream, err := url.Parse(c.model.URL)
	require.NoError(c.t, err)
	p := *c.f.Project
	p.Store, p.Fold = c.faults, true
	o.Project, o.Host, o.Wire, o.Secret = &p, claudecode.Name, claudecode.Host().Gateway.Spec, secret
	if o.Patience == 0 {
		o.Patience = soon // a busy machine must not change what is folded
	}
	if o.Upstream == nil {
		o.Upstream = upstream
	}
	o.Log = slog.New(slog.NewJSONHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	addr, stop := serveGateway(c.t, o)
	c.url, c.stop = "http://"+addr+"/"+secret, stop
}

// say adds a message of the user's.
func (c *talk) say(text string) {
	c.history = append(c.history, object{"role": "user", "content": []any{object{"type": "text", "text": text}}})
}

// prefix is that of flame's tools in the client.
const prefix = "mcp__plugin_flame_flame__"

// body is the next request.
func (c *talk) body() []byte {
	tools := []any{}
	for _, name := range []string{"Read", prefix + "flame_push", prefix + "flame_pop"} {
		tools = append(tools, object{"name": name, "input_schema": object{"type": "object"}})
	}
	body, err := json.Marshal(object{
		"model": "claude-opus-5-5", "max_tokens": 1000, "stream": true, "thinking": object{"type": "adaptive"},
		"system": []any{object{"type": "text", "text": "You are a client."}}, "tools": tools, "messages": c.history,
	})
	require.NoError(c.t, err)
	return body
}

// ask sends the history, and adds the answer to it. It returns the answer's blocks.
func (c *talk) ask() []object {
	c.t.Helper()
	c.clock.Add(1000)
	body := c.body()
	response := c.post("/v1/messages?beta=true", body, nil)
	defer response.Body.Close()
	c.lengths = append(c.lengths, len(body))
	c.statuses = append(c.statuses, response.StatusCode)
	if response.StatusCode != http.StatusOK {
		_, err := io.Copy(io.Discard, response.Body) // what is wrong is read before anything else is sent
		require.NoError(c.t, err)
		return nil
	}
	blocks := assemble(c.t, response.Body)
	content := make([]any, len(blocks))
	for i := range blocks {
		content[i] = blocks[i]
	}
	c.history = append(c.history, object{"role": "assistant", "content": content})
	return blocks
}

func (c *talk) post(path string, body []byte, header http.Header) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, bytes.NewReader(body))
	require.NoError(c.t, err)
	r.Header.Set("X-Claude-Code-Session-Id", c.session)
	r.Header.Set("X-Claude-Code-Request-Class", "main")
	r.Header.Set("X-Api-Key", "sk-very-secret")
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := httpClient.Do(r)
	require.NoError(c.t, err)
	return response
}

// assemble makes the blocks of a streamed answer.
func assemble(t *testing.T, stream io.Reader) (blocks []object) {
	t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	inputs := map[int]string{}
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Index int
			Block object `json:"content_block"`
			Delta object
		}
		require.NoError(t, json.Unmarshal([]byte(data), &e))
		switch e.Type {
		case "content_block_start":
			blocks = append(blocks, e.Block)
		case "content_block_delta":
			b := blocks[e.Index]
			for _, key := range []string{"text", "thinking", "signature"} {
				if part, ok := e.Delta[key].(string); ok {
					b[key] = fmt.Sprint(b[key]) + part
				}
			}
			if part, ok := e.Delta["partial_json"].(string); ok {
				inputs[e.Index] += part
			}
		}
	}
	require.NoError(t, lines.Err())
	for i, input := range inputs {
		blocks[i]["input"] = json.RawMessage(input)
	}
	return blocks
}

// round asks, and answers the calls until there is none left.
func (c *talk) round() {
	c.t.Helper()
	for {
		results := []any{}
		for _, b := range c.ask() {
			if b["type"] == "tool_use" {
				said, err := c.call(b)
				results = append(results, object{"type": "tool_result", "tool_use_id": b["id"], "content": said, "is_error": err != nil})
			}
		}
		if len(results) == 0 {
			return
		}
		if c.beside != nil {
			results = append(results, c.beside()...)
		}
		c.history = append(c.history, object{"role": "user", "content": results})
		if c.behind != nil {
			c.behind()
		}
	}
}

// call is what a tool answers.
func (c *talk) call(b object) (string, error) {
	c.clock.Add(1000)
	var input struct{ Goal, Summary, File string }
	require.NoError(c.t, json.Unmarshal(b["input"].(json.RawMessage), &input))
	s := projecttest.Host(c.session)
	switch b["name"] {
	case prefix + "flame_push":
		f, err := stack.Push(c.f.Ctx, c.f.Project, s, input.Goal, "")
		return fmt.Sprintf("Started %s %q. Parent: x.\nIt is your current frame.", f.ID, f.Goal), err
	case prefix + "flame_pop":
		popped, err := stack.Pop(c.f.Ctx, c.f.Project, s, stack.PopArgs{Status: core.Completed, Summary: input.Summary})
		f := popped.Frame
		return fmt.Sprintf("%s is completed: %q\nMore: flame_frame_details %s", f.ID, f.Goal, f.ID), err
	}
	return strings.Repeat("content of "+input.File+" ", 300), nil
}

func push(goal string) model.Turn {
	return model.Turn{Thinking: "I push", Tools: []model.Tool{{Name: "flame_push", Input: object{"goal": goal}}}}
}

func pop(summary string) model.Turn {
	return model.Turn{Thinking: "I pop", Tools: []model.Tool{{Name: "flame_pop", Input: object{"summary": summary, "status": "completed"}}}}
}

func read(file string) model.Turn {
	return model.Turn{Thinking: "I read " + file, Tools: []model.Tool{{Name: "Read", Input: object{"file": file}}}}
}

func TestFinishedFramesLeaveTheRequests(t *testing.T) {
	t.Parallel()
	c := newTalk(t, push("one"), read("a"), read("b"), pop("did one"), push("two"), read("c"), pop("did two"), model.Turn{Thinking: "end", Text: "all done"},
		model.Turn{Text: "more"})
	c.f.Prompt(projecttest.Host("s"), "p1", "work")
	c.say("work")
	c.round()
	requests := c.model.Requests()
	require.Len(t, requests, 8)
	assert.NotContains(t, c.statuses, 400, "%v", c.judge.Reasons())
	assert.Less(t, requests[7].Bytes, requests[2].Bytes, "both frames are folded")
	assert.Zero(t, c.judge.Stats().Rejected)
	c.say("and more")
	c.round()
	c.stop()
	var counted fold.Meter
	require.NoError(t, c.f.Project.View(c.f.Ctx, projecttest.Host("s"), func(s *project.Op) (err error) {
		counted, err = usage.RequestsOf(s.Tx, "s")
		return err
	}))
	assert.Equal(t, 9, counted.Requests, "each is counted once, whether anything changed with it or not")
	assert.Positive(t, counted.LeftOut)
	last := c.model.Requests()[8]
	assert.Equal(t, []string{"work", "", "", "", "", "all done", "and more"}, texts(last))
	assert.Zero(t, c.judge.Stats().Rejected)
	assert.Positive(t, c.judge.Stats().Thinking)
}

func texts(r model.Request) (all []string) {
	for _, m := range r.Messages {
		all = append(all, m.Text)
	}
	return all
}
