// Package record holds the records that agents are kept in, and finds them. It knows
// nothing of how agents come to what stands there.
package record

import (
	"encoding/json"
	"path/filepath"

	"flame/agents/carry"
	"flame/agents/changes"
	"flame/agents/definition"
	"flame/core"
	"flame/project"
)

// The kinds of records that agents are kept in.
const (
	Runs     project.Kind[Run]    = "agent"         // by subagent_id
	Living   project.Kind[Live]   = "agent_live"    // by subagent_id; gone once all about its end is done
	Trees    project.Kind[Tree]   = "agent_tree"    // by the session at the root
	Sessions project.Kind[string] = "agent_session" // a subagent_id, by its session
	Keys     project.Kind[string] = "agent_key"     // a subagent_id, by parent session and idempotency key

	recent project.Kind[core.Millis] = "agent_recent" // when agents ended, of the last day, by subagent_id

	// Children has nothing but ids, so that the agents that one started are found without
	// reading all: "<agent>/" and "<agent>/<child>" for each of them. Older agents have none.
	Children project.Kind[struct{}] = "agent_child"

	Assignments project.Kind[Assignment] = "agent_assignment" // by subagent_id

	// Untold has why an agent elsewhere is to stop whose worker could not be told, by subagent_id.
	Untold project.Kind[string] = "agent_untold"
)

// An Assignment is what an agent is told, beside what its definition says. It may
// be long, so it is kept apart from the agent's record.
type Assignment struct {
	Task    string          `json:"task"`              // as it was asked
	Context string          `json:"context,omitempty"` // of its frame, when it was asked
	Inline  json.RawMessage `json:"inline,omitempty"`  // its definition, where the call brought that along

	Definition *definition.Definition `json:"definition,omitempty"` // of an agent that another machine asked for
	Base       *carry.Base            `json:"base,omitempty"`       // that an agent elsewhere begins from, once it was given
}

// A Tree is what was spawned below one user's session.
type Tree struct {
	Total   int      `json:"total"`
	Live    []string `json:"live,omitempty"` // ids of agents that are not final
	Tokens  int64    `json:"tokens,omitempty"`
	CostUSD float64  `json:"costUSD,omitempty"`
}

// Folder returns the path of an agent's own folder in a project's data folder.
func Folder(data, id string) string { return filepath.Join(data, "agents", id) }

// Patch returns the path of what an agent changed in a worktree of its own.
func Patch(data, id string) string { return filepath.Join(Folder(data, id), changes.PatchFile) }
