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

// The agents that flame starts are sessions like any other to their host, which
// does not know who started them. What tells is flame's tool, by its call in the
// log of who made it and by its answer, and the frame that stands in the first
// prompt of the agent.

// flameTools end the names of flame's tools that tell of one agent, and say
// whether they start it: before them hosts put names of their own.
var flameTools = map[op.Name]bool{
	op.Spawn: true, op.AgentWait: false, op.AgentStatus: false, op.AgentResult: false,
}

// flame takes in what the speaker and flame's tools said to each other.
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

// wish is what a call asks of flame's tool.
func wish(input json.RawMessage, speaker string, at core.Millis) core.AgentNote {
	var in struct {
		Type        string `json:"subagent_type"`
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
		Command     string `json:"command"` // all of it in one line
	}
	_ = json.Unmarshal(input, &in) // what cannot be read is not known
	return core.AgentNote{
		Spawn: true, Parent: speaker, Type: in.Type, Prompt: cmp.Or(in.Prompt, task(in.Command)), Description: in.Description,
		State: core.AgentInitializing, Started: at,
	}
}

// task is a line without the options behind it. The log of the agent itself has it
// as it was read.
func task(command string) string {
	text, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(command), `"`), " --")
	return text
}

// answered takes in what one of flame's tools said of an agent. That is text which
// anyone can have written: it is only looked at for what it names, and nobody
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

// contextStart begins what flame puts behind the task in an agent's prompt.
const contextStart = "<flame-context"

// framed matches the frame of an agent in its prompt.
var framed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<flame-context session="([a-z]+-[a-z0-9]+)">`) })

// frame returns a session which has now been asked something for the first time, by
// its frame as well: it may turn out to be an agent that is known so already.
func (t *Tracker) frame(s *sighting) *sighting {
	if frame := frameIn(s.prompt); frame != "" {
		return t.meetIn(s.session, s.id, "", frame)
	}
	return s
}

// frameIn is the frame that the context in a prompt is of; empty without one. The
// task before it may hold such words as well.
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

// request is a prompt as whoever gave it would know it again: without the context
// that flame adds, and of a command of Claude Code's what stood behind its name.
func request(prompt string) string {
	text := strings.TrimSpace(prompt)
	if strings.HasPrefix(text, "<command-") {
		text = cmp.Or(element(text, "command-args"), element(text, "command-name"), text)
	}
	before, _, _ := strings.Cut(text, contextStart)
	return cmp.Or(strings.TrimSpace(before), text)
}

// element is what stands in the first element of that name.
func element(text, name string) string {
	_, text, _ = strings.Cut(text, "<"+name+">")
	text, _, found := strings.Cut(text, "</"+name+">")
	if !found {
		return ""
	}
	return strings.TrimSpace(text)
}
