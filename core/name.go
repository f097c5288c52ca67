package core

import "strings"

// A Name is that of something which each door calls differently: an operation, or an
// argument of one. It is what tools call it. In a text it stands as a placeholder, until
// the door that shows the text fills in what it calls it (FillIn).
type Name string

// The operations that texts name, and those that hosts and logs know.
const (
	OpPush         Name = "flame_push"
	OpPop          Name = "flame_pop"
	OpStatus       Name = "flame_status"
	OpSetGoal      Name = "flame_set_goal"
	OpAddArtifact  Name = "flame_add_artifact"
	OpAddDecision  Name = "flame_add_decision"
	OpDetails      Name = "flame_frame_details"
	OpSearch       Name = "flame_search"
	OpPlan         Name = "flame_plan"
	OpPlanChildren Name = "flame_plan_children"
	OpActivate     Name = "flame_activate"
	OpInvalidate   Name = "flame_invalidate"
	OpTree         Name = "flame_tree"
	OpSummarize    Name = "flame_summarize"
	OpPreview      Name = "flame_context_preview"

	OpSubagentList   Name = "flame_subagent_list"
	OpSubagentConfig Name = "flame_subagent_config"

	OpSpawn       Name = "spawn_agent"
	OpAgentWait   Name = "flame_agent_wait"
	OpAgentStatus Name = "flame_agent_status"
	OpAgentResult Name = "flame_agent_result"
	OpAgentList   Name = "flame_agent_list"
	OpAgentCancel Name = "flame_agent_cancel"
	OpHandoff     Name = "flame_handoff"
	OpConverge    Name = "flame_converge"
)

// The arguments that texts name.
const (
	ArgFrame      Name = "frameID"
	ArgForce      Name = "force"
	ArgResolution Name = "conflict_resolution"
)

// nameStart and nameEnd stand around a Name in a text: controls, which nobody writes.
const nameStart, nameEnd = "\x0e", "\x0f"

// String returns the placeholder.
func (n Name) String() string { return nameStart + string(n) + nameEnd }

// FillIn puts what a door calls them in place of the names in a text.
func FillIn(text string, called func(Name) string) string {
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
