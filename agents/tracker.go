package agents

import (
	"slices"
	"strings"

	"flame/core"
)

// A Tracker puts together what messages tell of sessions and agents, in whatever
// order they come: an agent may be met by its id before the call that started it,
// and by that before its parent.
type Tracker struct {
	names    map[string]*sighting // by idName, callName
	order    []*sighting          // as they were met
	torn     []string
	unread   []UnreadLog
	messages int
	unknown  int
}

// NewTracker gives one that has seen nothing.
func NewTracker() *Tracker { return &Tracker{names: map[string]*sighting{}} }

// A sighting is what is known under one or more names.
type sighting struct {
	same    *sighting // it turned out to be that one; nothing here counts
	host    string
	session string
	id      string
	call    string
	spawned bool // it is an agent
	talks   bool // it is a session: messages are its own
	parent  string
	caller  *sighting // that made the call

	note     core.AgentNote // all notes together
	told     core.AgentState
	seen     core.AgentState // by its own answers
	prompt   string
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

func idName(id string) string { return "id " + id }

// callName is a call's name. Hosts number calls anew in each session.
func callName(session, call string) string { return "call " + session + " " + call }

// newest follows what was found to be the same.
func (s *sighting) newest() *sighting {
	for s.same != nil {
		s = s.same
	}
	return s
}

// meet finds or makes the sighting of these names, one of which may be empty; nil
// where both are.
func (t *Tracker) meet(session, id, call string) *sighting {
	var found *sighting
	for _, name := range []string{idName(id), callName(session, call)} {
		if name == idName("") || name == callName(session, "") {
			continue
		}
		known, ok := t.names[name]
		switch {
		case !ok && found == nil:
			found = &sighting{answers: map[string]core.Usage{}, calls: map[string]bool{}}
			t.order = append(t.order, found)
		case ok && found == nil:
			found = known.newest()
		case ok && known.newest() != found:
			if known = known.newest(); known.id != "" && found.id != "" {
				continue // one call may start several agents
			}
			known.merge(found)
			found = known
		}
		t.names[name] = found
		found.id = firstOf(found.id, id)
	}
	if found == nil {
		return nil
	}
	found.session, found.call = firstOf(found.session, session), firstOf(found.call, call)
	return found
}

// merge adds to s what is known of other, which is the same.
func (s *sighting) merge(other *sighting) {
	other.same = s
	s.host, s.session = firstOf(s.host, other.host), firstOf(s.session, other.session)
	s.id, s.call, s.parent = firstOf(s.id, other.id), firstOf(s.call, other.call), firstOf(s.parent, other.parent)
	s.spawned, s.talks = s.spawned || other.spawned, s.talks || other.talks
	if s.caller == nil {
		s.caller = other.caller
	}
	note := other.note
	note.State, note.Turn = other.told, core.Usage{}
	s.learn(note)
	s.turns, s.treeCost = s.turns.Add(other.turns), max(s.treeCost, other.treeCost)
	s.prompt, s.words, s.failure = firstOf(s.prompt, other.prompt), firstOf(other.words, s.words), firstOf(other.failure, s.failure)
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

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// at takes in a time at which it lived.
func (s *sighting) at(t core.Millis) {
	if t == 0 {
		return
	}
	if s.first == 0 || t < s.first {
		s.first = t
	}
	s.last = max(s.last, t)
}

// Add takes in a message of one of the host's logs.
func (t *Tracker) Add(host string, m core.Message) {
	t.messages++
	if m.Unknown() {
		t.unknown++
		return
	}
	for _, n := range m.Notes {
		if s := t.meet(m.Session, n.ID, n.Call); s != nil {
			s.host = host
			s.learn(n)
		}
	}
	if m.Role == core.RoleOther {
		return
	}
	s := t.speaker(m)
	if s == nil {
		return
	}
	s.host = host
	s.hear(m)
	for _, p := range m.Parts {
		t.call(m.Session, s, p)
	}
}

// speaker is whose message it is.
func (t *Tracker) speaker(m core.Message) *sighting {
	if m.Agent == "" && m.SpawnCall == "" {
		s := t.meet(m.Session, m.Session, "")
		if s != nil {
			s.talks = true
		}
		return s
	}
	s := t.meet(m.Session, m.Agent, m.SpawnCall)
	s.spawned = true
	return s
}

// call takes in a call that the speaker made, or what became of it.
func (t *Tracker) call(session string, speaker *sighting, p core.Part) {
	started, ok := t.names[callName(session, p.CallID)]
	if !ok || p.CallID == "" {
		return
	}
	started = started.newest()
	switch {
	case started == speaker:
	case p.Type == core.PartToolCall && started.caller == nil:
		started.caller = speaker
	case p.Type == core.PartToolResult && p.Failed && !started.told.Ended():
		started.told, started.note.Error = core.AgentError, firstOf(started.note.Error, p.Text)
	}
}

// learn takes in a note.
func (s *sighting) learn(n core.AgentNote) {
	known := &s.note
	s.spawned = s.spawned || n.Spawn
	s.parent = firstOf(s.parent, n.Parent)
	known.Type, known.Prompt = firstOf(known.Type, n.Type), firstOf(known.Prompt, n.Prompt)
	known.Description, known.Model = firstOf(known.Description, n.Description), firstOf(n.Model, known.Model)
	known.Result, known.Error = firstOf(n.Result, known.Result), firstOf(n.Error, known.Error)
	known.Tools, known.Denied = union(known.Tools, n.Tools), union(known.Denied, n.Denied)
	known.Tokens, known.ToolCalls = max(known.Tokens, n.Tokens), max(known.ToolCalls, n.ToolCalls)
	s.turns, s.treeCost = s.turns.Add(n.Turn), max(s.treeCost, n.TreeCostUSD)
	s.at(n.Started)
	s.at(n.Ended)
	if n.State != "" && (n.State != core.AgentInitializing || s.told == "") {
		s.told = n.State
	}
}

// union gives a and what of b is not in it, sorted.
func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// hear takes in a message of its own.
func (s *sighting) hear(m core.Message) {
	s.count++
	s.at(m.Time)
	text := ""
	for _, p := range m.Parts {
		switch {
		case p.Type == core.PartText && text == "":
			text = p.Text
		case p.Type == core.PartToolCall:
			s.calls[p.CallID] = true
		}
	}
	if m.Role == core.RoleUser {
		if !m.Summary && !m.Synthetic {
			s.prompt = firstOf(s.prompt, text)
		}
		return
	}
	s.note.Model = firstOf(m.Model, s.note.Model)
	s.words = firstOf(text, s.words)
	s.spend(m.ID, m.Usage)
	switch {
	case m.Error != "":
		s.seen, s.failure = core.AgentError, m.Error
	case m.Final:
		s.seen = core.AgentCompleted
	default:
		s.seen = core.AgentActive
	}
}

// spend takes in what an answer took. Two logs may tell the same answer, one of
// them less of it.
func (s *sighting) spend(id string, usage core.Usage) {
	usage.ToolCalls = 0 // they are counted by their ids
	if usage == (core.Usage{}) {
		return
	}
	before := s.answers[id]
	if id != "" {
		usage = fullest(before, usage)
		s.answers[id] = usage
	}
	s.spent = s.spent.Add(core.Usage{
		TokensIn: usage.TokensIn - before.TokensIn, TokensOut: usage.TokensOut - before.TokensOut,
		CacheRead: usage.CacheRead - before.CacheRead, CacheWritten: usage.CacheWritten - before.CacheWritten,
		CostUSD: usage.CostUSD - before.CostUSD,
	})
}

// fullest takes the larger of each.
func fullest(a, b core.Usage) core.Usage {
	return core.Usage{
		TokensIn: max(a.TokensIn, b.TokensIn), TokensOut: max(a.TokensOut, b.TokensOut),
		CacheRead: max(a.CacheRead, b.CacheRead), CacheWritten: max(a.CacheWritten, b.CacheWritten),
		CostUSD: max(a.CostUSD, b.CostUSD), ToolCalls: max(a.ToolCalls, b.ToolCalls),
	}
}

// isNode reports whether it is a session or an agent; notes may be of neither.
func (s *sighting) isNode() bool { return s.same == nil && (s.spawned || s.talks) }

// isChild reports whether something must have started it.
func (s *sighting) isChild() bool { return s.spawned || s.parent != "" }

// parents gives for each node that one which started it, and the other way
// round. What would close a circle is left out, as is a parent that no log knows.
func (t *Tracker) parents() (above map[*sighting]*sighting, children map[*sighting][]*sighting) {
	above, children = map[*sighting]*sighting{}, map[*sighting][]*sighting{}
	tops := map[*sighting]*sighting{} // some node further up
	for _, s := range t.order {
		parent := t.parentOf(s)
		if !s.isNode() || parent == nil || topOf(tops, parent) == s {
			continue
		}
		above[s], tops[s] = parent, parent
		children[parent] = append(children[parent], s)
	}
	return above, children
}

// topOf is the root above s so far. It shortens the way for the next time.
func topOf(tops map[*sighting]*sighting, s *sighting) *sighting {
	top := s
	for tops[top] != nil {
		top = tops[top]
	}
	for s != top {
		s, tops[s] = tops[s], top
	}
	return top
}

// parentOf is what started s, if it is known: what a log says outright goes
// before who made the call.
func (t *Tracker) parentOf(s *sighting) *sighting {
	parent := s.caller
	if first, ok := t.names[callName(s.session, s.call)]; ok && s.call != "" && parent == nil {
		parent = first.newest().caller
	}
	if named, ok := t.names[idName(s.parent)]; ok && s.parent != "" {
		parent = named
	}
	if parent == nil || !parent.newest().isNode() {
		return nil
	}
	return parent.newest()
}

// node is all that is known, but for its place.
func (s *sighting) node() TrailNode {
	usage := fullest(s.spent, s.turns)
	usage.ToolCalls = max(int64(len(s.calls)), s.note.ToolCalls)
	n := TrailNode{
		ID: firstOf(s.id, s.call), Kind: KindSession, Host: s.host, Session: s.session, Call: s.call,
		Type: s.note.Type, Description: s.note.Description, Prompt: firstOf(s.note.Prompt, s.prompt), Model: s.note.Model,
		Tools: s.note.Tools, Denied: s.note.Denied, State: s.state(), Result: firstOf(s.note.Result, s.words),
		Usage: usage, ContextTokens: s.note.Tokens, Messages: s.count, Started: s.first,
	}
	if s.isChild() {
		n.Kind = KindSubagent
	}
	if n.State.Ended() {
		n.Ended = s.last
	}
	if n.State == core.AgentError {
		n.Error = firstOf(s.note.Error, s.failure)
	}
	n.Prompt = strings.TrimSpace(n.Prompt)
	return n
}

// state weighs what others told of it against its own last answer.
func (s *sighting) state() core.AgentState {
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
