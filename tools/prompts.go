package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/view"
)

// placeholders matches a line that consists only of OpenCode's placeholders for
// its words.
var placeholders = core.Pattern(`^\$1( \$\d+)*$`)

// typedLine returns the user's words after c, as far as they arrived. OpenCode
// asks for the text with placeholders for the words and fills those in
// afterwards, without quotes; its placeholder for the whole line keeps them
// (observed).
func typedLine(c op.Command, typed map[string]string) string {
	var words []string
	for _, a := range c.Arguments {
		if word := typed[a.Name]; word != "" {
			words = append(words, word)
		}
	}
	line := strings.Join(words, " ")
	if placeholders().MatchString(line) {
		return op.CommandLine
	}
	return line
}

// prompts returns the slash commands as prompts. If setup has also installed a
// command of the same name in a host, the host decides which of the two a user
// gets.
func prompts() (all []server.ServerPrompt) {
	for _, c := range op.Commands {
		options := []mcp.PromptOption{mcp.WithPromptDescription(c.Description)}
		for _, a := range c.Arguments {
			argument := []mcp.ArgumentOption{mcp.ArgumentDescription(a.Description)}
			if a.Required {
				argument = append(argument, mcp.RequiredArgument())
			}
			options = append(options, mcp.WithArgument(a.Name, argument...))
		}
		answer := func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return promptOf(c, request.Params.Arguments)
		}
		all = append(all, server.ServerPrompt{Prompt: mcp.NewPrompt(c.Name, options...), Handler: answer})
	}
	return all
}

// promptOf returns the prompt of a command with the typed arguments.
func promptOf(c op.Command, typed map[string]string) (*mcp.GetPromptResult, error) {
	for _, a := range c.Arguments {
		if a.Required && strings.TrimSpace(typed[a.Name]) == "" {
			return nil, adviceError(fmt.Sprintf("argument %s is missing: %s", a.Name, a.Description))
		}
	}
	text := mcp.NewTextContent(c.Prompt(typedLine(c, typed)))
	return mcp.NewGetPromptResult(c.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
}

// maxCompletions is the protocol's limit on values in one completion.
const maxCompletions = 100

// A completer completes the words of a client's user.
type completer struct{ project *project.Project }

// CompletePromptArgument offers statuses for arguments of that name; goals and
// summaries are free text.
func (completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if argument.Name != "status" {
		return completion(nil), nil
	}
	return completion(lo.Filter(endStatus("").Values(), func(status string, _ int) bool { return strings.HasPrefix(status, argument.Value) })), nil
}

// CompleteResourceArgument offers the ids of frames.
func (c completer) CompleteResourceArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	frames, err := view.Frames(ctx, c.project, project.FrameQuery{Prefix: argument.Value, Order: project.NewestFirst, Limit: maxCompletions})
	if err != nil {
		return nil, readable(err)
	}
	return completion(lo.Map(frames, func(f core.Frame, _ int) string { return f.ID })), nil
}

func completion(values []string) *mcp.Completion {
	if values == nil {
		values = []string{}
	}
	return &mcp.Completion{Values: values, Total: len(values)}
}
