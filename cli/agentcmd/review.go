package agentcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/convergence"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

func newReview(a *app.App) *cobra.Command {
	var choices []string
	var trajectory bool
	var format converge.Format
	cmd := &cobra.Command{
		Use: "review [CONVERGENCE]", Short: "Look at convergences, and settle the conflicts that need a person",
		Example: "  flame agents review converge-k3x9a1b2 --choose file:main.go=agent-q7w2e4r6", Args: flags.Takes(0, 1),
	}
	cmd.Flags().StringArrayVar(&choices, "choose", nil, "CONFLICT=ID: the agent whose side wins (repeatable)")
	cmd.Flags().BoolVar(&trajectory, "trajectory", false, "print what its agents said and called in one stream, with the conflicts in their places")
	usage := "output format (default " + string(converge.Markdown) + "; with --json as it was made)"
	flags.Choose(cmd, &format, "output-format", usage, format.Values()...)
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 0 {
			return agentView{a}.listConvergences(ctx, s)
		}
		c, err := s.Convergences().Find(ctx, args[0])
		if err != nil {
			return err
		}
		if trajectory {
			return agentView{a}.printTrajectory(ctx, s, c)
		}
		chosen, err := sides(choices)
		if err != nil {
			return err
		}
		if len(chosen) > 0 {
			if c, err = s.Convergences().Review(ctx, c.ID, chosen); err != nil {
				return err
			}
		}
		if format == "" && !a.Out.JSON {
			format = converge.Markdown
		}
		if c, err = written(c, format); err != nil {
			return err
		}
		return agentView{a}.printConvergence(ctx, s, c)
	})
}

// sides reads the choices of --choose: the agent whose side wins, by conflict.
func sides(choices []string) (map[string]string, error) {
	chosen := map[string]string{}
	for _, choice := range choices {
		i := strings.LastIndexByte(choice, '=')
		if i < 0 {
			return nil, core.Invalidf("--choose %q has no =", choice).WithHint("write CONFLICT=ID, for example file:main.go=agent-q7w2e4r6")
		}
		chosen[choice[:i]] = choice[i+1:]
	}
	return chosen, nil
}

// written returns a convergence with its output in a format, or unchanged if
// that is empty.
func written(c convergence.Convergence, format converge.Format) (convergence.Convergence, error) {
	if format == "" {
		return c, nil
	}
	text, err := c.Result.Render(format)
	c.Text, c.Result.Format = string(text), format
	return c, err
}

func (v agentView) listConvergences(ctx context.Context, s *agents.Agents) error {
	all, err := s.Convergences().List(ctx)
	if err != nil {
		return err
	}
	text := ""
	for _, c := range all {
		text += fmt.Sprintf("%s: %s\n", c.ID, c.Result.Rationale)
	}
	if text == "" {
		text = "No convergences; `flame agents converge` makes one.\n"
	}
	return v.app.Out.Print(append([]convergence.Convergence{}, all...), text)
}

func (v agentView) printTrajectory(ctx context.Context, s *agents.Agents, c convergence.Convergence) error {
	entries, err := s.Convergences().Trajectory(ctx, c)
	if err != nil {
		return err
	}
	return v.app.Out.Print(append([]converge.Entry{}, entries...), render.Trajectory(entries))
}
