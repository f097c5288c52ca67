package agents

import (
	"fmt"

	"flame/agents/convergence"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
)

// The kinds of things that a person is told of at once.
const (
	NoticeEnd      = "agent-ended" // with the agent's id
	NoticeLimit    = "limit"       // likewise
	NoticeConflict = "conflict"    // with the convergence's id
)

// A Notifier tells a person of something: its kind, a short sentence and an id. It returns
// at once. nil tells nobody.
type Notifier func(kind, text, id string)

// noticeWork is how much of what an agent was to do a notice says, in characters.
const noticeWork = 100

// end tells how an agent ended, and of the limit that it reached if it did. It is called by
// the process that wrote so, once that is kept.
func (tell Notifier) end(run record.Run) {
	if tell == nil {
		return
	}
	work := core.OneLine(run.Description, noticeWork)
	if run.State == core.AgentTimeout || supervise.OverBudget(run.Outcome.Reason) {
		tell(NoticeLimit, fmt.Sprintf("Agent %s reached a limit (%s): %s", run.Type, run.Outcome.Reason, work), run.ID)
	}
	how := string(run.State)
	if run.State != core.AgentCompleted {
		how += " (" + core.OneLine(run.Outcome.Reason, noticeWork) + ")"
	}
	tell(NoticeEnd, fmt.Sprintf("Agent %s ended, %s: %s", run.Type, how, work), run.ID)
}

// conflicts tells of those that wait.
func (tell Notifier) conflicts(c convergence.Convergence) {
	if c.Result.Unresolved > 0 && tell != nil {
		tell(NoticeConflict, fmt.Sprintf("%d of the things that agents came to differ, and wait for you: flame agents review %s", c.Result.Unresolved, c.ID), c.ID)
	}
}
