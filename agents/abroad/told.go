package abroad

import (
	"encoding/json"

	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// toldOf has the state that each machine's agents had when the events said so last. It outlives what
// is kept of a machine that is away, as that tells of the same agents when it is back.
const toldOf project.Kind[map[string]core.AgentState] = "agents_abroad_told" // by machine

// tell writes the events of agents that began or ended on another machine.
func tell(tx project.Tx, machine string, all []Agent, now core.Millis) error {
	was, is, news := map[string]core.AgentState{}, make(map[string]core.AgentState, len(all)), false
	if _, err := toldOf.Load(tx, machine, &was); err != nil {
		return err
	}
	for _, a := range all {
		is[a.ID] = a.State
		before, known := was[a.ID]
		begun, ended := !known, a.State.Ended() && !before.Ended()
		if news = news || !known || before != a.State; !begun && !ended {
			continue
		}
		own, err := record.Runs.Load(tx, a.ID, &record.Run{})
		if err != nil {
			return err
		}
		if own {
			continue // no other machine has a say in what this one's agents do
		}
		if begun {
			err = a.event(tx, core.SubagentSpawned, now, map[string]any{"description": a.Description})
		}
		if err == nil && ended {
			err = a.event(tx, core.SubagentStop, now, map[string]any{
				"task_description": a.Description, "state": a.State, "outcome": record.OutcomeOf(a.State), "stop_reason": a.Reason,
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

// event writes an event of an agent of another machine.
func (a Agent) event(tx project.Tx, kind string, now core.Millis, data map[string]any) error {
	data["machine_id"], data["agent_type"], data["frame"] = a.Machine, a.Type, a.Frame
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.AppendEvent(core.Event{
		V: core.EventVersion, TS: now, Event: kind, Frame: a.Frame, SubagentID: a.ID, Host: a.Host, Data: raw,
	})
	return err
}
