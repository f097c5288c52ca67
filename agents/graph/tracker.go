package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project/transfer"
	"flame/transcripts"
)

// A Tracker combines what messages say about sessions and agents, in whatever
// order they come: an agent may appear by its id before the call that started
// it, and by that before its parent.
type Tracker struct {
	names       map[string]*nodeFacts // by idName, callName and frame
	startsAgent map[string]bool       // calls of flame's tools, by callName: whether they start an agent
	order       []*nodeFacts          // as they were met
	logs        LogGraph              // without nodes
	paid        transcripts.Payers
}

// NewTracker returns a tracker that has seen nothing.
func NewTracker() *Tracker {
	return &Tracker{names: map[string]*nodeFacts{}, startsAgent: map[string]bool{}, paid: transcripts.Payers{}}
}

// Add records a message of one of the host's logs.
func (t *Tracker) Add(host string, m core.Message) {
	t.logs.Messages++
	switch {
	case m.Unknown():
		t.logs.Unknown++
		return
	case m.Irrelevant:
		t.logs.Aside++
		return
	}
	for _, n := range m.Notes {
		if s := t.meet(m.Session, n.ID, n.Call, ""); s != nil {
			s.host = host
			s.learn(n)
		}
	}
	if m.Role == core.RoleOther {
		return
	}
	m = t.paid.Own(host, m)
	s := t.speaker(m)
	if s == nil {
		return
	}
	s.host = host
	first := s.prompt == ""
	s.hear(m)
	if first && s.talks {
		s = t.frame(s)
	}
	for _, p := range m.Parts {
		t.flame(m, s.newest(), p)
		t.call(m.Session, s.newest(), p)
	}
}

func (t *Tracker) read(ctx context.Context, log transcripts.Log) error {
	for m, err := range log.Messages(ctx) {
		switch {
		case errors.Is(err, transcripts.ErrIncompleteLine):
			t.logs.Torn = append(t.logs.Torn, log.Path)
		case err != nil:
			t.logs.Unread = append(t.logs.Unread, UnreadLog{Path: log.Path, Reason: err.Error()})
			return err
		default:
			t.Add(log.Host(), m)
		}
	}
	return nil
}

func (t *Tracker) speaker(m core.Message) *nodeFacts {
	if m.Agent == "" && m.SpawnCall == "" {
		s := t.meet(m.Session, m.Session, "", "")
		if s != nil {
			s.talks = true
		}
		return s
	}
	s := t.meet(m.Session, m.Agent, m.SpawnCall, "")
	s.spawned = true
	return s
}

func (t *Tracker) call(session string, speaker *nodeFacts, p core.Part) {
	started, ok := t.names[callName(session, p.CallID)]
	if !ok {
		return
	}
	started = started.newest()
	switch {
	case started == speaker:
	case p.Type == core.PartToolCall && started.caller == nil:
		started.caller = speaker
	case p.Type == core.PartToolResult && p.Failed && !started.told.Ended():
		started.told, started.note.Error = core.AgentError, cmp.Or(started.note.Error, p.Text)
	}
}

// meet finds or makes the sighting with these names, some of which may be empty;
// it returns nil if all are.
func (t *Tracker) meet(session, id, call, frame string) *nodeFacts {
	var found *nodeFacts
	for _, name := range lo.Compact([]string{idName(id), callName(session, call), named("frame", frame)}) {
		known, ok := t.names[name]
		switch {
		case !ok && found == nil:
			found = &nodeFacts{answers: map[string]core.Usage{}, calls: map[string]bool{}}
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
		found.id = cmp.Or(found.id, id)
	}
	if found == nil {
		return nil
	}
	found.session, found.call, found.frame = cmp.Or(found.session, session), cmp.Or(found.call, call), cmp.Or(found.frame, frame)
	return found
}

// named returns the name of something of a kind, under which its sighting is known; it is
// empty for an empty id.
func named(kind, id string) string {
	if id == "" {
		return ""
	}
	return kind + " " + id
}

func idName(id string) string { return named("id", id) }

// callName returns a call's name. Hosts number calls from the start in each session.
func callName(session, call string) string { return named("call "+session, call) }

// To their host, agents that flame starts are sessions like any other; it does
// not know who started them. Flame's tool reveals that, by its call in the
// caller's log and by its answer, together with the frame in the first prompt
// of the agent.

// flameTools holds the suffixes of flame's tools that concern one agent, and
// whether they start it; hosts add prefixes of their own.
var flameTools = map[op.Name]bool{
	op.Spawn: true, op.AgentWait: false, op.AgentStatus: false, op.AgentResult: false,
}

// flame records what the speaker and flame's tools said to each other.
func (t *Tracker) flame(m core.Message, speaker *nodeFacts, p core.Part) {
	switch {
	case p.CallID == "":
	case p.Type == core.PartToolCall:
		starts, ok := flameTool(p.Tool)
		if !ok {
			return
		}
		t.startsAgent[callName(m.Session, p.CallID)] = starts
		if starts {
			s := t.meet(m.Session, "", p.CallID, "")
			s.flames = true
			s.learn(wish(p.Input, speaker.id, m.Time))
		}
	case p.Type == core.PartToolResult && !p.Failed && len(t.startsAgent) > 0:
		if starts, ok := t.startsAgent[callName(m.Session, p.CallID)]; ok {
			t.answered(m, speaker, p, starts)
		}
	}
}

func flameTool(tool string) (starts, ok bool) {
	for name, starts := range flameTools {
		if strings.HasSuffix(tool, string(name)) {
			return starts, true
		}
	}
	return false, false
}

func wish(input json.RawMessage, speaker string, at core.Millis) core.AgentInfo {
	var in struct {
		Type        string `json:"subagent_type"`
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in) // whatever cannot be read stays unknown
	return core.AgentInfo{
		Spawn: true, Parent: speaker, Type: in.Type, Prompt: in.Prompt, Description: in.Description,
		State: core.AgentInitializing, Started: at,
	}
}

// answered records what one of flame's tools said about an agent. The text is untrusted:
// answered only searches it for names, and ignores a session that claims to have started
// itself.
func (t *Tracker) answered(m core.Message, speaker *nodeFacts, answer core.Part, starts bool) {
	told, ok := op.ParseAgentAnswer(answer.Text)
	if !ok || told.Session != "" && told.Session == speaker.id {
		return
	}
	call := ""
	if starts {
		call = answer.CallID
	}
	s := t.meet(m.Session, told.Session, call, told.Frame)
	s.flames, s.agent, s.host = true, cmp.Or(s.agent, told.ID), cmp.Or(s.host, told.Host)
	n := core.AgentInfo{Spawn: starts, State: core.AgentState(told.State)}
	if starts {
		n.Type, n.Description = told.Type, told.Description
	}
	if n.State.Ended() {
		n.Ended = m.Time
	}
	s.learn(n)
}

// contextStart begins what flame appends to the task in an agent's prompt.
const contextStart = "<flame-context"

// framed matches the frame of an agent in its prompt.
var framed = core.Pattern(`^<flame-context session="([a-z]+-[a-z0-9]+)">`)

// frame also registers a session that has now received its first prompt by its
// frame, and returns its sighting: it may turn out to be a known agent.
func (t *Tracker) frame(s *nodeFacts) *nodeFacts {
	if frame := frameIn(s.prompt); frame != "" {
		return t.meet(s.session, s.id, "", frame)
	}
	return s
}

// frameIn returns the frame of the context in a prompt, or "". The task before
// it may contain the same words.
func frameIn(prompt string) string {
	at := strings.LastIndex(prompt, contextStart)
	if at < 0 {
		return ""
	}
	found := framed().FindStringSubmatch(prompt[at:])
	if found == nil {
		return ""
	}
	return found[1]
}

// request returns a prompt in the form its author would recognize: without the
// context that flame adds, and for a command of Claude Code only its arguments.
func request(prompt string) string {
	text := strings.TrimSpace(prompt)
	if strings.HasPrefix(commandIn(text), flameCommand) {
		text = cmp.Or(element(text, "command-args"), text)
	}
	before, _, _ := strings.Cut(text, contextStart)
	return cmp.Or(strings.TrimSpace(before), text)
}

// flameCommand begins the names of flame's own commands in Claude Code.
const flameCommand = "/flame:"

// commandIn returns the name of the command that a prompt is; empty for words.
func commandIn(prompt string) string {
	if !strings.HasPrefix(prompt, "<command-") {
		return ""
	}
	return element(prompt, "command-name")
}

func element(text, name string) string {
	_, text, _ = strings.Cut(text, "<"+name+">")
	text, _, found := strings.Cut(text, "</"+name+">")
	if !found {
		return ""
	}
	return strings.TrimSpace(text)
}

// maxGoal is the length in characters to which tasks are cut as goals, as those of sessions that flame saw.
const maxGoal = 2000

// maxSummary is the length in characters to which an agent's last words are cut
// as the summary of its frame; its results have them in full.
const maxSummary = 2_000

// History returns a frame for each session and agent of a trail, with its
// usage, in the form that a project imports. What is past is finished: a run
// whose end the logs do not show is blocked. The ids derive from those of the
// host, so the same log gives the same frames.
func (t LogGraph) History() transfer.State {
	state := transfer.State{Version: transfer.StateVersion, Frames: map[string]transfer.StateFrame{}}
	known := lo.SliceToMap(t.Nodes, func(n LogNode) (string, bool) { return n.ID, true })
	for _, n := range t.Nodes {
		f := n.frame()
		if known[n.Parent] {
			f.Parent = frameOf(n.Parent)
		} else {
			state.RootFrameIDs = append(state.RootFrameIDs, f.ID)
		}
		state.Frames[f.ID] = transfer.StateFrame{Frame: f}
	}
	return state
}

func (n LogNode) frame() core.Frame {
	usage := n.Usage
	usage.CostUSD += n.UnreportedUSD
	end := max(n.Ended, n.Started)
	f := core.Frame{
		ID: frameOf(n.ID), Session: n.ID, Goal: cmp.Or(core.OneLine(cmp.Or(n.Description, n.Prompt), maxGoal), string(n.Kind)+" "+n.ID),
		Status: n.pastStatus(), CreatedAt: n.Started, StartedAt: n.Started, EndedAt: end, UpdatedAt: end,
		Usage: usage,
	}
	if words := strings.TrimSpace(cmp.Or(n.Result, n.Error)); words != "" {
		f.Summary, _ = core.Truncate(words, maxSummary/4, " [truncated]")
		f.Results = words
	}
	return f
}

// pastStatus returns the status of a run in hindsight. Sessions take it as when they end
// while flame sees them: one that failed is blocked.
func (n LogNode) pastStatus() core.Status {
	switch {
	case n.State == core.AgentCompleted:
		return core.Completed
	case n.Kind == KindSubagent && (n.State == core.AgentError || n.State == core.AgentTimeout):
		return core.Failed
	}
	return core.Blocked
}

func frameOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "frame-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
