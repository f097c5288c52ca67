package agentcmd

import (
	"context"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/convergence"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/render"
)

func newConverge(a *app.App) *cobra.Command {
	var o converge.Options
	var schema string
	cmd := &cobra.Command{
		Use: "converge ID ID...", Short: "Combine the results of several agents into one",
		Example: "  flame agents converge agent-k3x9a1b2 agent-q7w2e4r6 --strategy merge", Args: flags.Takes(2, -1),
	}
	flags.Choose(cmd, &o.Strategy, "strategy", "how to combine them (required)", o.Strategy.Values()...)
	flags.Choose(cmd, &o.Resolution, "conflict-resolution", "what to do about conflicts (default "+string(converge.Manual)+")", o.Resolution.Values()...)
	usage := "output format (default " + string(converge.Markdown) + "; with --json " + string(converge.DeltaBatch) + ")"
	flags.Choose(cmd, &o.Format, "output-format", usage, o.Format.Values()...)
	cmd.Flags().Float64Var(&o.Tolerance, "tolerance", 0, "tolerance within which numbers count as equal")
	cmd.Flags().Float64Var(&o.RelativeTolerance, "relative-tolerance", 0, "the same as a share of the larger number, such as 0.05 for 5 %")
	cmd.Flags().StringVar(&schema, "result-schema", "", "a JSON schema: only what it declares is compared")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		o.Schema = []byte(schema)
		if o.Format == "" && !a.Out.JSON {
			o.Format = converge.Markdown
		}
		c, err := s.Converge(ctx, a.Caller(), args, o)
		if err != nil {
			return err
		}
		return agentView{a}.printConvergence(ctx, s, c)
	})
}

// printConvergence prints a convergence, with the next step in the words of the
// shell and what agents wrote verbatim.
func (v agentView) printConvergence(ctx context.Context, s *agents.Agents, c convergence.Convergence) error {
	text, next, err := render.Converged(ctx, s, c, 0)
	if err != nil {
		return err
	}
	return v.app.Out.Print(c, text+next)
}
