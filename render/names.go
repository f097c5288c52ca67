package render

import "flame/core"

// commands are the commands of the shell that do what tools do, and the flags that are
// arguments of tools.
var commands = map[core.Name]string{
	core.OpPush: "`flame push`", core.OpPop: "`flame pop`", core.OpStatus: "`flame status`",
	core.OpSetGoal: "`flame goal`", core.OpAddArtifact: "`flame artifact`", core.OpAddDecision: "`flame decision`",
	core.OpDetails: "`flame show`", core.OpSearch: "`flame search`",
	core.OpPlan: "`flame plan`", core.OpPlanChildren: "`flame plan`", core.OpActivate: "`flame activate`",
	core.OpInvalidate: "`flame invalidate`", core.OpTree: "`flame tree`",
	core.OpSpawn: "`flame agents spawn`", core.OpAgentList: "`flame agents runs`", core.OpAgentWait: "`flame agents wait`",
	core.OpAgentStatus: "`flame agents status`", core.OpAgentResult: "`flame agents result`", core.OpAgentCancel: "`flame agents cancel`",
	core.OpHandoff: "`flame agents handoff`", core.OpConverge: "`flame agents converge`",
	core.ArgFrame: "--frame", core.ArgForce: "--force", core.ArgResolution: "--conflict-resolution",
}

// ForShell puts a text into the words of the shell. What only tools do keeps its name.
func ForShell(text string) string {
	return core.FillIn(text, func(n core.Name) string {
		if command, is := commands[n]; is {
			return command
		}
		return string(n)
	})
}

// ForTools puts a text into the words of tools.
func ForTools(text string) string {
	return core.FillIn(text, func(n core.Name) string { return string(n) })
}
