package record

import (
	"encoding/json"
	"os"

	"flame/core"
	"flame/project"
)

// Tell appends an event of an agent.
func Tell(tx project.Tx, now core.Millis, run Run, kind string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.AppendEvent(core.Event{
		V: core.EventVersion, TS: now, Event: kind, Session: run.Session, ParentSession: run.ParentSession,
		Frame: run.Frame, SubagentID: run.ID, Depth: run.Depth, Host: run.Host, Data: raw,
	})
	return err
}

// Machine names the one that an agent runs on, for logs of several put together.
func Machine() string {
	name, err := os.Hostname()
	if err != nil {
		return "" // an event may do without
	}
	return name
}
