package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A nodeFacts has everything that is known of one session, agent or call, under one or more
// names.
type nodeFacts struct {
	same    *nodeFacts // it turned out to be that one; the rest of this one is void
	host    string
	session string
	id      string
	call    string
	spawned bool   // it is an agent
	talks   bool   // it is a session: messages are its own
	flames  bool   // flame started it, or was asked to
	agent   string // flame's name for it
	frame   string // of flame, in which it works
	parent  string
	caller  *nodeFacts // that made the call

	note     core.AgentInfo // all notes together
	told     core.AgentState
	seen     core.AgentState // judging by its own answers
	prompt   string          // the first that the model was asked
	command  string          // the last one of Claude Code's that a person gave, until it is known who carries it out
	local    string          // the first that the client carried out by itself
	words    string
	failure  string
	first    core.Millis
	last     core.Millis
	count    int
	answers  map[string]core.Usage // by message
	calls    map[string]bool
	spent    core.Usage // by answers
	turns    core.Usage // by the ends of turns
	treeCost float64
}

// newest follows the chain of sightings that turned out to be the same.
func (s *nodeFacts) newest() *nodeFacts {
	for s.same != nil {
		s = s.same
	}
	return s
}

// merge adds the content of other, facts on the same thing, to s.
func (s *nodeFacts) merge(other *nodeFacts) {
	other.same = s
	s.host, s.session = cmp.Or(s.host, other.host), cmp.Or(s.session, other.session)
	s.id, s.call, s.parent = cmp.Or(s.id, other.id), cmp.Or(s.call, other.call), cmp.Or(s.parent, other.parent)
	s.spawned, s.talks, s.flames = s.spawned || other.spawned, s.talks || other.talks, s.flames || other.flames
	s.agent, s.frame = cmp.Or(s.agent, other.agent), cmp.Or(s.frame, other.frame)
	if s.caller == nil {
		s.caller = other.caller
	}
	note := other.note
	note.State, note.Turn = other.told, core.Usage{}
	s.learn(note)
	s.turns, s.treeCost = s.turns.Add(other.turns), max(s.treeCost, other.treeCost)
	s.prompt, s.words, s.failure = cmp.Or(s.prompt, other.prompt), cmp.Or(other.words, s.words), cmp.Or(other.failure, s.failure)
	if other.seen != "" {
		s.seen = other.seen
	}
	s.at(other.first)
	s.at(other.last)
	s.count += other.count
	for id, usage := range other.answers {
		s.spend(id, usage)
	}
	for call := range other.calls {
		s.calls[call] = true
	}
}

// at records a time at which it was alive.
func (s *nodeFacts) at(t core.Millis) {
	if t == 0 {
		return
	}
	if s.first == 0 || t < s.first {
		s.first = t
	}
	s.last = max(s.last, t)
}

func (s *nodeFacts) learn(n core.AgentInfo) {
	known := &s.note
	s.spawned = s.spawned || n.Spawn
	s.parent = cmp.Or(s.parent, n.Parent)
	known.Type, known.Prompt = cmp.Or(known.Type, n.Type), cmp.Or(known.Prompt, n.Prompt)
	known.Description, known.Model = cmp.Or(known.Description, n.Description), cmp.Or(n.Model, known.Model)
	known.Result, known.Error = cmp.Or(n.Result, known.Result), cmp.Or(n.Error, known.Error)
	known.Tools, known.Denied = union(known.Tools, n.Tools), union(known.Denied, n.Denied)
	known.Tokens, known.ToolCalls = max(known.Tokens, n.Tokens), max(known.ToolCalls, n.ToolCalls)
	if n.Total != (core.Usage{}) {
		s.turns = n.Total
	}
	s.turns, s.treeCost = s.turns.Add(n.Turn), max(s.treeCost, n.TreeCostUSD)
	s.at(n.Started)
	s.at(n.Ended)
	if n.State != "" && (n.State != core.AgentInitializing || s.told == "") {
		s.told = n.State
	}
}

// union returns a and those of b that are not in it, sorted.
func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *nodeFacts) hear(m core.Message) {
	s.count++
	s.at(m.Time)
	text := ""
	for _, p := range m.Parts {
		switch {
		case p.Type == core.PartText && text == "":
			text = p.Text
		case p.Type == core.PartToolCall && !m.Copied:
			s.calls[p.CallID] = true
		}
	}
	if m.Role == core.RoleUser {
		s.ask(m)
		if !m.Summary && !m.Synthetic {
			if s.seen == core.AgentCompleted && text != "" && !strings.HasPrefix(text, "<command-") {
				s.seen = core.AgentActive // a prompt that is not answered yet
			}
		}
		return
	}
	s.prompt = cmp.Or(s.prompt, s.command) // the model was asked to do it
	s.note.Model = cmp.Or(m.Model, s.note.Model)
	s.words = cmp.Or(text, s.words)
	s.spend(m.ID, cmp.Or(m.Whole, m.Usage))
	switch {
	case m.Error != "":
		s.seen, s.failure = core.AgentError, m.Error
	case m.Final:
		s.seen = core.AgentCompleted
	default:
		s.seen = core.AgentActive
	}
}

// ask takes the session's first prompt from a message of the user's: not what the client adds to it,
// nor a command that the client carried out by itself.
func (s *nodeFacts) ask(m core.Message) {
	if m.Synthetic && len(m.Parts) > 0 && strings.HasPrefix(m.Parts[0].Text, "<local-command-") {
		s.local, s.command = cmp.Or(s.local, s.command), ""
	}
	if m.Summary || m.Synthetic || s.prompt != "" {
		return
	}
	var words []string
	for _, p := range m.Parts {
		if p.Type != core.PartText {
			continue // outputs are long
		}
		if text := strings.TrimSpace(added().ReplaceAllString(p.Text, "")); text != "" {
			words = append(words, text)
		}
	}
	prompt := strings.Join(words, "\n")
	if name := commandIn(prompt); name != "" && !strings.HasPrefix(name, flameCommand) {
		s.command = strings.TrimSpace(name + " " + element(prompt, "command-args"))
		return
	}
	s.prompt = cmp.Or(s.prompt, prompt)
}

// asked returns what the session was asked first; without a prompt, the command that a person gave.
func (s *nodeFacts) asked() string { return cmp.Or(s.prompt, s.local, s.command) }

// added finds what Claude Code adds to prompts: its own words, what is open in an editor, and commands of
// the shell with their output.
var added = core.Pattern(`(?s)^\[Request interrupted by user[^\]]*\]|<system-reminder>.*?</system-reminder>|<ide_opened_file>.*?</ide_opened_file>|` +
	`<ide_selection>.*?</ide_selection>|<bash-input>.*?</bash-input>|<bash-stdout>.*?</bash-stdout>|<bash-stderr>.*?</bash-stderr>`)

// spend records the usage of an answer. Two logs may report the same answer,
// one of them incompletely.
func (s *nodeFacts) spend(id string, usage core.Usage) {
	usage.ToolCalls = 0 // they are counted by their ids
	if usage == (core.Usage{}) {
		return
	}
	before := s.answers[id]
	if id != "" {
		usage = before.Max(usage)
		s.answers[id] = usage
	}
	s.spent = s.spent.Add(usage.Minus(before))
}

// isNode reports whether it is a session or an agent; notes may be about
// neither.
func (s *nodeFacts) isNode() bool { return s.same == nil && (s.spawned || s.talks) }

// isChild reports whether something must have started it.
func (s *nodeFacts) isChild() bool { return s.spawned || s.parent != "" }

// node returns everything known except its place.
func (s *nodeFacts) node() LogNode {
	usage := s.spent.Max(s.turns)
	usage.ToolCalls = max(int64(len(s.calls)), s.note.ToolCalls)
	n := LogNode{
		ID: cmp.Or(s.id, s.agent, s.call), Kind: KindSession, Agent: s.agent, Frame: s.frame, Host: s.host, Session: s.session, Call: s.call,
		Type: s.note.Type, Description: s.note.Description, Prompt: cmp.Or(s.note.Prompt, s.asked()), Model: s.note.Model,
		Tools: s.note.Tools, Denied: s.note.Denied, State: s.state(), Result: cmp.Or(s.note.Result, s.words),
		Usage: usage, ContextTokens: s.note.Tokens, Messages: s.count, Started: s.first,
	}
	if s.isChild() {
		n.Kind = KindSubagent
	}
	if s.flames { // its own session's log has its prompt verbatim
		n.Session, n.Prompt = s.id, cmp.Or(s.asked(), s.note.Prompt)
	}
	if n.State.Ended() {
		n.Ended = s.last
	}
	if n.State == core.AgentError {
		n.Error = cmp.Or(s.note.Error, s.failure)
	}
	n.Prompt = request(n.Prompt)
	return n
}

// state combines what others said about it with its own last answer.
func (s *nodeFacts) state() core.AgentState {
	switch {
	case s.told.Ended() && s.told != core.AgentCompleted:
		return s.told
	case s.seen == core.AgentError:
		return s.seen
	case s.told == core.AgentCompleted, s.seen == "" && s.told != "":
		return s.told
	case s.seen != "":
		return s.seen
	}
	return core.AgentInitializing
}

// Trail returns what is known so far. Agents whose parent no log has named yet
// are roots until one does, as are those whose parents form a cycle.
func (t *Tracker) Trail() LogGraph {
	trail := t.logs
	trail.Torn, trail.Unread = slices.Clone(trail.Torn), slices.Clone(trail.Unread)
	nodes := lo.Filter(t.order, func(s *nodeFacts, _ int) bool { return s.isNode() })
	// In the order of time; those without a time come last, as they were met.
	slices.SortStableFunc(nodes, func(a, b *nodeFacts) int { return cmp.Compare(uint64(a.first-1), uint64(b.first-1)) })
	places := map[*nodeFacts]int{}
	for place, s := range nodes {
		places[s] = place
	}
	trees := forestOf(lo.Map(nodes, func(s *nodeFacts, _ int) int {
		if parent := t.parentOf(s); parent != nil {
			return places[parent]
		}
		return none
	}))
	drawn := make([]LogNode, len(nodes))
	for _, place := range trees.order {
		s, n := nodes[place], nodes[place].node()
		if above := trees.parent[place]; above != none {
			n.Parent, n.Depth = drawn[above].ID, drawn[above].Depth+1
		} else if n.Unparented = s.isChild(); n.Unparented && t.names[idName(s.parent)] == nil {
			n.Parent = s.parent // which is not in the logs
		}
		drawn[place] = n
		trail.Nodes = append(trail.Nodes, n)
	}
	t.priceTrees(trail.Nodes)
	return trail
}

// parentOf returns what started s, if known: what a log states outright takes
// precedence over who made the call.
func (t *Tracker) parentOf(s *nodeFacts) *nodeFacts {
	parent := s.caller
	if first, ok := t.names[callName(s.session, s.call)]; ok && parent == nil {
		parent = first.newest().caller
	}
	if named, ok := t.names[idName(s.parent)]; ok {
		parent = named
	}
	if parent == nil || !parent.newest().isNode() {
		return nil
	}
	return parent.newest()
}

// priceTrees assigns to each session that knows its total cost, descendants
// included, the part that none of those account for: as cost of its own if that is
// not known or there are none, else as untold. Agents of flame's are not part of
// what their caller's host counts. Nodes come parents first.
func (t *Tracker) priceTrees(nodes []LogNode) {
	below := map[string]float64{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if s, ok := t.names[idName(n.ID)]; ok {
			if s.newest().treeCost > 0 {
				n.Usage.Unpriced = 0 // the host told what all cost
			}
			rest := max(0, s.newest().treeCost-below[n.ID]-n.Usage.CostUSD)
			if _, parent := below[n.ID]; parent && n.Usage.CostUSD > 0 && rest > roundingUSD {
				n.UnreportedUSD = rest
			} else {
				n.Usage.CostUSD += rest
			}
		}
		if n.Agent == "" {
			below[n.Parent] += n.Usage.CostUSD + n.UnreportedUSD + below[n.ID]
		}
	}
}

// roundingUSD is less than the price of a token.
const roundingUSD = 1e-9
