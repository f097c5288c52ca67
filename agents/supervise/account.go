package supervise

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
)

// An account is what an agent's lines have said so far.
type account struct {
	Progress
	known   bool // a line known to a reader has come, so the host is running
	answer  string
	spoken  string          // id of the answer that Text is of
	counted int64           // reasoning tokens, as the host counts
	sure    core.Usage      // of finished turns and processes; the rest is from answers
	done    bool            // the host said that the turn is over, or that the model's answer was its last
	settled bool            // it said so explicitly
	failed  string          // why there is no answer; empty: there is one, or the turn is not over
	words   []byte          // what it printed that is no JSON: the last lines, at most 3 times maxStderr bytes
	running map[string]bool // agents of its own that it said are at work
	refused []string        // tools that it was not allowed to use, each once
	spent   float64         // earlier cost of the session, in US dollars
	repeats repeats
}

// begin prepares the account for another process of the host. What an earlier
// one used stays counted, even for a turn that did not finish.
func (a *account) begin() {
	a.known, a.done, a.settled, a.failed, a.words, a.running = false, false, false, "", nil, map[string]bool{}
	a.sure = a.Usage
}

// note records what a line means. What the host says of the session counts more than that the agent
// spoke, so it comes after it: OpenCode does both in one line.
func (a *account) note(m core.Message) {
	if m.Agent == "" && m.SpawnCall == "" { // no subagent of the host's own
		if m.Session != "" {
			a.Session, a.known = m.Session, true
		}
		a.follow(m)
	}
	for _, n := range m.Notes {
		switch {
		case n.ID == a.Session:
			a.hear(n)
		case n.State.Ended():
			delete(a.running, n.ID)
		case n.Spawn && len(a.running) < maxRunning:
			a.running[n.ID] = true
		}
	}
}

func (a *account) follow(m core.Message) {
	switch m.Role {
	case core.RoleAssistant:
		a.listen(m)
	case core.RoleUser:
		a.done, a.settled = false, false // another turn
		for _, part := range m.Parts {
			if part.Type == core.PartToolResult {
				a.repeats.result(part)
			}
		}
	}
	if m.Error != "" {
		a.failed, a.done = m.Error, true
	}
}

// maxRunning bounds how many agents of a host are told apart.
const maxRunning = 1000

// overhear records a line that is no JSON: a host that cannot begin may say why in plain words.
// There may be millions, so the words are cut only once they have doubled.
func (a *account) overhear(line []byte) {
	a.words = append(append(a.words, line[:min(len(line), maxStderr)]...), '\n')
	if excess := len(a.words) - maxStderr; excess > maxStderr {
		a.words = append(a.words[:0], a.words[excess:]...)
	}
}

func (a *account) listen(m core.Message) {
	a.known, a.failed, a.settled = true, "", false
	a.done = m.Final && m.Error == ""
	if used := m.Usage; a.Metered {
		a.Usage.ToolCalls += used.ToolCalls
	} else {
		a.Usage = a.Usage.Add(used)
	}
	a.Model = cmp.Or(m.Model, a.Model)
	a.ToolCalls += m.Usage.ToolCalls
	if m.ID != a.spoken || m.ID == "" {
		a.spoken, a.answer = m.ID, ""
		a.Turns++
		a.repeats.stale++ // until it says or asks something new
	}
	for _, part := range m.Parts {
		switch part.Type {
		case core.PartText:
			if m.Error == "" {
				a.repeats.fresh(digest("text", part.Text))
				a.answer = strings.TrimSpace(a.answer + "\n" + part.Text)
			}
		case core.PartReasoning:
			if a.counted == 0 {
				a.Thinking += int64(core.EstimateTokens(part.Text))
			}
		case core.PartToolCall:
			a.LastTool = part.Tool
			a.repeats.call(part)
		case core.PartToolResult:
			a.repeats.result(part)
		}
	}
	if a.answer != "" {
		a.Text = a.answer
	}
}

// hear records what the host says about the session itself.
func (a *account) hear(n core.AgentInfo) {
	if n.Total != (core.Usage{}) {
		n.Turn = n.Turn.Add(n.Total.Minus(a.SessionUsage))
		a.SessionUsage = n.Total
	}
	if n.Turn != (core.Usage{}) && !a.Metered {
		calls := a.Usage.ToolCalls
		a.sure = a.sure.Add(n.Turn)
		a.Usage, a.Usage.ToolCalls = a.sure, calls
	}
	if n.Thinking > 0 { // the host counts, so no estimate is needed
		a.counted += n.Thinking
		a.Thinking = a.counted
	}
	if len(n.Refused) > 0 {
		a.refused = lo.Union(a.refused, n.Refused)
	}
	a.SessionUSD = max(a.SessionUSD, n.TreeCostUSD)
	if !a.Metered {
		a.TreeUSD = max(a.SessionUSD-a.spent, 0)
	}
	switch n.State {
	case core.AgentActive:
		a.done, a.settled = false, false // another turn
	case core.AgentCompleted:
		a.done, a.settled, a.failed = true, true, ""
		if n.Result != "" {
			a.Text = n.Result
		}
	case core.AgentError, core.AgentCancelled, core.AgentTimeout:
		a.done, a.settled, a.failed = true, true, n.Error
		if a.failed == "" {
			a.failed = "the host gave no reason"
		}
	}
}

// The reasons to stop an agent for its usage.
const (
	TokenBudget = "token budget"
	CostBudget  = "cost budget"
	TreeBudget  = "the budget of all agents below this session is used"
)

// OverBudget reports whether a reason to stop an agent is that a budget was used.
func OverBudget(reason string) bool {
	return reason == TokenBudget || reason == CostBudget || reason == TreeBudget
}

// UsedUp returns the reason to stop an agent that has used its budget, or "" if it has not.
func (l Limits) UsedUp(p Progress) string {
	switch {
	case l.Tokens > 0 && p.Tokens() >= l.Tokens:
		return TokenBudget
	case l.CostUSD > 0 && p.Cost() >= l.CostUSD:
		return CostBudget
	}
	return ""
}

// over returns the reason to stop the agent for exceeding a limit, or "" if it exceeds none.
func (a *account) over(l Limits) string {
	if used := l.UsedUp(a.Progress); used != "" {
		return used
	}
	switch {
	case l.SameCalls > 0 && a.repeats.same >= l.SameCalls:
		return "loop: the same tool call again and again"
	case l.Stale > 0 && a.repeats.stale >= l.Stale:
		return "loop: answers and tool calls that bring nothing new"
	}
	return ""
}

// repeats detects an agent that goes around in circles.
type repeats struct {
	last  uint64
	same  int // identical calls in a row
	stale int // consecutive answers with nothing new
	seen  map[uint64]bool
}

// waiting reports whether a call is repeated for good reason. A call of another tool through
// flame_more names that tool in its arguments.
func waiting(part core.Part) bool {
	called := part.Tool
	if strings.HasSuffix(called, string(op.More)) {
		var in struct{ Tool string }
		_ = json.Unmarshal(part.Input, &in) // without a name it is no waiting
		called = in.Tool
	}
	return strings.HasSuffix(called, string(op.AgentWait)) || strings.HasSuffix(called, string(op.AgentStatus))
}

func (r *repeats) call(part core.Part) {
	if waiting(part) {
		return
	}
	key := digest(part.Tool, canonical(part.Input))
	if key == r.last {
		r.same++
	} else {
		r.last, r.same = key, 1
	}
	r.fresh(key)
}

func (r *repeats) result(part core.Part) { r.fresh(digest("result", part.Text)) }

func (r *repeats) fresh(key uint64) {
	if r.seen == nil {
		r.seen = map[uint64]bool{}
	}
	if !r.seen[key] {
		r.seen[key], r.stale = true, 0
	}
}

// canonical returns JSON with sorted members; anything else stays as it is.
func canonical(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			return string(sorted)
		}
	}
	return string(raw)
}

func digest(kind, text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind + "\x00" + text)) // a hash takes all
	return h.Sum64()
}

// ReadProgress returns an agent's progress and last words from its output, in a
// session that had cost spent USD, and used that much, before.
func ReadProgress(dir string, spent float64, used core.Usage, read func(line []byte) core.Message) (Progress, string) {
	a := account{spent: spent, Progress: Progress{SessionUsage: used}}
	a.begin()
	for m := range Printed(dir, read) {
		a.note(m)
	}
	p := a.Progress
	p.Text = ""
	return p, a.Text
}

// A Meter has the usage of an agent's requests as a gateway measures it. Flame then ignores
// the usage in the agent's output.
type Meter struct {
	// Close ends the gateway after the host has ended; then all usage has been measured.
	Close func()

	mu         sync.Mutex
	own, below core.Usage
}

// Add adds the usage of one request, by the agent itself or by a subagent of its host.
func (m *Meter) Add(used core.Usage, below bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if below {
		m.below = m.below.Add(used)
	} else {
		m.own = m.own.Add(used)
	}
}

// measure adopts the usage measured so far.
func (a *account) measure(m *Meter) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Progress = a.MeteredAs(Progress{Usage: m.own, SubagentUsage: m.below})
}
