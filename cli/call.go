package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"flame/project"
	"flame/tools"
)

func newCall(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "call TOOL [JSON]", Short: "Call any tool as an agent would", Example: `  flame call flame_push '{"goal": "Fix the login"}'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.call(cmd.Context(), args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return toolNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func toolNames() (names []cobra.Completion) {
	for _, t := range tools.All(&project.Project{}) {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Description))
	}
	return names
}

// call runs a tool and prints its answer: the text a model would get, on
// stdout, with status 1 where it is an error.
func (a *App) call(ctx context.Context, args []string) error {
	raw := json.RawMessage("{}")
	if len(args) > 1 {
		raw = json.RawMessage(args[1])
	}
	return a.with(ctx, func(p *project.Project) error {
		tool, err := tools.Find(tools.All(p), args[0])
		if err != nil {
			return err
		}
		result, err := tool.Call(ctx, a.caller(), raw)
		if err == nil {
			_, err = fmt.Fprintln(a.Stdout, result.Text)
			return err
		}
		text, known := tools.Advice(err)
		if !known {
			return err
		}
		fmt.Fprintln(a.Stdout, text)
		return errSilent
	})
}
