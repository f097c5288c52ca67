package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"flame/core/op"
)

// placeholders matches a line that consists only of OpenCode's placeholders for
// its words.
var placeholders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$1( \$\d+)*$`) })

// typedLine returns what the user typed after c, as far as it arrived. OpenCode
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

// promptOf returns the prompt of a command for what was typed.
func promptOf(c op.Command, typed map[string]string) (*mcp.GetPromptResult, error) {
	for _, a := range c.Arguments {
		if a.Required && strings.TrimSpace(typed[a.Name]) == "" {
			return nil, adviceError(fmt.Sprintf("argument %s is missing: %s", a.Name, a.Description))
		}
	}
	text := mcp.NewTextContent(c.Prompt(typedLine(c, typed)))
	return mcp.NewGetPromptResult(c.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
}
