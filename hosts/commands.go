package hosts

// Arguments stands in a Command's text for what the user typed after its name;
// both hosts put that line in as it is.
const Arguments = "$ARGUMENTS"

// A Command is a slash command, /flame:NAME in either host. It places the
// user's line and names the tool; what must be understood of the line is left
// to the model and that tool.
type Command struct {
	Name        string
	Description string
	Hint        string // what may follow the name; may be empty
	Tool        string // the tool it leads to
	Text        string // what the model reads
}

// Commands are all there are (DESIGN §7, prompts). The server's prompts of the same
// names say the same: in some hosts those take their place.
func Commands() []Command {
	return []Command{
		{
			Name:        "push",
			Description: "Start a frame for a piece of work",
			Hint:        "GOAL",
			Tool:        "flame_push",
			Text: "Call the tool flame_push with the line below as its goal, word for word. " +
				"If there is none, name the next piece of work yourself. Then do that work in the new frame.\n\n" + Arguments,
		},
		{
			Name:        "pop",
			Description: "End the current frame with a summary",
			Hint:        "[completed|failed|blocked] [SUMMARY]",
			Tool:        "flame_pop",
			Text: "Call the tool flame_pop for the current frame. The line below may begin with its status " +
				"(completed, failed or blocked; completed if none is given); the rest is the summary. " +
				"If there is no summary, write it: what was done, what was decided, what is left open.\n\n" + Arguments,
		},
		{
			Name:        "status",
			Description: "Show the frames of this project",
			Tool:        "flame_status",
			Text:        "Call the tool flame_status and show its answer as it is.",
		},
		{
			Name:        "delegate",
			Description: "Delegate a task to an agent of its own process",
			Hint:        "TASK --agent-type TYPE [--inherit-context=false] [--permission-mode MODE] [--timeout SECONDS] [--tools A,B]",
			Tool:        "spawn_agent",
			Text: "Call the tool spawn_agent with one argument, command: the line below, word for word. " +
				"Then tell me the id of the agent and go on; do not do its work yourself.\n\n" + Arguments,
		},
		{
			Name:        "handoff",
			Description: "Hand over to an agent until it ends",
			Hint:        "SUBAGENT_ID [--transfer-control] [--timeout SECONDS] [--on-failure retry|abort|escalate]",
			Tool:        "flame_handoff",
			Text: "Call the tool flame_handoff with one argument, command: the line below, word for word. " +
				"While its answer says that the agent still runs, call flame_agent_wait. Then tell me what it came to.\n\n" + Arguments,
		},
		{
			Name:        "converge",
			Description: "Make one result of those of several agents",
			Hint:        "SUBAGENT_ID SUBAGENT_ID… --strategy merge|vote|consensus|first_success [--conflict-resolution METHOD] [--output-format FORMAT]",
			Tool:        "flame_converge",
			Text: "Call the tool flame_converge with one argument, command: the line below, word for word. " +
				"Then show me its answer, and every conflict in it.\n\n" + Arguments,
		},
	}
}
