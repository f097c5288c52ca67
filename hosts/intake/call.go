package intake

import (
	"context"
	"encoding/json"

	"flame/hosts"
)

// A Caller handles the events that a host reports by calling the server of its session.
type Caller struct {
	Desk  Desk
	Host  hosts.Host // that has Calls
	Agent string     // id of the agent in whose process the host runs; empty outside of agents
	Off   bool       // every event gets an empty answer, and nothing else is done
	// Worktree returns the root of the project's worktree that a folder is in.
	Worktree func(folder string) string
}

// Answer handles the event of a call and returns the answer, as a process of its own would
// (Desk.Handle). Errors go to the log: an event must never fail its host.
func (c Caller) Answer(ctx context.Context, arguments json.RawMessage) string {
	event, folder, err := c.Host.Calls.Event(arguments)
	if err != nil {
		c.Desk.Project.Log.Warn("hook", "error", err)
		return c.Host.Calls.Silence(nil)
	}
	if c.Off {
		return c.Host.Calls.Silence(event)
	}
	letter := Letter{At: c.Desk.Project.Now(), Dir: c.Worktree(folder), Agent: c.Agent, Event: event}
	answer, _, err := c.Desk.Handle(ctx, c.Host, letter)
	if err != nil {
		c.Desk.Project.Log.Warn("hook", "error", err)
	}
	if len(answer) == 0 {
		return c.Host.Calls.Silence(event)
	}
	return string(answer)
}
