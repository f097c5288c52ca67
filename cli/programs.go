package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/core/op"
	"flame/project"
	"flame/tools"
)

func newCall(a *app.App) *cobra.Command {
	return a.NeedsAgents(&cobra.Command{
		Use: "call TOOL [JSON]", Short: "Call any tool as an agent would", Example: `  flame call ` + string(op.Push) + ` '{"goal": "Fix the login"}'`,
		Args: app.CheckArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				names = lo.Map(tools.All(&project.Project{}, &agents.Agents{}), func(t tools.Tool, _ int) cobra.Completion {
					return cobra.CompletionWithDesc(t.Name, t.Description)
				})
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}, func(ctx context.Context, s *agents.Agents, args []string) error {
		tool, err := tools.Find(toolsOf(ctx, s), args[0])
		if err != nil {
			return err
		}
		input := json.RawMessage(append(args, "{}")[1]) // {} unless it is given
		result, err := tool.Call(ctx, a.Caller(), input)
		switch {
		case err == nil && result.Structured != nil:
			return a.Out.Raw([]byte(result.Text))
		case err == nil:
			return a.Out.Print(toolOutcome{Text: result.Text, Pictures: result.Pictures}, result.Text)
		}
		text, known := tools.ExplainError(err)
		if !known {
			return err
		}
		return errors.Join(app.ErrSilent, a.Out.Print(toolOutcome{Text: text, IsError: true}, text))
	})
}

// A toolOutcome is the outcome of a call, as --json prints it: the text that a model would get.
type toolOutcome struct {
	Text     string           `json:"text"`
	IsError  bool             `json:"isError"` // with status 1
	Pictures []agents.Picture `json:"pictures,omitempty"`
}
