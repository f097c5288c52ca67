// Package economy finds out from a host's log what the requests of a past session were made
// of, and how much of that folding would have left out. docs/economy.md has the formulas.
package economy

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"flame/core"
)

// A Kind is a part of what a session's requests were made of.
type Kind string

// The kinds.
const (
	Fixed   Kind = "fixed"   // system prompt, instructions and descriptions of tools: the same in every request
	Words   Kind = "words"   // of the user
	Answers Kind = "answers" // of the model: text and thinking
	Calls   Kind = "calls"   // of tools
	Outputs Kind = "outputs" // of tools
	Added   Kind = "added"   // by the host: reminders, summaries of compactions, and what the log does not have
)

// A Report is what a session sent to its model. All amounts are tokens; a token that was in
// ten requests counts ten times.
type Report struct {
	Session       string         `json:"session,omitempty"`
	Model         string         `json:"model,omitempty"` // of the last answer in the first conversation
	From          core.Millis    `json:"from,omitempty"`
	To            core.Millis    `json:"to,omitempty"`
	Requests      int            `json:"requests"`
	Sent          int64          `json:"sent"`               // with those from a cache
	Written       int64          `json:"written"`            // by the model
	CostUSD       float64        `json:"costUSD"`            // 0: the log does not have it, and flame does not know the prices
	Unpriced      int64          `json:"unpriced,omitempty"` // tokens whose price is not known: CostUSD lacks them
	Largest       int64          `json:"largest"`            // request
	Compactions   int            `json:"compactions"`
	Conversations int            `json:"conversations"` // of sessions and of subagents
	Kinds         map[Kind]int64 `json:"kinds"`         // they add up to Sent
	Tools         []Share        `json:"tools"`         // outputs of each tool, the most first
	Repeated      int64          `json:"again"`         // of outputs: after the same call was made again
	Unused        int64          `json:"unused"`        // of outputs: after the last answer that used them
	Top           []Output       `json:"top,omitempty"` // the outputs that cost most
	Folding       Folding        `json:"folding"`
	Unread        []string       `json:"unread,omitempty"` // logs that are missing in it, and why
}

// A Share is the tokens that a tool's outputs had in all requests.
type Share struct {
	Tool  string `json:"tool"`
	Calls int    `json:"calls"`
	Sent  int64  `json:"sent"`
}

// An Output is one output of a tool.
type Output struct {
	Tool     string `json:"tool"`
	Of       string `json:"of"`       // the file, command or other input, one line
	Tokens   int64  `json:"tokens"`   // in one request
	Requests int    `json:"requests"` // that had it
	Sent     int64  `json:"sent"`
}

// Folding is what folding would have changed, with a frame for each prompt that ended with its last
// answer, and no call of flame's tools.
type Folding struct {
	Frames  int   `json:"frames"`
	Sent    int64 `json:"sent"`    // all requests, with flame's own part in them
	Own     int64 `json:"own"`     // that part: its instructions, tools and what it adds for each folded turn
	LeftOut int64 `json:"leftOut"` // Report.Sent less Sent; at least 0
	Largest int64 `json:"largest"` // request
}

// noteTokens is what flame adds for each turn that was left out, in tokens: its facts (core/fold).
const noteTokens = 60

// MaxListed bounds the lists of a report.
const MaxListed = 5

// Analyze reports what the sessions of logs sent; burden returns the tokens that flame adds to each request
// of a host. An error of a log ends it; the report has what came before.
func Analyze(messages iter.Seq2[core.Message, error], burden func(host string) int64) (Report, error) {
	talks, order := map[[2]string]*talk{}, []*talk(nil)
	var failed error
	for m, err := range messages {
		if err != nil {
			failed = err
			break
		}
		key := [2]string{m.Session, m.Agent + m.SpawnCall}
		t := talks[key]
		if t == nil {
			if m.Role == core.RoleOther {
				continue
			}
			t = &talk{session: m.Session, burden: burden(m.Host), from: m.Time, calls: map[string]call{}, newest: map[string]int{}, words: newWords()}
			talks[key] = t
			order = append(order, t)
		}
		t.take(m)
	}
	return sum(order), failed
}

// sum adds up conversations.
func sum(talks []*talk) Report {
	r := Report{Kinds: map[Kind]int64{}}
	tools := map[string]Share{}
	for _, t := range talks {
		if t.clear(); len(t.requests) == 0 {
			continue
		}
		r.Conversations++
		r.Session, r.Model = cmp.Or(r.Session, t.session), cmp.Or(r.Model, t.model)
		r.From, r.To = min(cmp.Or(r.From, t.from), t.from), max(r.To, t.to)
		r.Requests += len(t.requests)
		r.Written, r.Compactions = r.Written+t.written, r.Compactions+t.compactions
		r.CostUSD, r.Unpriced = r.CostUSD+t.cost, r.Unpriced+t.unpriced
		t.add(&r, tools)
	}
	r.Tools = slices.SortedFunc(maps.Values(tools), func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Sent, a.Sent), cmp.Compare(a.Tool, b.Tool))
	})
	r.Folding.LeftOut = max(0, r.Sent-r.Folding.Sent)
	return r
}
