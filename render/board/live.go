package board

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/core"
)

// An Agent is an agent that flame started, or a native subagent of a host.
type Agent struct {
	ID          string          `json:"id"` // a subagent_id; of a native one its session's id
	Native      bool            `json:"native,omitempty"`
	Machine     string          `json:"machine,omitempty"` // that asked for it, if it is another machine
	Frame       string          `json:"frame,omitempty"`
	ParentAgent string          `json:"parentAgent,omitempty"`
	Host        string          `json:"host,omitempty"`
	Type        string          `json:"type,omitempty"`
	Description string          `json:"description"`
	Model       string          `json:"model,omitempty"`
	Mode        string          `json:"mode,omitempty"` // of permission
	State       core.AgentState `json:"state"`
	Asked       core.Millis     `json:"asked"`
	Last        core.Millis     `json:"last,omitempty"` // time of its last output, or last report
	Ended       core.Millis     `json:"ended,omitempty"`
	Retries     int             `json:"retries,omitempty"`
	Turns       int             `json:"turns,omitempty"`
	Tool        string          `json:"tool,omitempty"` // that it called last
	Text        string          `json:"text,omitempty"` // its last words, in one line, cut
	Reason      string          `json:"reason,omitempty"`
	Used        core.Usage      `json:"used,omitzero"`
	Budget      float64         `json:"budget,omitempty"` // the share of its tokens or dollars that it has used; 0: it has no limit
}

// maxText bounds an agent's last words, in characters.
const maxText = 300

func agentOf(run record.Agent) Agent {
	p := run.Progress
	a := Agent{
		ID: run.ID, Frame: run.Frame, ParentAgent: run.ParentAgent, Host: run.Host, Type: run.Type,
		Description: core.OneLine(run.Description, maxGoal), Model: cmp.Or(p.Model, run.Model), Mode: string(run.Mode.Effective), State: run.State,
		Asked: run.CreatedAt, Last: p.LastLine, Ended: run.EndedAt, Retries: p.Attempt, Turns: p.Turns, Tool: p.LastTool,
		Text: core.OneLine(p.Text, maxText), Used: p.Used(),
	}
	if run.Limits.Tokens > 0 {
		a.Budget = float64(p.Tokens()) / float64(run.Limits.Tokens)
	}
	if run.Limits.CostUSD > 0 {
		a.Budget = max(a.Budget, p.Cost()/run.Limits.CostUSD)
	}
	if run.Outcome != nil {
		a.Reason, a.Text = core.OneLine(run.Outcome.Reason, maxText), core.OneLine(run.Outcome.Text, maxText)
	}
	return a
}

// abroadOf returns the agent of another machine.
func abroadOf(a record.RemoteAgent) Agent {
	return Agent{
		ID: a.ID, Machine: a.Machine, Frame: a.Frame, Host: a.Host, Type: a.Type, Description: core.OneLine(a.Description, maxGoal), Mode: a.Mode,
		State: a.State, Asked: a.Asked, Ended: a.Ended, Turns: a.Turns, Tool: a.Tool, Reason: a.Reason, Used: a.Used,
	}
}

// nativeOf returns the subagent of a session that has a parent.
func nativeOf(s core.Session) Agent {
	a := Agent{
		ID: s.ID, Native: true, Frame: s.Root, Host: s.Host, Type: core.SubagentType(s.Title),
		Description: core.OneLine(core.SubagentGoal(s.Title), maxGoal), State: core.AgentActive, Asked: s.CreatedAt, Last: s.LastActivityAt,
	}
	if s.IsCompleted || !s.Tracked || s.State == core.SessionEnded { // hosts do not report the end of an untracked session
		a.State, a.Ended = core.AgentCompleted, s.LastActivityAt
	} else if s.State == core.SessionSuspended || s.State == core.SessionIdle {
		a.State = core.AgentSuspended
	}
	return a
}

// A Session is a conversation of a person with a host that has not ended.
type Session struct {
	ID      string            `json:"id"`
	Host    string            `json:"host"`
	Title   string            `json:"title,omitempty"`
	State   core.SessionState `json:"state"` // idle: it waits for a person
	Current string            `json:"current,omitempty"`
	Root    string            `json:"root,omitempty"`
	Heard   core.Millis       `json:"heard"` // time of its last event, to the minute, so that it does not change with each event
}

func sessionOf(s core.Session) Session {
	const minute = 60_000
	return Session{
		ID: s.ID, Host: s.Host, Title: core.OneLine(s.Title, maxGoal), State: s.State, Current: s.Current, Root: s.Root,
		Heard: s.LastActivityAt / minute * minute,
	}
}

// A Conflict is a conflict of a convergence that a person has to settle.
type Conflict struct {
	Convergence string `json:"convergence"`
	converge.Conflict
}

func conflictsOf(all []converge.Convergence) []Conflict {
	waiting := lo.FlatMap(all, func(c converge.Convergence, _ int) []Conflict {
		return lo.Map(c.Waiting(), func(conflict converge.Conflict, _ int) Conflict { return Conflict{c.ID, conflict} })
	})
	slices.SortFunc(waiting, func(x, y Conflict) int {
		return cmp.Or(cmp.Compare(x.Convergence, y.Convergence), cmp.Compare(x.ID, y.ID))
	})
	return waiting
}

// A Notice reports an event to a person.
type Notice struct {
	Seq   int64       `json:"seq"` // of the event
	At    core.Millis `json:"at"`
	Kind  string      `json:"kind"` // ended, limit or conflict
	Text  string      `json:"text"`
	Bad   bool        `json:"bad,omitempty"` // it reports no success
	Frame string      `json:"frame,omitempty"`
	Agent string      `json:"agent,omitempty"`
}

// maxNotices bounds the notices of a board: the last ones stay.
const maxNotices = 30

// told holds the kinds of notices, by event.
var told = map[string]string{
	core.SubagentStop: "ended", core.BudgetExceeded: "limit", core.BudgetWarning: "limit", core.ManualReviewRequired: "conflict",
}

// noticeOf returns the notice about an event.
func noticeOf(e core.Event, a Agent) (n Notice, ok bool) {
	kind, ok := told[e.Event]
	if !ok {
		return n, false
	}
	n = Notice{Seq: e.Seq, At: e.TS, Kind: kind, Frame: e.Frame, Agent: e.SubagentID, Bad: kind != "ended"}
	var data struct {
		State  core.AgentState `json:"state"`
		Reason string          `json:"reason"`
	}
	_ = json.Unmarshal(e.Data, &data) // an older event may have another form
	name := cmp.Or(a.Type, e.SubagentID)
	switch e.Event {
	case core.SubagentStop:
		n.Bad = data.State != core.AgentCompleted
		n.Text = name + " ended (" + string(cmp.Or(data.State, a.State)) + "): " + a.Description
	case core.BudgetExceeded:
		n.Text = name + " was stopped by a limit: " + cmp.Or(data.Reason, a.Reason)
	case core.BudgetWarning:
		n.Text = name + " has used most of its budget"
	case core.ManualReviewRequired:
		n.Text = "agents disagree: a person has to decide"
	}
	n.Text = core.OneLine(n.Text, maxText)
	return n, true
}
