package rules

import (
	"encoding/json"
	"time"
)

// Limits of the API's cache.
const (
	lookBack = 20  // blocks before a mark at which it still finds an entry
	shortest = 512 // tokens of an entry
)

// A cache remembers the beginnings of requests at their marks, each until it was unused for its
// lifetime.
type cache map[string]time.Time // by digest: when it ends

// A size is the tokens of a request: found in the cache, put into it, all.
type size struct{ all, read, written int }

// count looks a request's blocks up, and leaves entries at its marks.
func (c cache) count(model string, blocks []Block, tokens func(string) int, now time.Time) size {
	digests, sums := make([]string, len(blocks)), make([]int, len(blocks))
	past, sum := digest(model), 0
	for i, b := range blocks {
		past, sum = digest(past, b.plain), sum+tokens(b.plain)
		digests[i], sums[i] = past, sum
	}
	s := size{all: sum}
	hit, upTo := -1, 0
	for i, b := range blocks {
		if !b.Marked {
			continue
		}
		for j := i; j > max(hit, i-lookBack) && j >= 0; j-- {
			if now.Before(c[digests[j]]) {
				hit = j
				break
			}
		}
		upTo = sums[i]
	}
	if hit >= 0 {
		s.read = sums[hit]
		c.keep(digests[hit], now.Add(shortLife))
	}
	if upTo >= shortest {
		s.written = max(0, upTo-s.read)
	}
	for i, b := range blocks {
		if b.Marked && sums[i] >= shortest {
			c.keep(digests[i], now.Add(b.Life))
		}
	}
	return s
}

// keep never shortens a lifetime.
func (c cache) keep(entry string, until time.Time) {
	if until.After(c[entry]) {
		c[entry] = until
	}
}

// shortestPrefix is the number of tokens from which OpenAI and Google keep the beginning of a prompt.
const shortestPrefix = 1024

// Read reads a request to an API that caches the beginnings of all prompts by itself. Its body is in
// the API's own form, except what the rules need.
type Read func(raw []byte) Body

// Responses reads a request to OpenAI's Responses API: each item is a message. The newer models ask a
// price for the tokens that they put into the cache.
func Responses(raw []byte) Body {
	var in struct {
		Instructions, Tools json.RawMessage
		Input               json.RawMessage
	}
	if json.Unmarshal(raw, &in) != nil {
		return Body{}
	}
	b := Body{Tools: blocks(in.Tools), System: blocks(in.Instructions), Paid: true}
	for _, item := range blocks(in.Input) {
		if item.Type == "reasoning" {
			item.Signature = item.ID
		}
		b.Messages = append(b.Messages, Message{Blocks: []Block{item}})
	}
	return b
}

// Contents reads a request to Google's generateContent API.
func Contents(raw []byte) Body {
	type content struct{ Parts json.RawMessage }
	var in struct {
		SystemInstruction content
		Tools             json.RawMessage
		Contents          []content
	}
	if json.Unmarshal(raw, &in) != nil {
		return Body{}
	}
	b := Body{Tools: blocks(in.Tools), System: blocks(in.SystemInstruction.Parts)}
	for _, c := range in.Contents {
		b.Messages = append(b.Messages, Message{Blocks: blocks(c.Parts)})
	}
	return b
}

// Count counts a request to such an API. refused is why the API's own rules refuse it; nil: it is
// answered.
func (j *Judge) Count(session string, body Body, refused error) Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	stats := j.of(session)
	stats.Requests++
	if refused != nil {
		return j.refuse(stats, refused)
	}
	sent := body.all()
	for _, b := range sent {
		if b.Signature != "" {
			stats.Thinking++
		}
	}
	s := size{}
	if j.options.Cache {
		s = j.cache.begun(body.Model, sent, j.options.Tokens, j.options.Now())
	}
	if body.Paid {
		s.written = s.all - s.read
	}
	return j.sum(stats, s)
}

// begun looks a request up by its beginnings, and keeps all of them.
func (c cache) begun(model string, blocks []Block, tokens func(string) int, now time.Time) (s size) {
	past := digest(model)
	for _, b := range blocks {
		past, s.all = digest(past, b.plain), s.all+tokens(b.plain)
		if s.all < shortestPrefix {
			continue
		}
		if now.Before(c[past]) {
			s.read = s.all
		}
		c.keep(past, now.Add(shortLife))
	}
	return s
}
