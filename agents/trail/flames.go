package trail

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"flame/core"
	"flame/core/op"
)

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
func (t *Tracker) flame(m core.Message, speaker *sighting, p core.Part) {
	switch {
	case p.CallID == "":
	case p.Type == core.PartToolCall:
		starts, ok := flameTool(p.Tool)
		if !ok {
			return
		}
		t.asked[callName(m.Session, p.CallID)] = starts
		if starts {
			s := t.meet(m.Session, "", p.CallID)
			s.flames = true
			s.learn(wish(p.Input, speaker.id, m.Time))
		}
	case p.Type == core.PartToolResult && !p.Failed && len(t.asked) > 0:
		if starts, ok := t.asked[callName(m.Session, p.CallID)]; ok {
			t.answered(m, speaker, p, starts)
		}
	}
}

// flameTool looks up a tool in flameTools.
func flameTool(tool string) (starts, ok bool) {
	for name, starts := range flameTools {
		if strings.HasSuffix(tool, string(name)) {
			return starts, true
		}
	}
	return false, false
}

// wish returns what a call asks of flame's tool.
func wish(input json.RawMessage, speaker string, at core.Millis) core.AgentNote {
	var in struct {
		Type        string `json:"subagent_type"`
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
		Command     string `json:"command"` // all of it in one line
	}
	_ = json.Unmarshal(input, &in) // whatever cannot be read stays unknown
	return core.AgentNote{
		Spawn: true, Parent: speaker, Type: in.Type, Prompt: cmp.Or(in.Prompt, task(in.Command)), Description: in.Description,
		State: core.AgentInitializing, Started: at,
	}
}

// task returns a line without the options after it. The agent's own log has it
// as it was parsed.
func task(command string) string {
	text, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(command), `"`), " --")
	return text
}

// answered records what one of flame's tools said about an agent. Anyone can
// have written that text: it is only searched for the names in it, and nobody
// started himself.
func (t *Tracker) answered(m core.Message, speaker *sighting, answer core.Part, starts bool) {
	told, ok := op.ReadAgentAnswer(answer.Text)
	if !ok || told.Session != "" && told.Session == speaker.id {
		return
	}
	call := ""
	if starts {
		call = answer.CallID
	}
	s := t.meetIn(m.Session, told.Session, call, told.Frame)
	s.flames, s.agent, s.host = true, cmp.Or(s.agent, told.ID), cmp.Or(s.host, told.Host)
	n := core.AgentNote{Spawn: starts, State: core.AgentState(told.State)}
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
var framed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<flame-context session="([a-z]+-[a-z0-9]+)">`) })

// frame also registers a session that has now received its first prompt by its
// frame, and returns its sighting: it may turn out to be a known agent.
func (t *Tracker) frame(s *sighting) *sighting {
	if frame := frameIn(s.prompt); frame != "" {
		return t.meetIn(s.session, s.id, "", frame)
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
	if strings.HasPrefix(text, "<command-") {
		text = cmp.Or(element(text, "command-args"), element(text, "command-name"), text)
	}
	before, _, _ := strings.Cut(text, contextStart)
	return cmp.Or(strings.TrimSpace(before), text)
}

// element returns the content of the first element of that name.
func element(text, name string) string {
	_, text, _ = strings.Cut(text, "<"+name+">")
	text, _, found := strings.Cut(text, "</"+name+">")
	if !found {
		return ""
	}
	return strings.TrimSpace(text)
}
