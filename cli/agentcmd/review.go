package agentcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/plan"
	"flame/agents/supervise"
	"flame/cli/app"
	"flame/core"
	"flame/hosts"
	"flame/render"
)

func (c commands) converge() *cobra.Command {
	var o converge.Options
	var schema, conflicts string
	cmd := &cobra.Command{
		Use: "converge ID ID...", Short: "Combine the results of several agents into one",
		Example: "  flame agents converge agent-k3x9a1b2 agent-q7w2e4r6 --strategy merge", Args: app.CheckArgs(2, -1),
	}
	app.EnumFlag(cmd, &o.Strategy, "strategy", "how to combine them (required)", o.Strategy.Values()...)
	app.EnumFlag(cmd, &o.Resolution, "conflict-resolution", "what to do about conflicts (default "+string(converge.ResolveManual)+")", o.Resolution.Values()...)
	usage := "output format (default " + string(converge.Markdown) + "; with --json " + string(converge.DeltaBatch) + ")"
	app.EnumFlag(cmd, &o.Format, "output-format", usage, o.Format.Values()...)
	cmd.Flags().Float64Var(&o.Tolerance, "tolerance", 0, "tolerance within which numbers count as equal")
	cmd.Flags().Float64Var(&o.RelativeTolerance, "relative-tolerance", 0, "tolerance as a share of the larger number, such as 0.05 for 5 %")
	cmd.Flags().StringVar(&schema, "result-schema", "", "a JSON schema: flame compares only the fields that it declares")
	cmd.Flags().StringVar(&conflicts, "conflicts", "", "JSON: contradictions that you found in the answers, [{about, sides: [{subagent_ids, says}]}]")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		o.Schema = []byte(schema)
		if err := json.Unmarshal([]byte(cmp.Or(conflicts, "[]")), &o.Conflicts); err != nil {
			return core.Invalidf("--conflicts cannot be read: %v", err).
				WithHint(`for example [{"about": "cause", "sides": [{"subagent_ids": ["agent-1"], "says": "a leak"}, {"subagent_ids": ["agent-2"], "says": "a race"}]}]`)
		}
		if o.Format == "" && !c.app.Out.JSON {
			o.Format = converge.Markdown
		}
		made, err := s.Converge(ctx, c.app.Caller(), args, o)
		if err != nil {
			return err
		}
		return c.printConvergence(ctx, s, made)
	})
}

// printConvergence prints a convergence, with the next step in the words of the
// shell and the texts of agents verbatim.
func (c commands) printConvergence(ctx context.Context, s *agents.Agents, made converge.Convergence) error {
	text, next, err := render.Converged(ctx, s, made, 0)
	return c.app.Answer(made, text+next, err)
}

func (c commands) review() *cobra.Command {
	var choices []string
	var trajectory bool
	var format converge.Format
	cmd := &cobra.Command{
		Use: "review [CONVERGENCE]", Short: "Show convergences, and settle the conflicts that need a person",
		Example: "  flame agents review converge-k3x9a1b2 --choose file:main.go=agent-q7w2e4r6", Args: app.CheckArgs(0, 1),
	}
	cmd.Flags().StringArrayVar(&choices, "choose", nil, "`CONFLICT=ID`: the agent whose side wins (repeatable)")
	cmd.Flags().BoolVar(&trajectory, "trajectory", false, "print the messages and calls of its agents in one stream, with the conflicts in place")
	usage := "output format (default " + string(converge.Markdown) + "; with --json, the original format)"
	app.EnumFlag(cmd, &format, "output-format", usage, format.Values()...)
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 0 {
			return c.reviewAll(ctx, s)
		}
		made, err := s.Convergences().Find(ctx, args[0])
		if err != nil {
			return err
		}
		if trajectory {
			entries, err := s.Convergences().Trajectory(ctx, made)
			return c.app.Answer(entries, render.Trajectory(entries, s.Project.Now()), err)
		}
		chosen, err := sides(choices)
		if err != nil {
			return err
		}
		if len(chosen) == 0 {
			chosen, err = c.chosenByHand(made)
		}
		if err == nil && len(chosen) > 0 {
			made, err = s.Convergences().Review(ctx, made.ID, chosen)
		}
		if err != nil {
			return err
		}
		if format == "" && !c.app.Out.JSON {
			format = converge.Markdown
		}
		if format != "" { // else it is printed as it was made
			text, err := made.Result.Render(format)
			if err != nil {
				return err
			}
			made.Text, made.Result.Format = string(text), format
		}
		return c.printConvergence(ctx, s, made)
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

// chosenByHand asks the person at the terminal which side is right in each conflict that waits. Without
// a terminal it chooses nothing.
func (c commands) chosenByHand(made converge.Convergence) (map[string]string, error) {
	chosen := map[string]string{}
	if !c.app.AtTerminal() || c.app.Out.JSON {
		return chosen, nil
	}
	for _, conflict := range made.Waiting() {
		fmt.Fprintln(c.app.Stderr, core.Printable(render.Conflict(conflict)))
		at, err := c.app.Pick("which side is right", len(conflict.Sides))
		if err != nil {
			return nil, err
		}
		if at > 0 {
			chosen[conflict.ID] = conflict.Sides[at-1].SubagentID
		}
	}
	return chosen, nil
}

// reviewAll lists the convergences, and has the person at the terminal settle what waits.
func (c commands) reviewAll(ctx context.Context, s *agents.Agents) error {
	all, err := s.Convergences().List(ctx)
	var b strings.Builder
	for _, made := range all {
		fmt.Fprintf(&b, "%s: %s", made.ID, made.Result.Rationale)
		if n := len(made.Waiting()); n > 0 {
			fmt.Fprintf(&b, "; %s for a person: `flame agents review %s`", render.Count(n, "conflict"), made.ID)
		} else if made.ReplacedBy != "" {
			b.WriteString("; replaced by " + made.ReplacedBy)
		}
		b.WriteByte('\n')
	}
	if err := c.app.Answer(all, cmp.Or(b.String(), "No convergences yet; `flame agents converge` makes one."), err); err != nil {
		return err
	}
	for _, made := range all {
		chosen, err := c.chosenByHand(made)
		if err != nil {
			return err
		}
		if len(chosen) == 0 {
			continue
		}
		if made, err = s.Convergences().Review(ctx, made.ID, chosen); err != nil {
			return err
		}
		if err := c.printConvergence(ctx, s, made); err != nil {
			return err
		}
	}
	return nil
}

func (c commands) grant() *cobra.Command {
	var g plan.Grant
	var life time.Duration
	var revoked string
	cmd := &cobra.Command{
		Use: "grant [MODE]", Short: "Allow agents a wider permission mode than their parent has, or list the grants",
		Example: `  flame agents grant bypassPermissions --agent builder --for 1h --reason "throwaway container"` + "\n  flame agents grant --revoke grant-k3x9a1b2",
		Long: "Allow agents a wider permission mode than their parent has. Only a person at a terminal\ncan do that, and not inside an agent's session. " +
			"Without a mode, the command lists the grants.",
		Args: app.CheckArgs(0, 1),
	}
	cmd.Flags().StringVar(&g.Agent, "agent", "", "only for agents of this definition")
	cmd.Flags().StringVar(&g.Session, "in", "", "only for agents below this session")
	cmd.Flags().BoolVar(&g.Inherited, "inherited", false, "also for agents that agents start")
	cmd.Flags().BoolVar(&g.Delegates, "delegates", false, "instead of a wider mode, allow children of --agent the tools in its delegate_grants")
	cmd.Flags().StringVar(&g.Reason, "reason", "", "the reason, which the log keeps")
	app.DurationFlag(cmd, &life, "for", "", "how long it applies (default: until you revoke it)")
	app.NameFlag(cmd, &revoked, "revoke", "ID", "revoke this grant instead")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		switch {
		case revoked != "" && len(args) > 0:
			return app.NewUsageError(cmd, "--revoke takes no mode")
		case revoked != "":
			return c.app.Answer(map[string]string{"revoked": revoked}, revoked+" is revoked; running agents continue", s.Revoke(ctx, revoked))
		case len(args) == 0:
			all, err := s.Grants(ctx)
			return c.app.Answer(all, render.Grants(all, s.Project.Now()), err)
		}
		g.Mode = hosts.Mode(args[0])
		if err := g.Check(); err != nil {
			return err
		}
		if err := c.mustBeAPerson(); err != nil {
			return err
		}
		if g.Agent != "" {
			def, err := s.Catalog(s.Dir).Find(g.Agent)
			if err != nil {
				return err
			}
			if g.Digest = def.Digest(); def.Origin(s.Dir) != "" {
				c.app.PrintNote(def.Origin(s.Dir))
			}
		}
		if err := c.app.ConfirmByWord(args[0], "grant it"); err != nil {
			return err
		}
		if life > 0 {
			g.ExpiresAt = s.Project.Now() + core.Millis(life.Milliseconds())
		}
		made, err := s.Grant(ctx, g)
		return c.app.Answer(made, fmt.Sprintf("%s: agents may have %s", made.ID, made.Mode), err)
	})
}

// mustBeAPerson returns an error without a terminal and inside a host's session: models must not
// take such actions.
func (c commands) mustBeAPerson() error {
	if !c.app.AtTerminal() || os.Getenv(core.AgentVariable) != "" || c.app.Hosts.IsInHost(os.Getenv, supervise.AncestorNames()) {
		return core.Invalidf("only a person can make a grant").WithHint("run this command yourself, in a terminal of your own")
	}
	return nil
}
