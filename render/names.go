package render

import (
	"sync"

	"flame/core"
	"flame/core/op"
)

// commands are the shell's commands and flags for the tools and their arguments.
var commands = sync.OnceValue(func() map[op.Name]string {
	return map[op.Name]string{
		op.Push: "`flame push`", op.Pop: "`flame pop`", op.Status: "`flame status`",
		op.SetGoal: "`flame goal`", op.AddArtifact: "`flame artifact`", op.AddDecision: "`flame decision`",
		op.Details: "`flame show`", op.Search: "`flame search`",
		op.Plan: "`flame plan`", op.PlanChildren: "`flame plan`", op.Activate: "`flame activate`",
		op.Invalidate: "`flame invalidate`", op.Tree: "`flame tree`",
		op.Spawn: "`flame agents spawn`", op.AgentList: "`flame agents runs`", op.AgentWait: "`flame agents wait`",
		op.AgentStatus: "`flame agents status`", op.AgentResult: "`flame agents result`", op.AgentCancel: "`flame agents cancel`",
		op.Handoff: "`flame agents handoff`", op.Converge: "`flame agents converge`",
		op.ArgFrame: "--frame", op.ArgForce: "--force", op.ArgNext: "--next", op.ArgResolution: "--conflict-resolution", op.ArgConflicts: "--conflicts",
	}
})

// ToCommands replaces names of tools by commands of the shell. Tools without a command keep their
// names.
func ToCommands(text string) string {
	return op.ReplaceNames(text, func(n op.Name) string {
		if command, is := commands()[n]; is {
			return command
		}
		return string(n)
	})
}

// Hint returns the hint of an error in the words of the shell; empty if it has none.
func Hint(err error) string { return ToCommands(core.HintOf(err)) }

// ToToolNames replaces commands of the shell by names of tools.
func ToToolNames(text string) string {
	return op.ReplaceNames(text, func(n op.Name) string { return string(n) })
}
