package opencode

import (
	"encoding/json"

	"flame/core"
	"flame/core/evidence"
	"flame/core/fold"
	"flame/project"
	"flame/project/children"
	"flame/project/turns"
	"flame/project/usage"
	"flame/transcripts"
)

// An event is a message from flame.js: the name of a hook of OpenCode that ran, and the data of
// that hook that flame uses.
type event struct {
	Name    string        `json:"event"`
	Session string        `json:"session"`
	Parent  string        `json:"parent"` // session that started this session
	Plugin  string        `json:"plugin"` // version of flame.js
	Usage   []answerUsage `json:"usage"`  // of answers that ended since the last event

	Title      string          `json:"title"`
	Message    string          `json:"message"`
	Agent      string          `json:"agent"`      // to which the user's message is addressed
	Permission json.RawMessage `json:"permission"` // of that agent, as configured
	Text       string          `json:"text"`
	Tool       string          `json:"tool"`
	Files      []string        `json:"files"`
	Call       string          `json:"call"` // id of the call of the tool
	At         core.Millis     `json:"at"`   // when a call of the list tool ended
	Did        struct {        // how the call changed Files
		Input    json.RawMessage `json:"input"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"did"`
	Child    string   `json:"child"`
	Output   string   `json:"output"`
	Error    string   `json:"error"`
	Aborted  bool     `json:"aborted"`
	Running  []string `json:"running"`  // children of the session that are still working
	Sessions []string `json:"sessions"` // that end with the process

	Calls  []evidence.Call `json:"calls"`  // the last calls of tools in the turn that ended
	Model  string          `json:"model"`  // of the session's agent
	Window int             `json:"window"` // tokens that this model accepts

	Compacting bool        `json:"compacting"`
	Messages   []message   `json:"messages"`
	Prices     fold.Prices `json:"prices"` // of the model
	Leads      bool        `json:"leads"`  // a round of tools has to begin with thinking
	Words      []words     `json:"words"`  // prompts that flame may not know
	Tasks      []task      `json:"tasks"`  // children that flame may not know

	agentID string // of the agent in whose process it happened; empty outside of agents
}

// caller returns the session of the event.
func (e event) caller() project.Caller {
	return project.Caller{
		Session: e.Session, Parent: e.Parent, Host: Name, Agent: e.agentID, Trust: project.ByHost, Event: e.Name, Plugin: e.Plugin,
	}
}

// A message is the skeleton of one message of a request.
type message struct {
	fold.Message          // flame.js sends these fields by their names, but for those below
	Host         bool     `json:"host"`    // FromHost
	Said         string   `json:"said"`    // UserWords
	Tail         string   `json:"tail"`    // the end of Text
	Told         []string `json:"told"`    // what the task tool gave to its calls, which has Results
	Edition      *int     `json:"edition"` // of the request that it answers, if flame.js knows it
}

// words are a prompt of the user in a request.
type words struct {
	Message    string          `json:"message"`
	Agent      string          `json:"agent"`
	Permission json.RawMessage `json:"permission"`
	Text       string          `json:"text"`
}

// A task is a child of the session in a request.
type task struct {
	Child  string `json:"child"`
	Title  string `json:"title"`
	State  string `json:"state"` // completed, error or aborted; empty while it works
	Output string `json:"output"`
	Error  string `json:"error"`
}

// ended returns how the child ended, or nil while it works.
func (t task) ended() *children.EndReport {
	switch t.State {
	case "completed":
		return &children.EndReport{Session: t.Child, End: core.ChildCompleted, Last: transcripts.TaskResult(t.Output), HandedOver: t.Output}
	case "error":
		return &children.EndReport{Session: t.Child, End: core.ChildFailed, Last: t.Error}
	case "aborted":
		return &children.EndReport{Session: t.Child, End: core.ChildCancelled, Last: t.Error}
	}
	return nil
}

// request returns the skeleton of a request in flame's form.
func (e event) request() turns.Request {
	r := turns.Request{
		Untold: e.Compacting, Usage: e.usages(), Editions: e.editions(),
		Terms: fold.Conditions{Prices: e.Prices, Leads: e.Leads},
	}
	for _, m := range e.Messages {
		m.Text, m.FromHost, m.UserWords = m.Tail, m.Host, m.Said
		for _, told := range m.Told {
			m.Results = append(m.Results, transcripts.TaskResult(told))
		}
		r.History = append(r.History, m.Message)
	}
	return r
}

// editions returns the editions of the requests that led to answers, by the times of the answers.
func (e event) editions() map[core.Millis]int {
	known := map[core.Millis]int{}
	for _, u := range e.Usage {
		if u.Edition != nil {
			known[u.At] = *u.Edition
		}
	}
	for _, m := range e.Messages {
		if m.Edition != nil {
			known[m.Time] = *m.Edition
		}
	}
	return known
}

// seen returns the event's data about the turn that ended.
func (e event) seen() transcripts.TurnSummary {
	return transcripts.TurnSummary{Calls: e.Calls, Model: e.Model, Window: e.Window, Whole: true}
}

// An answerUsage is the usage of one answer of the model.
type answerUsage struct {
	Message    string      `json:"id"`
	At         core.Millis `json:"at"`
	In         int64       `json:"in"`
	Out        int64       `json:"out"`
	CacheRead  int64       `json:"cacheRead"`
	CacheWrite int64       `json:"cacheWrite"`
	Cost       float64     `json:"cost"` // USD
	Tools      int64       `json:"tools"`
	Edition    *int        `json:"edition"`
}

func (e event) usages() (all []usage.AnswerUsage) {
	for _, u := range e.Usage {
		used := core.Usage{
			TokensIn: u.In, TokensOut: u.Out, CacheRead: u.CacheRead, CacheWritten: u.CacheWrite, CostUSD: u.Cost, ToolCalls: u.Tools,
		}.Possible()
		all = append(all, usage.AnswerUsage{ID: u.Message, At: u.At, Context: int(used.TokensIn + used.CacheRead + used.CacheWritten), Usage: used})
	}
	return all
}

// An answer has the changes that flame.js makes to a hook's output. Its zero value changes
// nothing.
type answer struct {
	Key string `json:"key,omitempty"` // for the proofs of stamps

	Context []string `json:"context,omitempty"` // for a compaction: texts to add to the host's prompt
	Prompt  string   `json:"prompt,omitempty"`  // for a compaction: replaces that prompt

	Edition int      `json:"edition,omitempty"` // identifies the answer to the request
	Drop    []string `json:"drop,omitempty"`    // messages to leave out
	Before  []text   `json:"before,omitempty"`  // texts right before a message
	After   []text   `json:"after,omitempty"`   // texts right after a message
	Stale   []string `json:"stale,omitempty"`   // messages to send without their thinking
	Cuts    []cut    `json:"cuts,omitempty"`    // outputs to replace by a text; without a call, words to leave out
	Calls   bool     `json:"calls,omitempty"`   // later events should contain calls
}

type cut struct {
	Message string `json:"message"`
	Call    string `json:"call"`
	Text    string `json:"text"`
}

type text struct {
	Message string `json:"message"`
	Text    string `json:"text"`
}

func (a answer) empty() bool {
	return a.Prompt == "" && a.Edition == 0 && !a.Calls && len(a.Context)+len(a.Drop)+len(a.Before)+len(a.After)+len(a.Stale) == 0
}
