package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// A prompt is a slash command of hosts. It only places its arguments: what must
// be parsed is parsed by the tool that it leads to, since hosts may fill in the
// arguments after the server has answered (OpenCode sends "$1").
type prompt struct {
	name, description string
	arguments         []promptArgument
	text              func(arg func(name string) string) string
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
		text: func(arg func(string) string) string {
			return fmt.Sprintf("Call flame_push with the goal %q, then begin that work.", arg("goal"))
		},
	},
	{
		name: "pop", description: "End the current frame and return to its parent",
		arguments: []promptArgument{{"status", "completed, failed or blocked", true}, {"summary", "what came of it", false}},
		text: func(arg func(string) string) string {
			text := fmt.Sprintf("Call flame_pop with the status %q.", arg("status"))
			if summary := arg("summary"); summary != "" {
				return text + fmt.Sprintf(" Base its summary on this: %q", summary)
			}
			return text + " Write its summary yourself: outcome, decisions, what others need to know, what is open."
		},
	},
	{
		name: "status", description: "Show where this session is in the tree of frames",
		text: func(func(string) string) string {
			return "Call flame_status and show me its answer as it is."
		},
	},
}

// linePrompts are commands whose line is parsed by the tool that they lead to.
var linePrompts = []struct{ name, description, tool, line string }{
	{"delegate", "Delegate a task to an agent of its own process", "spawn_agent", "TASK --agent-type TYPE, and options"},
	{"handoff", "Hand over to an agent until it ends", "flame_handoff", "SUBAGENT_ID, and options"},
	{"converge", "Make one result of those of several agents", "flame_converge", "two or more SUBAGENT_IDs, --strategy, and options"},
}

// allPrompts gives every slash command.
func allPrompts() []prompt {
	all := slices.Clone(prompts)
	for _, p := range linePrompts {
		all = append(all, prompt{
			name: p.name, description: p.description, arguments: []promptArgument{{"command", p.line, true}},
			text: func(arg func(string) string) string {
				return fmt.Sprintf("Call %s with the argument command, word for word: %s", p.tool, whole(arg("command")))
			},
		})
	}
	return all
}

// whole gives a line as it was typed. OpenCode asks for the text with a placeholder
// for the first word and fills it in afterwards, without quotes; its placeholder
// for the line keeps them (ran).
func whole(line string) string {
	if line == "$1" {
		return "$ARGUMENTS"
	}
	return line
}

func (s *Server) addPrompts() {
	for _, p := range allPrompts() {
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
	text := p.text(func(name string) string { return request.Params.Arguments[name] })
	return mcp.NewGetPromptResult(p.description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
}
