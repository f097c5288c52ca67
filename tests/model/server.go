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

	"flame/tests/model/rules"
)

// A Server is a running scripted model.
type Server struct {
	URL string

	// Reach returns how the model reaches a tool that the client does not offer; false if it
	// cannot. Nil: the model reaches only tools that the client offers.
	Reach func(Request, Tool) (Detour, bool)

	fault  func(format string, args ...any) // called for scripts that do not fit the client
	server *httptest.Server

	mu       sync.Mutex
	script   Script
	steps    map[step]int
	held     map[step]Turn // turns that wait for the answer to a search
	requests []Request
	texts    map[string]string // texts so far, to store repeated ones once
	judge    *rules.Judge      // nil: no rules
	items    rules.Items
}

// step is the count of one actor's turns in one agent's conversation.
type step struct{ actor, session, agent string }

// Start runs a server on loopback until the test ends. A scripted call of a
// tool that the client did not offer fails the test.
func Start(t testing.TB, script Script) *Server {
	s := New(script, t.Errorf)
	t.Cleanup(s.Close)
	return s
}

// New runs a server on loopback until it is closed. It calls fault for a scripted call of a tool
// that the client did not offer.
func New(script Script, fault func(format string, args ...any)) *Server {
	s := &Server{fault: fault, script: script, steps: map[step]int{}, held: map[step]Turn{}, texts: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.answer(parseAnthropic, anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("POST /v1/responses", s.answer(parseResponses, responses{}))
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{{"id": "scripted", "object": "model"}}})
	})
	// Clients probe and report on other paths; they get an empty answer.
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, object{}) })
	s.server = httptest.NewServer(mux)
	s.URL = s.server.URL
	return s
}

// Close ends the server.
func (s *Server) Close() { s.server.Close() }

// Play replaces the script and starts it from the beginning; records stay.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.steps, s.held = script, map[step]int{}, map[step]Turn{}
}

// Requests returns the requests so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// By returns the recorded requests that the actor answered by its turns.
func (s *Server) By(actor string) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Actor != actor || r.Searches })
}

// A dialect writes answers in one of the APIs.
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

// An answer is a turn ready to be sent: tools by their full names, with known usage.
type answer struct {
	id        string
	thinking  string
	signature string // of the thinking
	text      string
	calls     []call
	usage     Usage
}

type call struct {
	id, name string
	input    json.RawMessage
}

type object = map[string]any

func (s *Server) answer(parse func([]byte) (Request, error), d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		arrived := time.Now()
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return // the client has left
		}
		req, err := parse(body)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, d.failure(Error{Type: "invalid_request_error", Message: err.Error()}))
			return
		}
		req.Arrived, req.Bytes, req.Headers = arrived, len(body), public(hr.Header)
		req.Session = first(req.Headers, "X-Claude-Code-Session-Id", "X-Session-Id", "Thread-Id")
		req.Agent = first(req.Headers, "X-Claude-Code-Agent-Id")
		verdict := s.decide(req, d, body)
		req.Refused = verdict.Refused
		turn, answered := s.next(&req)
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
		s.count(req, d, verdict, turn.Usage, &ans)
		if req.Stream {
			stream(w, d.events(req, ans))
		} else {
			writeJSON(w, http.StatusOK, d.whole(req, ans))
		}
		answered(time.Now())
	}
}

// next finds the turn for req and records it with its actor. answered records when the
// answer ended.
func (s *Server) next(req *Request) (turn Turn, answered func(time.Time)) {
	req.Kind = req.kind()
	s.mu.Lock()
	turn = s.turn(req)
	s.once(req)
	n := len(s.requests)
	s.requests = append(s.requests, *req)
	s.mu.Unlock()
	if turn.From != nil {
		turn = turn.From(*req)
	}
	turn = s.reached(*req, turn, n)
	return turn, func(at time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests[n].Answered = at
	}
}

func (s *Server) turn(req *Request) Turn {
	if req.Refused != nil {
		return Turn{Error: &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: req.Refused.Error()}}
	}
	for _, actor := range s.script {
		if actor.Kind != req.Kind || actor.Match != nil && !actor.Match.MatchString(req.part(actor.Where)) {
			continue
		}
		at := step{actor.Name, req.Session, req.Agent}
		if turn, ok := s.held[at]; ok {
			delete(s.held, at)
			req.Actor, req.Turn = actor.Name, s.steps[at]-1
			return turn
		}
		req.Actor, req.Turn = actor.Name, s.steps[at]
		s.steps[at]++
		if req.Turn < len(actor.Turns) {
			return actor.Turns[req.Turn]
		}
		return Turn{Text: "done"}
	}
	return byDefault(req.Kind)
}

// reached returns the turn with detours to the tools that the client does not offer. n is the
// number of the request.
func (s *Server) reached(req Request, turn Turn, n int) Turn {
	if s.Reach == nil {
		return turn
	}
	turn.Tools = slices.Clone(turn.Tools)
	for i, tool := range turn.Tools {
		if _, ok := req.Offered(tool.Name); ok {
			continue
		}
		detour, ok := s.Reach(req, tool)
		if ok && detour.Again {
			s.mu.Lock()
			s.held[step{req.Actor, req.Session, req.Agent}] = turn
			s.requests[n].Searches = true
			s.mu.Unlock()
			return Turn{Tools: []Tool{detour.Tool}, Usage: turn.Usage}
		}
		if ok {
			turn.Tools[i] = detour.Tool
		}
	}
	return turn
}

// once has a request share the texts of earlier ones: each repeats the conversation so far.
func (s *Server) once(req *Request) {
	share := func(text *string) {
		if _, known := s.texts[*text]; !known {
			s.texts[*text] = *text
		}
		*text = s.texts[*text]
	}
	share(&req.System)
	for i := range req.Messages {
		share(&req.Messages[i].Text)
		for j := range req.Messages[i].Results {
			share(&req.Messages[i].Results[j])
		}
	}
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

// prepare gives tools their full names and ids, and usage its missing figures.
func (s *Server) prepare(req Request, turn Turn) answer {
	ans := answer{id: rand.Text(), thinking: turn.Thinking, text: turn.Text, usage: turn.Usage}
	for _, tool := range turn.Tools {
		name, ok := req.Offered(tool.Name)
		if !ok {
			s.fault("actor %s calls %s, which the client does not offer: %v", req.Actor, tool.Name, req.Tools)
			name = tool.Name
		}
		input, err := json.Marshal(tool.Input)
		if err != nil {
			s.fault("actor %s: input of %s: %v", req.Actor, tool.Name, err)
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

// public removes the headers with credentials.
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
	_ = json.NewEncoder(w).Encode(body) // a client that left needs no answer
}

func stream(w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	for _, e := range events {
		data, isText := e.data.(string)
		if !isText {
			encoded, _ := json.Marshal(e.data) // it has only objects, texts and numbers
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
