package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// The machines of a project tell each other the states of their agents, so that each can show all of
// them. These states never affect the agents of this machine.

// A RemoteAgent is the state of an agent of a machine. An agent belongs to the machine that asked
// for it, wherever it runs.
type RemoteAgent struct {
	ID          string          `json:"id"`
	Machine     string          `json:"machine"` // the machine that asked for it; set by the reader
	Frame       string          `json:"frame,omitempty"`
	Type        string          `json:"type"`
	Host        string          `json:"host"`
	Description string          `json:"description"`
	On          string          `json:"on,omitempty"`     // queue of the worker that runs it
	Worker      string          `json:"worker,omitempty"` // id of the worker's machine
	Mode        string          `json:"mode,omitempty"`
	State       core.AgentState `json:"state"`
	Reason      string          `json:"reason,omitempty"`
	Tool        string          `json:"tool,omitempty"` // the last tool that it called
	Turns       int             `json:"turns,omitempty"`
	Used        core.Usage      `json:"used,omitzero"`
	Asked       core.Millis     `json:"asked"`
	Ended       core.Millis     `json:"ended,omitempty"`
	Heard       core.Millis     `json:"heard,omitempty"` // when this state arrived, by the reader's clock; set by the reader
}

// remoteAgents stores the agents of each other machine, in one record.
const remoteAgents project.RecordKind[[]RemoteAgent] = "machine.agents" // by machine

// The limits of what a machine sends: the number of agents; for how long it sends ended
// agents, and for how long other machines show the agents of a silent machine, in ms; the
// length of texts, in characters.
const (
	maxAgents = 100
	toldFor   = core.Millis(5 * 60_000)
	shownFor  = core.Millis(3 * 60_000)
	maxText   = 200
	maxName   = 80
	maxBytes  = 256 << 10
)

// StateOf returns the state of an agent to send to other machines.
func StateOf(run Agent) RemoteAgent {
	a := RemoteAgent{
		ID: run.ID, Frame: run.Frame, Type: run.Type, Host: run.Host, Description: run.Description, On: run.Queue, Worker: run.Worker,
		Mode: string(run.Mode.Effective), State: run.State, Tool: run.Progress.LastTool, Turns: run.Progress.Turns, Used: run.Progress.Used(),
		Asked: run.CreatedAt, Ended: run.EndedAt,
	}
	if run.Outcome != nil {
		a.Reason = run.Outcome.Reason
	}
	return a.cut()
}

func (a RemoteAgent) cut() RemoteAgent {
	for _, text := range []*string{&a.Description, &a.Reason} {
		*text = core.OneLine(*text, maxText)
	}
	for _, name := range []*string{&a.Frame, &a.Type, &a.Host, &a.On, &a.Worker, &a.Mode, &a.Tool} {
		*name = core.OneLine(*name, maxName)
	}
	return a
}

func (a RemoteAgent) valid() bool {
	return ValidID(a.ID) && slices.Contains(core.AgentStates, a.State) && a.Turns >= 0 && a.Asked >= 0 && a.Ended >= 0 &&
		(a.Frame == "" || merge.ValidID(a.Frame)) && (a.Worker == "" || merge.ValidMachine(a.Worker)) &&
		a.Used.Within(0, 1<<50) && a.Used.CostUSD >= 0 && a.Used.CostUSD < math.MaxInt32
}

// LocalAgents returns the machine's running agents and those that ended in the last minutes, as JSON;
// nil if there are none.
func LocalAgents(tx project.Tx, now core.Millis) (json.RawMessage, error) {
	atWork, err := Running(tx)
	if err != nil {
		return nil, err
	}
	ended, err := JustEnded(tx, now, toldFor)
	if err != nil {
		return nil, err
	}
	var all []RemoteAgent
	for _, run := range append(atWork, ended...) {
		if run.Requester == "" { // the asking machine sends them
			all = append(all, StateOf(run))
		}
	}
	slices.SortFunc(all, latestAsked)
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all[:min(len(all), maxAgents)])
}

func latestAsked(a, b RemoteAgent) int {
	return cmp.Or(cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.ID, b.ID))
}

// StoreStates stores the states that another machine sends, which are untrusted, and writes events of
// agents that began or ended.
func StoreStates(tx project.Tx, machine string, text json.RawMessage, now core.Millis) error {
	var all []RemoteAgent
	if len(text) <= maxBytes && len(text) > 0 && json.Unmarshal(text, &all) != nil {
		all = nil
	}
	good := make([]RemoteAgent, 0, min(len(all), maxAgents))
	for _, a := range all {
		if a = a.cut(); a.valid() && len(good) < maxAgents {
			a.Machine, a.Heard = machine, now
			good = append(good, a)
		}
	}
	if err := tellRemote(tx, machine, good, now); err != nil {
		return err
	}
	if len(good) == 0 {
		return remoteAgents.Delete(tx, machine)
	}
	return remoteAgents.Save(tx, machine, good)
}

// RetainMachines deletes the agents of machines that have left.
func RetainMachines(tx project.Tx, there []string) error {
	machines, err := remoteAgents.IDs(tx, "")
	for _, machine := range machines {
		if !slices.Contains(there, machine) {
			err = errors.Join(err, remoteAgents.Delete(tx, machine))
		}
	}
	return err
}

// AllRemote returns the stored agents of other machines, in any order.
func AllRemote(tx project.Tx) (all []RemoteAgent, err error) {
	err = remoteAgents.Each(tx, func(_ string, of []RemoteAgent) error {
		all = append(all, of...)
		return nil
	})
	return all, err
}

// ListRemote returns the agents of other machines, the newest first. It leaves out the agents of
// machines that have been silent for some minutes.
func ListRemote(tx project.Tx, now core.Millis) ([]RemoteAgent, error) {
	all, err := AllRemote(tx)
	all = slices.DeleteFunc(all, func(a RemoteAgent) bool { return now-a.Heard >= shownFor })
	slices.SortFunc(all, latestAsked)
	return all, err
}

// SyncStates stores what present machines send, and forgets the agents of all absent machines.
func SyncStates(ctx context.Context, p *project.Project, there []string, news map[string]json.RawMessage) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		err := RetainMachines(tx, there)
		for machine, agents := range news {
			err = errors.Join(err, StoreStates(tx, machine, agents, p.Now()))
		}
		return err
	})
}

// toldOf stores the state of each machine's agents in the latest event. It outlives the other
// records of an absent machine, which sends the same agents again when it returns.
const toldOf project.RecordKind[map[string]core.AgentState] = "machine.told" // by machine

// tellRemote writes events of agents that began or ended on another machine.
func tellRemote(tx project.Tx, machine string, all []RemoteAgent, now core.Millis) error {
	is, news := make(map[string]core.AgentState, len(all)), false
	was, err := toldOf.Find(tx, machine)
	if err != nil {
		return err
	}
	for _, a := range all {
		is[a.ID] = a.State
		before, known := was[a.ID]
		begun, ended := !known, a.State.Ended() && !before.Ended()
		if news = news || !known || before != a.State; !begun && !ended {
			continue
		}
		_, own, err := Agents.Get(tx, a.ID)
		if err != nil {
			return err
		}
		if own {
			continue // other machines cannot report on this machine's agents
		}
		if begun {
			err = a.event(tx, core.SubagentSpawned, now, map[string]any{"description": a.Description})
		}
		if err == nil && ended {
			err = a.event(tx, core.SubagentStop, now, map[string]any{
				"task_description": a.Description, "state": a.State, "outcome": OutcomeOf(a.State), "stop_reason": a.Reason,
				"tokens": a.Used.Tokens(), "costUSD": a.Used.CostUSD, "duration_ms": max(0, a.Ended-a.Asked),
			})
		}
		if err != nil {
			return err
		}
	}
	if !news {
		return nil
	}
	return toldOf.Save(tx, machine, is)
}

func (a RemoteAgent) event(tx project.Tx, kind string, now core.Millis, data map[string]any) error {
	data["machine_id"], data["agent_type"], data["frame"] = a.Machine, a.Type, a.Frame
	return Emit(tx, now, Agent{ID: a.ID, Frame: a.Frame, Host: a.Host}, kind, data)
}

// ExplainNotFound replaces the error about an unknown agent if the agent is another machine's.
func ExplainNotFound(tx project.Tx, id string, err error) error {
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	id = strings.TrimSpace(id)
	all, wrong := AllRemote(tx)
	at := slices.IndexFunc(all, func(a RemoteAgent) bool { return a.ID == id || a.ID == "agent-"+id })
	if wrong != nil || at < 0 {
		return err
	}
	return core.NotFoundf("%s is an agent of the machine %s: its data is there", all[at].ID, all[at].Machine).
		WithHint("`flame agents runs --elsewhere` shows how far it is")
}
