// Package rules models how the Messages API treats a request: the protocol of messages, thinking
// that is bound to its past, the prompt cache. It also has the items and the caches of the other
// APIs. Package model enforces it on clients; Obeys is for
// code that makes messages.
package rules

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// Options choose the rules. The zero Options refuse nothing and count tokens as four bytes each.
type Options struct {
	Protocol bool // refuse requests that break it
	// Bound signs thinking. The API refuses a request that sends it back after another past, or if
	// the request asks for that, drops this block and all later ones.
	Bound  bool
	Cache  bool
	Tokens func(text string) int
	Now    func() time.Time
}

// Stats are sums over requests.
type Stats struct {
	Requests int `json:"requests"`
	Rejected int `json:"rejected"`
	Thinking int `json:"thinking"` // blocks of thinking that were sent
	Dropped  int `json:"dropped"`  // blocks that did not fit; a block sent five times counts five times
	Tokens   int `json:"tokens"`   // of requests that were not rejected: Read, Written and Uncached
	Read     int `json:"read"`
	Written  int `json:"written"`
	Uncached int `json:"uncached"`
	Out      int `json:"out"`
	Peak     int `json:"peak"` // tokens of the largest request
}

// A Judge applies rules to the requests of any number of sessions.
type Judge struct {
	options Options

	mu       sync.Mutex
	cache    cache
	sessions map[string]*Stats
	reasons  map[string]int
}

// New returns a Judge that has seen nothing.
func New(o Options) *Judge {
	if o.Tokens == nil {
		o.Tokens = func(text string) int { return (len(text) + 3) / 4 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Judge{options: o, cache: cache{}, sessions: map[string]*Stats{}, reasons: map[string]int{}}
}

// A Verdict is the decision on one request.
type Verdict struct {
	Refused   error  // nil: it is answered
	Signature string // for thinking in the answer; empty if thinking is not bound
	Cached    bool   // the figures below are known
	Read      int    // tokens found in the cache
	Written   int    // tokens put into it
	Uncached  int
}

// Judge decides on a request of a session.
func (j *Judge) Judge(session string, raw []byte) Verdict {
	body, err := Parse(raw)
	j.mu.Lock()
	defer j.mu.Unlock()
	stats := j.of(session)
	stats.Requests++
	var v Verdict
	if err == nil {
		v, err = j.decide(body, stats)
	}
	if err != nil {
		return j.refuse(stats, err)
	}
	return v
}

func (j *Judge) refuse(stats *Stats, err error) Verdict {
	stats.Rejected++
	j.reasons[err.Error()]++
	return Verdict{Refused: err}
}

func (j *Judge) decide(body Body, stats *Stats) (Verdict, error) {
	if j.options.Protocol {
		if err := body.Obeys(); err != nil {
			return Verdict{}, err
		}
	}
	signature, sent := "", body.all()
	if j.options.Bound {
		thinking := look(body)
		stats.Thinking += thinking.total
		if thinking.bad != "" && !body.DropBlock {
			return Verdict{}, fmt.Errorf("%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "+
				"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"", thinking.bad)
		}
		stats.Dropped += thinking.total - thinking.good
		signature, sent = thinking.next, without(sent, thinking.good)
	}
	used := j.cache
	if !j.options.Cache {
		used = cache{}
	}
	s := used.count(body.Model, sent, j.options.Tokens, j.options.Now())
	if !j.options.Cache {
		s.read, s.written = 0, 0
	}
	v := j.sum(stats, s)
	v.Signature = signature
	return v, nil
}

// sum adds the size of an accepted request.
func (j *Judge) sum(stats *Stats, s size) Verdict {
	v := Verdict{Cached: j.options.Cache, Read: s.read, Written: s.written, Uncached: s.all - s.read - s.written}
	stats.Tokens += s.all
	stats.Read += v.Read
	stats.Written += v.Written
	stats.Uncached += v.Uncached
	stats.Peak = max(stats.Peak, s.all)
	return v
}

// without removes all thinking except the first keep blocks.
func without(blocks []Block, keep int) []Block {
	out := make([]Block, 0, len(blocks))
	for _, b := range blocks {
		if b.isThinking() {
			if keep == 0 {
				continue
			}
			keep--
		}
		out = append(out, b)
	}
	return out
}

// Answered counts the tokens of an answer's blocks, which it returns.
func (j *Judge) Answered(session string, blocks ...string) (tokens int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range blocks {
		tokens += j.options.Tokens(b)
	}
	j.of(session).Out += tokens
	return tokens
}

func (j *Judge) of(session string) *Stats {
	if j.sessions[session] == nil {
		j.sessions[session] = &Stats{}
	}
	return j.sessions[session]
}

// Sessions returns the sums for each session.
func (j *Judge) Sessions() map[string]Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make(map[string]Stats, len(j.sessions))
	for session, stats := range j.sessions {
		out[session] = *stats
	}
	return out
}

// Stats returns the sums over all sessions.
func (j *Judge) Stats() Stats {
	var sum Stats
	for _, s := range j.Sessions() {
		sum.Requests += s.Requests
		sum.Rejected += s.Rejected
		sum.Thinking += s.Thinking
		sum.Dropped += s.Dropped
		sum.Tokens += s.Tokens
		sum.Read += s.Read
		sum.Written += s.Written
		sum.Uncached += s.Uncached
		sum.Out += s.Out
		sum.Peak = max(sum.Peak, s.Peak)
	}
	return sum
}

// Reasons returns why requests were refused, and how often.
func (j *Judge) Reasons() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.reasons)
}
