package tools

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/view"
)

// maxCompletions is the protocol's limit on values in one completion.
const maxCompletions = 100

// A completer offers completions for what a client's user has typed.
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
	frames, err := view.Complete(ctx, c.project, argument.Value, maxCompletions)
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
