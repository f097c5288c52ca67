package op

import "strings"

// A Command is a slash command, /flame:NAME in any host. It inserts the user's
// line and names the tool; understanding the line is left to the model and that
// tool.
type Command struct {
	Name        string
	Description string
	Hint        string            // what may follow the name; empty: it takes no line
	Tool        Name              // the tool it calls
	Work        bool              // the line describes work for which no frame of its own is made below the session's root
	OneArgument bool              // the tool takes the whole line in one argument and parses it itself
	Arguments   []CommandArgument // of the server's prompt; together, in this order, they make the line
	Text        string            // what the model reads before the line
}

// A CommandArgument is an argument of the server's prompt for a command. A
// prompt only inserts arguments: any parsing is left to the tool, since hosts
// may fill them in after the server has answered (OpenCode sends "$1").
type CommandArgument struct {
	Name, Description string
	Required          bool
}

// CommandLine stands for what the user typed after a command's name: hosts
// insert that verbatim.
const CommandLine = "$ARGUMENTS"

// Slash returns the command as a user types it, without a line.
func (c Command) Slash() string { return "/flame:" + c.Name }

// Prompt returns what the model reads for a line.
func (c Command) Prompt(line string) string {
	if c.Hint == "" {
		return c.Text
	}
	return c.Text + commandBreak + line
}

// commandBreak stands between a command's text and the line.
const commandBreak = "\n\n"

// CommandOf returns the command that a prompt comes from, and its line; ok is
// false for other prompts.
func CommandOf(prompt string) (c Command, line string, ok bool) {
	text, line, _ := strings.Cut(prompt, commandBreak)
	for _, c := range Commands {
		if c.Text == text {
			return c, strings.TrimSpace(line), true
		}
	}
	return c, "", false
}

// Commands lists all commands (DESIGN §7, prompts), for the hosts' files and
// for the server's prompts of the same names, which replace them in some hosts.
var Commands = []Command{
	{
		Name:        "push",
		Description: "Start a frame for a piece of work",
		Hint:        "GOAL",
		Tool:        Push,
		Arguments:   []CommandArgument{{"goal", "what the work is to achieve", false}},
		Text: "Call the tool " + string(Push) + " with the line below as its goal, word for word. " +
			"If it is empty, name the next piece of work yourself. Then do that work in the new frame.",
	},
	{
		Name:        "pop",
		Description: "End the current frame with a summary",
		Hint:        "[completed|failed|blocked] [SUMMARY]",
		Tool:        Pop,
		Arguments:   []CommandArgument{{"status", "completed, failed or blocked", false}, {"summary", "the outcome of the work", false}},
		Text: "Call the tool " + string(Pop) + " for the current frame, as the first call of its message. The line below may begin with its status " +
			"(completed, failed or blocked; completed if none is given); the rest is the summary. " +
			"If there is no summary, write one: what was done, what is still open. " +
			"Its arguments decisions and artifacts take what is not recorded yet.",
	},
	{
		Name:        "status",
		Description: "Show the frames of this project",
		Tool:        Status,
		Text:        "Call the tool " + string(Status) + " and show its answer as it is.",
	},
	{
		Name:        "delegate",
		Description: "Delegate a task to an agent in its own process",
		Hint:        "TASK --agent-type TYPE [--inherit-context=false] [--permission-mode MODE] [--timeout SECONDS] [--tools A,B]",
		Tool:        Spawn,
		Work:        true,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "TASK --agent-type TYPE, and options", true}},
		Text: "Call the tool " + string(Spawn) + " with one argument, command: the line below, word for word. " +
			"Then tell me the id of the agent and carry on; do not do its work yourself.",
	},
	{
		Name:        "handoff",
		Description: "Hand over to an agent until it ends",
		Hint:        "SUBAGENT_ID [--transfer-control] [--timeout SECONDS] [--on-failure retry|abort|escalate]",
		Tool:        Handoff,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "SUBAGENT_ID, and options", true}},
		Text: "Call the tool " + string(Handoff) + " with one argument, command: the line below, word for word. " +
			"While its answer says that the agent is still running, call " + string(AgentWait) + ". Then tell me the outcome.",
	},
	{
		Name:        "converge",
		Description: "Combine the results of several agents into one",
		Hint:        "SUBAGENT_ID SUBAGENT_ID… --strategy merge|vote|consensus|first_success [--conflict-resolution METHOD] [--output-format FORMAT]",
		Tool:        Converge,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "two or more SUBAGENT_IDs, --strategy, and options", true}},
		Text: "Call the tool " + string(Converge) + " with one argument, command: the line below, word for word. " +
			"Then show me its answer, including every conflict.",
	},
}
