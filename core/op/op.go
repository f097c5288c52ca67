// Package op names flame's operations: as tools, in texts of any door, and as slash
// commands of hosts.
package op

import "strings"

// A Name names something that each door calls differently: an operation, or an
// argument of one. Its value is what tools call it. In a text it is a
// placeholder until the door that shows the text fills in its own name
// (ReplaceNames).
type Name string

// The operations named in texts, and those that hosts and logs know.
const (
	Push         Name = "flame_push"
	Pop          Name = "flame_pop"
	Status       Name = "flame_status"
	SetGoal      Name = "flame_set_goal"
	AddArtifact  Name = "flame_add_artifact"
	AddDecision  Name = "flame_add_decision"
	Details      Name = "flame_frame_details"
	Search       Name = "flame_search"
	Plan         Name = "flame_plan"
	PlanChildren Name = "flame_plan_children"
	Activate     Name = "flame_activate"
	Invalidate   Name = "flame_invalidate"
	Tree         Name = "flame_tree"
	Summarize    Name = "flame_summarize"
	Preview      Name = "flame_context_preview"
	Recall       Name = "flame_recall"
	More         Name = "flame_more" // calls tools that the client does not list

	SubagentList   Name = "flame_subagent_list"
	SubagentConfig Name = "flame_subagent_config"

	Spawn       Name = "spawn_agent"
	AgentWait   Name = "flame_agent_wait"
	AgentStatus Name = "flame_agent_status"
	AgentResult Name = "flame_agent_result"
	AgentList   Name = "flame_agent_list"
	AgentCancel Name = "flame_agent_cancel"
	Handoff     Name = "flame_handoff"
	Converge    Name = "flame_converge"
)

// The arguments named in texts.
const (
	ArgFrame      Name = "frameID"
	ArgForce      Name = "force"
	ArgNext       Name = "next"
	ArgResolution Name = "conflict_resolution"
	ArgConflicts  Name = "conflicts"
)

// nameStart and nameEnd surround a Name in a text: control characters, which
// nobody writes.
const nameStart, nameEnd = "\x0e", "\x0f"

// String returns the placeholder.
func (n Name) String() string { return nameStart + string(n) + nameEnd }

// ReplaceNames replaces the names in a text by what a door calls them.
func ReplaceNames(text string, called func(Name) string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, nameStart)
		name, after, ended := strings.Cut(rest, nameEnd)
		b.WriteString(before)
		if !found || !ended {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(called(Name(name)))
		text = after
	}
}
