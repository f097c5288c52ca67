package intake

import (
	"context"
	"encoding/json"

	"flame/hosts"
)

// A ToolHook handles the events that a host reports by calling the server of its session.
type ToolHook struct {
	Handler Handler
	Host    hosts.Host // that has Calls
	Agent   string     // id of the agent in whose process the host runs; empty outside of agents
	Off     bool       // every event gets an empty answer, and nothing else is done
	// Worktree returns the root of the project's worktree that a folder is in.
	Worktree func(folder string) string
}

// Answer handles the event of a call and returns the answer, as a process of its own would
// (Handler.Handle). Errors go to the log: an event must never fail its host.
func (c ToolHook) Answer(ctx context.Context, arguments json.RawMessage) string {
	event, folder, err := c.Host.Events.Tool.Event(arguments)
	if err != nil {
		c.Handler.Project.Log.Warn("hook", "error", err)
		return c.Host.Events.Tool.Silence(nil)
	}
	if c.Off {
		return c.Host.Events.Tool.Silence(event)
	}
	queued := QueuedEvent{At: c.Handler.Project.Now(), Dir: c.Worktree(folder), Agent: c.Agent, Event: event}
	answer, _, err := c.Handler.Handle(ctx, c.Host, queued)
	if err != nil {
		c.Handler.Project.Log.Warn("hook", "error", err)
	}
	if len(answer) == 0 {
		return c.Host.Events.Tool.Silence(event)
	}
	return string(answer)
}
