package op

import "strings"

// A Command is a slash command, /flame:NAME in any host. It places the user's line and
// names the tool; what must be understood of the line is left to the model and that tool.
type Command struct {
	Name        string
	Description string
	Hint        string            // what may follow the name; empty: it takes no line
	Tool        Name              // the tool it leads to
	Work        bool              // the line says what is to be done
	OneArgument bool              // the tool takes the line in one argument, and reads it itself
	Arguments   []CommandArgument // of the server's prompt, which make the line, in that order
	Text        string            // what the model reads before the line
}

// A CommandArgument is one of the server's prompt of a command. A prompt only places
// arguments: what must be parsed is parsed by the tool, since hosts may fill them in
// after the server has answered (OpenCode sends "$1").
type CommandArgument struct {
	Name, Description string
	Required          bool
}

// CommandLine stands for the line that the user typed after a command's name: hosts put
// the line in as it is.
const CommandLine = "$ARGUMENTS"

// Slash returns the command as a user types it, without a line.
func (c Command) Slash() string { return "/flame:" + c.Name }

// Prompt returns what the model reads, with a line.
func (c Command) Prompt(line string) string {
	if c.Hint == "" {
		return c.Text
	}
	return c.Text + commandBreak + line
}

// commandBreak stands between a command's text and the line.
const commandBreak = "\n\n"

// CommandOf returns the command that a prompt is of, with the line; ok is false for other
// prompts.
func CommandOf(prompt string) (c Command, line string, ok bool) {
	text, line, _ := strings.Cut(prompt, commandBreak)
	for _, c := range Commands {
		if c.Text == text {
			return c, strings.TrimSpace(line), true
		}
	}
	return c, "", false
}

// Commands are all there are (DESIGN §7, prompts), for the files of hosts and for the
// server's prompts of the same names, which in some hosts take their place.
var Commands = []Command{
	{
		Name:        "push",
		Description: "Start a frame for a piece of work",
		Hint:        "GOAL",
		Tool:        Push,
		Work:        true,
		Arguments:   []CommandArgument{{"goal", "what the work is to achieve", true}},
		Text: "Call the tool " + string(Push) + " with the line below as its goal, word for word. " +
			"If there is none, name the next piece of work yourself. Then do that work in the new frame.",
	},
	{
		Name:        "pop",
		Description: "End the current frame with a summary",
		Hint:        "[completed|failed|blocked] [SUMMARY]",
		Tool:        Pop,
		Arguments:   []CommandArgument{{"status", "completed, failed or blocked", true}, {"summary", "what came of it", false}},
		Text: "Call the tool " + string(Pop) + " for the current frame. The line below may begin with its status " +
			"(completed, failed or blocked; completed if none is given); the rest is the summary. " +
			"If there is no summary, write it: what was done, what was decided, what is left open.",
	},
	{
		Name:        "status",
		Description: "Show the frames of this project",
		Tool:        Status,
		Text:        "Call the tool " + string(Status) + " and show its answer as it is.",
	},
	{
		Name:        "delegate",
		Description: "Delegate a task to an agent of its own process",
		Hint:        "TASK --agent-type TYPE [--inherit-context=false] [--permission-mode MODE] [--timeout SECONDS] [--tools A,B]",
		Tool:        Spawn,
		Work:        true,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "TASK --agent-type TYPE, and options", true}},
		Text: "Call the tool " + string(Spawn) + " with one argument, command: the line below, word for word. " +
			"Then tell me the id of the agent and go on; do not do its work yourself.",
	},
	{
		Name:        "handoff",
		Description: "Hand over to an agent until it ends",
		Hint:        "SUBAGENT_ID [--transfer-control] [--timeout SECONDS] [--on-failure retry|abort|escalate]",
		Tool:        Handoff,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "SUBAGENT_ID, and options", true}},
		Text: "Call the tool " + string(Handoff) + " with one argument, command: the line below, word for word. " +
			"While its answer says that the agent still runs, call " + string(AgentWait) + ". Then tell me what it came to.",
	},
	{
		Name:        "converge",
		Description: "Make one result of those of several agents",
		Hint:        "SUBAGENT_ID SUBAGENT_ID… --strategy merge|vote|consensus|first_success [--conflict-resolution METHOD] [--output-format FORMAT]",
		Tool:        Converge,
		OneArgument: true,
		Arguments:   []CommandArgument{{"command", "two or more SUBAGENT_IDs, --strategy, and options", true}},
		Text: "Call the tool " + string(Converge) + " with one argument, command: the line below, word for word. " +
			"Then show me its answer, and every conflict in it.",
	},
}
