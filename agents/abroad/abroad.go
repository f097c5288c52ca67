// Package abroad is what the machines of a project tell each other of their agents, so that
// each can show all. It is for the eye alone: nothing that another machine tells has an
// effect on the agents of this one.
package abroad

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/samber/lo"

	"flame/agents/away"
	"flame/agents/record"
	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// An Agent is how far an agent of a machine is. It is one that the machine asked for,
// wherever it runs.
type Agent struct {
	ID          string          `json:"id"`
	Machine     string          `json:"machine"` // that asked for it; set by who reads it
	Frame       string          `json:"frame,omitempty"`
	Type        string          `json:"type"`
	Host        string          `json:"host"`
	Description string          `json:"description"`
	On          string          `json:"on,omitempty"`     // queue of the worker that runs it
	Worker      string          `json:"worker,omitempty"` // id of that one's machine
	Mode        string          `json:"mode,omitempty"`
	State       core.AgentState `json:"state"`
	Reason      string          `json:"reason,omitempty"`
	Tool        string          `json:"tool,omitempty"` // that it called last
	Turns       int             `json:"turns,omitempty"`
	Used        core.Usage      `json:"used,omitzero"`
	Asked       core.Millis     `json:"asked"`
	Ended       core.Millis     `json:"ended,omitempty"`
	Shared      []string        `json:"shared,omitempty"` // of Kinds, what of it others may see
	Heard       core.Millis     `json:"heard,omitempty"`  // when its machine told this, by the clock of this one; set by who reads it
}

// kept has the agents of each other machine, in one record.
const kept project.Kind[[]Agent] = "agents_abroad" // by machine

// Bounds of what a machine tells: agents, the time for which ended ones are told, and
// after which one that is not heard of is not shown, in ms; texts in characters.
const (
	maxAgents = 100
	toldFor   = core.Millis(5 * 60_000)
	shownFor  = core.Millis(3 * 60_000)
	maxText   = 200
	maxName   = 80
	maxBytes  = 256 << 10
)

// Of returns what is told of an agent.
func Of(run record.Run) Agent {
	a := Agent{
		ID: run.ID, Frame: run.Frame, Type: run.Type, Host: run.Host, Description: run.Description, On: run.On, Worker: run.Worker,
		Mode: string(run.Mode.Effective), State: run.State, Tool: run.Progress.LastTool, Turns: run.Progress.Turns, Used: run.Progress.Used(),
		Asked: run.CreatedAt, Ended: run.EndedAt, Shared: run.Shared,
	}
	if run.Outcome != nil {
		a.Reason = run.Outcome.Reason
	}
	return a.cut()
}

func (a Agent) cut() Agent {
	for _, text := range []*string{&a.Description, &a.Reason} {
		*text = core.OneLine(*text, maxText)
	}
	a.Shared = lo.Intersect(Kinds, a.Shared)
	for _, name := range []*string{&a.Frame, &a.Type, &a.Host, &a.On, &a.Worker, &a.Mode, &a.Tool} {
		*name = core.OneLine(*name, maxName)
	}
	return a
}

// valid reports whether a machine can have told this.
func (a Agent) valid() bool {
	most := int64(1) << 50
	u := a.Used
	return away.ValidID(a.ID) && slices.Contains(core.AgentStates, a.State) && a.Turns >= 0 && a.Asked >= 0 && a.Ended >= 0 &&
		(a.Frame == "" || merge.ValidID(a.Frame)) && (a.Worker == "" || merge.ValidMachine(a.Worker)) &&
		min(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) >= 0 &&
		max(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) <= most &&
		u.CostUSD >= 0 && u.CostUSD < math.MaxInt32
}

// Own returns the machine's agents that are at work, or were a few minutes ago, as JSON; nil
// for none.
func Own(tx project.Tx, now core.Millis) (json.RawMessage, error) {
	atWork, err := record.AtWork(tx)
	if err != nil {
		return nil, err
	}
	ended, err := record.JustEnded(tx, now, toldFor)
	if err != nil {
		return nil, err
	}
	var all []Agent
	for _, run := range append(atWork, ended...) {
		if run.For == "" { // else its asker tells of it
			all = append(all, Of(run))
		}
	}
	slices.SortFunc(all, newestFirst)
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all[:min(len(all), maxAgents)])
}

func newestFirst(a, b Agent) int {
	return cmp.Or(cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.ID, b.ID))
}

// Take keeps what another machine tells of its agents, which anybody may have written, and
// writes events of those that began or ended.
func Take(tx project.Tx, machine string, text json.RawMessage, now core.Millis) error {
	var all []Agent
	if len(text) <= maxBytes && len(text) > 0 && json.Unmarshal(text, &all) != nil {
		all = nil
	}
	good := make([]Agent, 0, min(len(all), maxAgents))
	for _, a := range all {
		if a = a.cut(); a.valid() && len(good) < maxAgents {
			a.Machine, a.Heard = machine, now
			good = append(good, a)
		}
	}
	if err := tell(tx, machine, good, now); err != nil {
		return err
	}
	if len(good) == 0 {
		return kept.Delete(tx, machine)
	}
	return kept.Save(tx, machine, good)
}

// Keep forgets what machines told that are not heard of any more.
func Keep(tx project.Tx, there []string) error {
	machines, err := kept.IDs(tx, "")
	for _, machine := range machines {
		if !slices.Contains(there, machine) {
			err = errors.Join(err, kept.Delete(tx, machine))
		}
	}
	return err
}

// All returns what is kept of other machines' agents, in any order.
func All(tx project.Tx) (all []Agent, err error) {
	err = kept.Each(tx, func(_ string, of []Agent) error {
		all = append(all, of...)
		return nil
	})
	return all, err
}

// List returns the agents of other machines, those asked for last first. Of a machine that
// was not heard of for some minutes none are shown.
func List(tx project.Tx, now core.Millis) ([]Agent, error) {
	all, err := All(tx)
	all = slices.DeleteFunc(all, func(a Agent) bool { return now-a.Heard >= shownFor })
	slices.SortFunc(all, newestFirst)
	return all, err
}
