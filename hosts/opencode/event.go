package opencode

import (
	"encoding/json"

	"flame/core"
	"flame/core/fold"
	"flame/core/judge"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/turns"
	"flame/project/usage"
)

// An event is what flame.js sends: which hook of OpenCode ran, and what flame
// reads of it.
type event struct {
	Name    string        `json:"event"`
	Session string        `json:"session"`
	Parent  string        `json:"parent"` // session that started this one
	Plugin  string        `json:"plugin"` // version of flame.js
	Usage   []answerUsage `json:"usage"`  // of answers that ended since the last event

	Title      string          `json:"title"`
	Message    string          `json:"message"`
	Agent      string          `json:"agent"`      // that the user's message addresses
	Permission json.RawMessage `json:"permission"` // of that agent, as configured
	Text       string          `json:"text"`
	Tool       string          `json:"tool"`
	Files      []string        `json:"files"`
	Call       string          `json:"call"` // id of that of a tool
	Did        struct {        // what it did to Files
		Input    json.RawMessage `json:"input"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"did"`
	Child    string   `json:"child"`
	Output   string   `json:"output"`
	Error    string   `json:"error"`
	Aborted  bool     `json:"aborted"`
	Running  []string `json:"running"`  // children of the session that are still working
	Sessions []string `json:"sessions"` // that end with the process

	Calls  []judge.Call `json:"calls"`  // of tools in the turn that ended, the last ones
	Model  string       `json:"model"`  // that the session's agent works with
	Window int          `json:"window"` // tokens that this model takes

	Compacting bool        `json:"compacting"`
	Messages   []message   `json:"messages"`
	Prices     fold.Prices `json:"prices"` // of the model
	Leads      bool        `json:"leads"`  // a round of tools has to begin with thinking
	Words      []words     `json:"words"`  // that flame may not know of
	Tasks      []task      `json:"tasks"`  // likewise

	agentID string // of the agent in whose process it happened; empty outside of agents
}

// caller returns the session of the event.
func (e event) caller() project.Caller {
	return project.Caller{
		Session: e.Session, Parent: e.Parent, Host: Name, Agent: e.agentID, Trust: project.Stamped, Event: e.Name, Plugin: e.Plugin,
	}
}

// A message is the skeleton of one message of a request.
type message struct {
	Name    string      `json:"name"`
	Role    core.Role   `json:"role"`
	Time    core.Millis `json:"time"`
	Edition *int        `json:"edition"` // of the request that it answers, where flame.js knows it
	Summary bool        `json:"summary"`
	Open    bool        `json:"open"`
	Host    bool        `json:"host"` // it is the host that speaks for the user
	Tail    string      `json:"tail"`
	Tokens  int         `json:"tokens"`
	Calls   []call      `json:"calls"` // where answers ask for them
	Moves   []struct {
		Kind  fold.Kind `json:"kind"`
		Frame string    `json:"frame"`
		First bool      `json:"first"`
	} `json:"moves"`
}

// A call is one of a tool that is not flame's, and ended well.
type call struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Tokens int    `json:"tokens"`
}

// words are a prompt of the user's, as a request shows it.
type words struct {
	Message    string          `json:"message"`
	Agent      string          `json:"agent"`
	Permission json.RawMessage `json:"permission"`
	Text       string          `json:"text"`
}

// A task is a child of the session, as a request shows it.
type task struct {
	Child  string `json:"child"`
	Title  string `json:"title"`
	State  string `json:"state"` // completed, error or aborted; empty while it works
	Output string `json:"output"`
	Error  string `json:"error"`
}

// ended returns how the child ended, or nil while it works.
func (t task) ended() *children.Ended {
	switch t.State {
	case "completed":
		return &children.Ended{Session: t.Child, End: core.ChildCompleted, Last: taskResult(t.Output), HandedOver: t.Output}
	case "error":
		return &children.Ended{Session: t.Child, End: core.ChildFailed, Last: t.Error}
	case "aborted":
		return &children.Ended{Session: t.Child, End: core.ChildCancelled, Last: t.Error}
	}
	return nil
}

// request returns the skeleton of a request in the form that flame processes.
func (e event) request() turns.Request {
	r := turns.Request{
		Untold: e.Compacting, Usage: e.usages(), Editions: e.editions(),
		Terms: fold.Terms{Prices: e.Prices, Leads: e.Leads},
	}
	for _, m := range e.Messages {
		skeleton := fold.Message{
			Name: m.Name, Role: m.Role, Time: m.Time, Summary: m.Summary, Host: m.Host, Open: m.Open, Text: m.Tail, Tokens: m.Tokens,
		}
		for _, move := range m.Moves {
			skeleton.Moves = append(skeleton.Moves, fold.Move{Kind: move.Kind, Frame: move.Frame, First: move.First})
		}
		for _, c := range m.Calls {
			skeleton.Calls = append(skeleton.Calls, fold.Call(c))
		}
		r.History = append(r.History, skeleton)
	}
	return r
}

// editions returns under which editions answers were made, by their times.
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

// seen returns what the event shows of a turn that ended.
func (e event) seen() autonomy.Seen {
	return autonomy.Seen{Calls: e.Calls, Model: e.Model, Window: e.Window, Whole: true}
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

func (e event) usages() (all []usage.Message) {
	for _, u := range e.Usage {
		all = append(all, usage.Message{
			ID: u.Message, At: u.At, Context: int(u.In + u.CacheRead + u.CacheWrite),
			Usage: core.Usage{TokensIn: u.In, TokensOut: u.Out, CacheRead: u.CacheRead, CacheWritten: u.CacheWrite, CostUSD: u.Cost, ToolCalls: u.Tools},
		})
	}
	return all
}

// An answer is what flame.js changes in a hook's output. Its zero value changes
// nothing.
type answer struct {
	Context []string `json:"context,omitempty"` // for a compaction: added to the host's prompt
	Prompt  string   `json:"prompt,omitempty"`  // for a compaction: replaces it

	Edition int      `json:"edition,omitempty"` // by which the answer to the request is to be known
	Drop    []string `json:"drop,omitempty"`    // messages to leave out
	Before  []text   `json:"before,omitempty"`  // texts right before a message
	After   []text   `json:"after,omitempty"`   // texts right after a message
	Stale   []string `json:"stale,omitempty"`   // messages that go without their thinking
	Cuts    []cut    `json:"cuts,omitempty"`    // outputs that a line takes the place of
	Calls   bool     `json:"calls,omitempty"`   // requests are to tell of calls
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
