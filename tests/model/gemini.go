package model

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"flame/tests/model/rules"
)

// gemini is Google's generateContent API, as Gemini CLI uses it.
type gemini struct{}

// A geminiPart is a part of a message.
type geminiPart struct {
	Text             string
	ThoughtSignature string
	FunctionCall     *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response struct{ Output, Error string }
	}
}

// geminiBody is a request.
type geminiBody struct {
	Contents []struct {
		Role  string
		Parts []geminiPart
	}
	SystemInstruction struct{ Parts []geminiPart }
	Tools             []struct {
		FunctionDeclarations []struct{ Name string }
	}
	GenerationConfig struct{ ResponseJSONSchema, ResponseSchema schema }
}

// A schema says which JSON a client asks for.
type schema struct {
	Type       string
	Enum       []any
	Properties map[string]schema
}

// example returns something that fits.
func (s schema) example() any {
	switch kind := strings.ToLower(s.Type); {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case kind == "object":
		made := object{}
		for name, property := range s.Properties {
			made[name] = property.example()
		}
		return made
	case kind == "array":
		return []any{}
	case kind == "integer":
		return 1
	case kind == "number": // such as how sure a client can be that the model goes round in circles
		return 0
	case kind == "boolean":
		return false
	}
	return "x"
}

// gemini answers a call of a model, MODEL:METHOD. Questions of the client's own, whose answer has a
// schema, are counted, but not recorded and never refused: they are about a part of the conversation.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	var in geminiBody
	_ = json.Unmarshal(body, &in) // the parser reports what is wrong
	asked := in.GenerationConfig.ResponseJSONSchema
	if asked.Type == "" {
		asked = in.GenerationConfig.ResponseSchema
	}
	switch {
	case method == "countTokens":
		writeJSON(w, http.StatusOK, object{"totalTokens": tokens(len(body))})
	case asked.Type != "":
		text, _ := json.Marshal(asked.example())
		req, d, ans := Request{Model: name}, gemini{}, answer{id: rand.Text(), text: string(text)}
		s.count(req, d, s.tally(req, rules.Contents(body), nil), Usage{}, &ans)
		writeJSON(w, http.StatusOK, d.whole(req, ans))
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.answer(func(body []byte) (Request, error) {
			req, err := parseGemini(body)
			req.Model, req.Stream = name, method == "streamGenerateContent"
			return req, err
		}, gemini{})(w, r)
	}
}

func parseGemini(body []byte) (req Request, err error) {
	var in geminiBody
	if err := json.Unmarshal(body, &in); err != nil {
		return req, err
	}
	for _, p := range in.SystemInstruction.Parts {
		req.System += p.Text
	}
	for _, c := range in.Contents {
		message := Message{Role: strings.Replace(c.Role, "model", "assistant", 1)}
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				message.Calls = append(message.Calls, Tool{Name: p.FunctionCall.Name, Input: p.FunctionCall.Args})
			case p.FunctionResponse != nil:
				message.Results = append(message.Results, p.FunctionResponse.Response.Output+p.FunctionResponse.Response.Error)
			case strings.HasPrefix(p.Text, "<session_context>"): // the client's own words
				req.Messages = append(req.Messages, Message{Role: "system", Text: p.Text})
			default:
				message.Text += p.Text
			}
		}
		req.Messages = append(req.Messages, message)
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			req.Tools = append(req.Tools, f.Name)
		}
	}
	return req, nil
}

func (gemini) whole(r Request, a answer) any {
	var parts []object
	if a.thinking != "" {
		parts = append(parts, object{"text": a.thinking, "thought": true})
	}
	if a.text != "" {
		parts = append(parts, object{"text": a.text})
	}
	for i, c := range a.calls {
		part := object{"functionCall": object{"id": c.id, "name": c.name, "args": c.input}}
		if i == 0 {
			part["thoughtSignature"] = signs + a.id
		}
		parts = append(parts, part)
	}
	return object{
		"modelVersion": r.Model, "responseId": a.id,
		"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": object{
			"promptTokenCount": a.usage.Input + a.usage.CacheRead, "cachedContentTokenCount": a.usage.CacheRead,
			"candidatesTokenCount": a.usage.Output, "totalTokenCount": a.usage.Input + a.usage.CacheRead + a.usage.Output,
		},
	}
}

func (d gemini) events(r Request, a answer) []event { return []event{{data: d.whole(r, a)}} }

func (gemini) failure(e Error) any {
	return object{"error": object{"code": e.Status, "message": e.Message, "status": e.Type}}
}

// Signatures of thoughts: what those of the scripted model begin with, and one that Google documents for
// calls that no model made.
const (
	signs   = "signed-"
	unasked = "skip_thought_signature_validator"
)

// refusedByGoogle returns why Google's API would refuse a request, as far as that is documented: calls and
// results follow each other in pairs, calls follow the user, and since the user's last words the first call
// of each message has its signature.
func refusedByGoogle(body []byte) error {
	var in geminiBody
	if json.Unmarshal(body, &in) != nil || len(in.Contents) == 0 {
		return errors.New("contents is not specified")
	}
	words, role := 0, ""
	for i, c := range in.Contents {
		calls, results, text := sorted(c.Parts)
		switch {
		case len(c.Parts) == 0:
			return errors.New("contents.parts must not be empty")
		case len(calls) > 0 && role != "user":
			return errors.New("function call turn comes immediately after a user turn or after a function response turn")
		case len(results) > 0 && i == 0:
			return errors.New("function response turn comes immediately after a function call turn")
		}
		if i > 0 {
			if asked, _, _ := sorted(in.Contents[i-1].Parts); strings.Join(asked, " ") != strings.Join(results, " ") {
				return fmt.Errorf("the number of function response parts is equal to the number of function call parts: %q, %q", asked, results)
			}
		}
		if c.Role == "user" && text && len(results) == 0 {
			words = i
		}
		role = c.Role
	}
	if calls, _, _ := sorted(in.Contents[len(in.Contents)-1].Parts); len(calls) > 0 || role != "user" {
		return errors.New("single turn requests end with a user role or a function response")
	}
	return signed(in, words)
}

// signed checks the signatures since the user's last words.
func signed(in geminiBody, words int) error {
	for i, c := range in.Contents[words:] {
		for _, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if !strings.HasPrefix(p.ThoughtSignature, signs) && p.ThoughtSignature != unasked {
				return fmt.Errorf("function call is missing a thought_signature in contents %d: %s", words+i, p.FunctionCall.Name)
			}
			break
		}
	}
	return nil
}

// sorted returns the calls and results of a message, and whether it has a text. After a resume Gemini CLI
// sends a result twice.
func sorted(parts []geminiPart) (calls, results []string, text bool) {
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			calls = append(calls, p.FunctionCall.Name+p.FunctionCall.ID)
		case p.FunctionResponse != nil && !slices.Contains(results, p.FunctionResponse.Name+p.FunctionResponse.ID):
			results = append(results, p.FunctionResponse.Name+p.FunctionResponse.ID)
		case p.Text != "":
			text = true
		}
	}
	return calls, results, text
}
