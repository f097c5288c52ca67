package model

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Server is a running scripted model.
type Server struct {
	URL string // of Anthropic's API; OpenAI's is below it at /v1

	t        testing.TB
	mu       sync.Mutex
	script   Script
	steps    map[step]int
	requests []Request
}

// step is the count of one actor's turns in one agent's conversation.
type step struct{ actor, session, agent string }

// Start runs a server on loopback until the test ends. A scripted call of a
// tool that the client did not offer fails the test.
func Start(t testing.TB, script Script) *Server {
	s := &Server{t: t, script: script, steps: map[step]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.answer(parseAnthropic, anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("POST /v1/chat/completions", s.answer(parseOpenAI, openAI{}))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "scripted", "object": "model"}}})
	})
	// Clients probe and report on other paths; they get an empty answer.
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, object{}) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Play replaces the script and begins it anew; what was recorded stays.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.steps = script, map[step]int{}
}

// Requests returns what was recorded so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// By returns the recorded requests that the actor answered.
func (s *Server) By(actor string) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Actor != actor })
}

// A dialect writes answers as one of the APIs does.
type dialect interface {
	whole(r Request, a answer) any
	events(r Request, a answer) []event
	failure(e Error) any
}

// An event is one server-sent event; data is encoded as JSON unless it is a string.
type event struct {
	name string // may be empty
	data any
}

// An answer is a turn as it is sent: tools by their full names, usage known.
type answer struct {
	id    string
	text  string
	calls []call
	usage Usage
}

type call struct {
	id, name string
	input    json.RawMessage
}

type object = map[string]any

func (s *Server) answer(parse func([]byte) (Request, error), d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return // the client is gone
		}
		req, err := parse(body)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, d.failure(Error{Type: "invalid_request_error", Message: err.Error()}))
			return
		}
		req.Bytes, req.Headers = len(body), public(hr.Header)
		turn := s.next(&req)
		select {
		case <-time.After(turn.Delay):
		case <-hr.Context().Done():
			return
		}
		if turn.Error != nil {
			writeJSON(w, turn.Error.Status, d.failure(*turn.Error))
			return
		}
		ans := s.prepare(req, turn)
		if req.Stream {
			stream(w, d.events(req, ans))
			return
		}
		writeJSON(w, http.StatusOK, d.whole(req, ans))
	}
}

// next finds the turn for req, completes req by who answers, and records it.
func (s *Server) next(req *Request) Turn {
	req.Kind = req.kind()
	req.session = first(req.Headers, "X-Claude-Code-Session-Id", "X-Session-Id")
	req.agent = first(req.Headers, "X-Claude-Code-Agent-Id")
	s.mu.Lock()
	turn := byDefault(req.Kind)
	for _, actor := range s.script {
		if actor.Kind != req.Kind || actor.Match != nil && !actor.Match.MatchString(req.part(actor.Where)) {
			continue
		}
		at := step{actor.Name, req.session, req.agent}
		req.Actor, req.Turn = actor.Name, s.steps[at]
		s.steps[at]++
		turn = Turn{Text: "done"}
		if req.Turn < len(actor.Turns) {
			turn = actor.Turns[req.Turn]
		}
		break
	}
	s.requests = append(s.requests, *req)
	s.mu.Unlock()
	if turn.From != nil {
		return turn.From(*req)
	}
	return turn
}

func byDefault(k Kind) Turn {
	switch k {
	case Title:
		return Turn{Text: "A title"}
	case Compaction:
		return Turn{Text: "A summary"}
	default:
		return Turn{Text: "ok"}
	}
}

// prepare returns tools their full names and ids, and usage its missing figures.
func (s *Server) prepare(req Request, turn Turn) answer {
	ans := answer{id: rand.Text(), text: turn.Text, usage: turn.Usage}
	for _, tool := range turn.Tools {
		name, ok := req.Offered(tool.Name)
		if !ok {
			s.t.Errorf("actor %s calls %s, which the client does not offer: %v", req.Actor, tool.Name, req.Tools)
			name = tool.Name
		}
		input, err := json.Marshal(tool.Input)
		if err != nil {
			s.t.Errorf("actor %s: input of %s: %v", req.Actor, tool.Name, err)
		}
		if string(input) == "null" {
			input = []byte("{}")
		}
		ans.calls = append(ans.calls, call{id: "toolu_" + rand.Text(), name: name, input: input})
	}
	if ans.text == "" && len(ans.calls) == 0 {
		ans.text = "ok"
	}
	if ans.usage.Input == 0 {
		ans.usage.Input = tokens(req.Bytes)
	}
	if ans.usage.Output == 0 {
		ans.usage.Output = tokens(len(ans.text)) + 20*len(ans.calls)
	}
	return ans
}

// tokens is the usual estimate of four bytes each.
func tokens(bytes int) int { return bytes/4 + 1 }

func countTokens(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	writeJSON(w, http.StatusOK, object{"input_tokens": tokens(int(n))})
}

// public leaves out the headers that carry credentials.
func public(h http.Header) http.Header {
	h = h.Clone()
	for _, secret := range []string{"Authorization", "X-Api-Key", "Cookie"} {
		h.Del(secret)
	}
	return h
}

func first(h http.Header, names ...string) string {
	for _, name := range names {
		if value := h.Get(name); value != "" {
			return value
		}
	}
	return ""
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away needs no answer
}

func stream(w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	for _, e := range events {
		data, isText := e.data.(string)
		if !isText {
			encoded, _ := json.Marshal(e.data) // made of objects, texts and numbers here
			data = string(encoded)
		}
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		if flusher.Flush() != nil {
			return
		}
	}
}
