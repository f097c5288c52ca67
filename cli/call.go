package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core/op"
	"flame/project"
	"flame/tools"
)

func newCall(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "call TOOL [JSON]", Short: "Call any tool as an agent would", Example: `  flame call ` + string(op.Push) + ` '{"goal": "Fix the login"}'`,
		Args: flags.Takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return call(cmd.Context(), a, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return toolNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func toolNames() (names []cobra.Completion) {
	for _, t := range tools.All(&project.Project{}, &agents.Agents{}) {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Description))
	}
	return names
}

// A called is the outcome of a call, as --json prints it.
type called struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// call runs a tool and prints its answer, the text a model would get, on
// stdout; the status is 1 for an error.
func call(ctx context.Context, a *app.App, args []string) error {
	raw := json.RawMessage("{}")
	if len(args) > 1 {
		raw = json.RawMessage(args[1])
	}
	return a.With(ctx, func(p *project.Project) error {
		service, err := a.AgentsOf(p)
		if err != nil {
			return err
		}
		tool, err := tools.Find(toolsOf(ctx, p, service), args[0])
		if err != nil {
			return err
		}
		result, err := tool.Call(ctx, a.Caller(), raw)
		switch {
		case err == nil && result.Structured != nil:
			return a.Out.Raw([]byte(result.Text))
		case err == nil:
			return a.Out.Print(called{Text: result.Text}, result.Text)
		}
		text, known := tools.Advice(err)
		if !known {
			return err
		}
		return errors.Join(app.ErrSilent, a.Out.Print(called{text, true}, text))
	})
}
