package op

import (
	"fmt"
	"strings"
)

// A Command is a slash command, /flame:NAME in any host. It inserts the user's
// line and says which tool it calls and what of the line its arguments are; the
// model reads the line.
type Command struct {
	Name        string
	Description string
	Hint        string            // what may follow the name; empty: it takes no line
	Tool        Name              // the tool it calls
	Work        bool              // the line describes work for which no frame of its own is made below the session's root
	Arguments   []CommandArgument // of the server's prompt; together, in this order, they make the line
	Options     []CommandOption   // that the line may have
	Others      []string          // more arguments of the tool that the line may set: not all hosts show them
	Text        string            // what the model reads before the line
}

// A CommandOption is an option of a command's line.
type CommandOption struct {
	Name  string // without the hyphens before it
	Field string // the argument of the tool that it sets
	Value string // its values, unit and default
}

// A CommandArgument is an argument of the server's prompt for a command. A
// prompt only inserts arguments: hosts may fill them in after the server has
// answered (OpenCode sends "$1").
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

// lined returns a command whose line has options. Its text begins with what the words of the
// line are, names the argument of each option, and ends with the rest.
func lined(c Command, words, rest string) Command {
	var b strings.Builder
	fmt.Fprintf(&b, "Call the tool %s for the line below. %s Options are --name VALUE or --name=VALUE, anywhere in the line:", c.Tool, words)
	for i, o := range c.Options {
		if i > 0 {
			b.WriteByte(';')
		}
		fmt.Fprintf(&b, " --%s is %s (%s)", o.Name, o.Field, o.Value)
	}
	if b.WriteString(". "); len(c.Others) > 0 {
		fmt.Fprintf(&b, "Other options set the argument of that name, with _ for -: %s. ", strings.Join(c.Others, ", "))
	}
	b.WriteString("Any further option ")
	if c.Work {
		b.WriteString("is part of that text")
	} else {
		b.WriteString("does not exist: tell me")
	}
	c.Text = b.String() + ". Set no argument that the line does not give. " + rest
	return c
}

// Commands lists all commands, for the hosts' files and
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
	lined(Command{
		Name:        "delegate",
		Description: "Delegate a task to an agent in its own process",
		Hint:        "TASK --agent-type TYPE [--inherit-context=false] [--permission-mode MODE] [--timeout SECONDS] [--tools A,B]",
		Tool:        Spawn,
		Work:        true,
		Arguments:   []CommandArgument{{"line", "TASK --agent-type TYPE, and options", true}},
		Options: []CommandOption{
			{"agent-type", "subagent_type", "builder, tester, analyzer, retriever or another by name; required"},
			{"inherit-context", "inherit_context", "true or false, default true"},
			{"permission-mode", "permission_mode", "plan, acceptEdits or bypassPermissions, never more than yours; default: that of the type"},
			{"timeout", "timeout", "a number of seconds, default 300; 0: none"},
			{"tools", "tools", "a list, comma-separated; default: those of the type"},
		},
		Others: []string{"description", "background", "model", "frameID", "cwd", "isolation", "on", "idempotency_key", "budget_tokens", "budget_usd"},
	},
		"prompt is its text without the options, and without quotes around all of it, word for word.",
		"Then tell me the id of the agent and carry on; do not do its work yourself."),
	lined(Command{
		Name:        "handoff",
		Description: "Hand over to an agent until it ends",
		Hint:        "SUBAGENT_ID [--transfer-control] [--timeout SECONDS] [--on-failure retry|abort|escalate]",
		Tool:        Handoff,
		Arguments:   []CommandArgument{{"line", "SUBAGENT_ID, and options", true}},
		Options: []CommandOption{
			{"transfer-control", "transfer_control", "true where it stands alone, default false"},
			{"timeout", "timeout", "a number of seconds, default 600"},
			{"on-failure", "on_failure", "retry, abort or escalate; default escalate"},
		},
	},
		"subagent_id is the id in it.",
		"While its answer says that the agent is still running, call "+string(AgentWait)+". Then tell me the outcome."),
	lined(Command{
		Name:        "converge",
		Description: "Combine the results of several agents into one",
		Hint:        "SUBAGENT_ID SUBAGENT_ID… --strategy merge|vote|consensus|first_success [--conflict-resolution METHOD] [--output-format FORMAT]",
		Tool:        Converge,
		Arguments:   []CommandArgument{{"line", "two or more SUBAGENT_IDs, --strategy, and options", true}},
		Options: []CommandOption{
			{"strategy", "strategy", "merge, vote, consensus or first_success; required"},
			{"conflict-resolution", "conflict_resolution", "manual, auto_accept_latest or prefer_higher_confidence; default manual"},
			{"output-format", "output_format", "json, markdown or delta_batch; default delta_batch"},
		},
		Others: []string{"tolerance"},
	},
		"subagent_ids is the list of the ids in it.",
		"Then show me its answer, including every conflict."),
}
