package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// A prompt is a slash command of hosts. It only places its arguments: what must
// be parsed is parsed by the tool that it leads to, since hosts may fill in the
// arguments after the server has answered (OpenCode sends "$1"). Where setup has
// put a command of the same name into a host, it says the same (hosts.Commands):
// which of the two a user gets is up to the host.
type prompt struct {
	name, description string
	arguments         []promptArgument // in the order of the line that they make; without any there is none
	text              string           // stands before that line
}

type promptArgument struct {
	name, description string
	required          bool
}

// prompts are the slash commands.
var prompts = []prompt{
	{
		name: "push", description: "Start a frame for a piece of work",
		arguments: []promptArgument{{"goal", "what the work is to achieve", true}},
		text: "Call the tool flame_push with the line below as its goal, word for word. " +
			"If there is none, name the next piece of work yourself. Then do that work in the new frame.",
	},
	{
		name: "pop", description: "End the current frame with a summary",
		arguments: []promptArgument{{"status", "completed, failed or blocked", true}, {"summary", "what came of it", false}},
		text: "Call the tool flame_pop for the current frame. The line below may begin with its status " +
			"(completed, failed or blocked; completed if none is given); the rest is the summary. " +
			"If there is no summary, write it: what was done, what was decided, what is left open.",
	},
	{
		name: "status", description: "Show the frames of this project",
		text: "Call the tool flame_status and show its answer as it is.",
	},
	{
		name: "delegate", description: "Delegate a task to an agent of its own process",
		arguments: []promptArgument{{"command", "TASK --agent-type TYPE, and options", true}},
		text: "Call the tool spawn_agent with one argument, command: the line below, word for word. " +
			"Then tell me the id of the agent and go on; do not do its work yourself.",
	},
	{
		name: "handoff", description: "Hand over to an agent until it ends",
		arguments: []promptArgument{{"command", "SUBAGENT_ID, and options", true}},
		text: "Call the tool flame_handoff with one argument, command: the line below, word for word. " +
			"While its answer says that the agent still runs, call flame_agent_wait. Then tell me what it came to.",
	},
	{
		name: "converge", description: "Make one result of those of several agents",
		arguments: []promptArgument{{"command", "two or more SUBAGENT_IDs, --strategy, and options", true}},
		text: "Call the tool flame_converge with one argument, command: the line below, word for word. " +
			"Then show me its answer, and every conflict in it.",
	},
}

// placeholders matches a line of nothing but OpenCode's placeholders for its words.
var placeholders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$1( \$\d+)*$`) })

// line is what the user typed, as far as it came. OpenCode asks for the text with
// placeholders for the words and fills those in afterwards, without quotes; its
// placeholder for the line keeps them (ran).
func (p prompt) line(typed map[string]string) string {
	var words []string
	for _, a := range p.arguments {
		if word := typed[a.name]; word != "" {
			words = append(words, word)
		}
	}
	line := strings.Join(words, " ")
	if placeholders().MatchString(line) {
		return "$ARGUMENTS"
	}
	return line
}

func (s *Server) addPrompts() {
	for _, p := range prompts {
		options := []mcp.PromptOption{mcp.WithPromptDescription(p.description)}
		for _, a := range p.arguments {
			argument := []mcp.ArgumentOption{mcp.ArgumentDescription(a.description)}
			if a.required {
				argument = append(argument, mcp.RequiredArgument())
			}
			options = append(options, mcp.WithArgument(a.name, argument...))
		}
		s.MCP.AddPrompt(mcp.NewPrompt(p.name, options...), p.answer)
	}
}

func (p prompt) answer(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	for _, a := range p.arguments {
		if a.required && strings.TrimSpace(request.Params.Arguments[a.name]) == "" {
			return nil, adviceError(fmt.Sprintf("argument %s is missing: %s", a.name, a.description))
		}
	}
	text := p.text
	if len(p.arguments) > 0 {
		text += "\n\n" + p.line(request.Params.Arguments)
	}
	return mcp.NewGetPromptResult(p.description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}
