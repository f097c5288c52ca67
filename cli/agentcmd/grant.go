package agentcmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/permission"
	"flame/agents/supervise"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/render"
)

func newGrant(a *app.App) *cobra.Command {
	var g permission.Grant
	var life time.Duration
	cmd := &cobra.Command{
		Use: "grant MODE", Short: "Allow agents a wider permission mode than their parent has",
		Example: `  flame agents grant bypassPermissions --agent builder --for 1h --reason "throwaway container"`, Args: flags.Takes(1, 1),
		Long: "Allow agents a wider permission mode than their parent has. It is for people:\nat a terminal, and not from within an agent's own session.",
	}
	cmd.Flags().StringVar(&g.Agent, "agent", "", "only for this definition")
	cmd.Flags().StringVar(&g.Session, "in", "", "only below this session")
	cmd.Flags().BoolVar(&g.Inherited, "inherited", false, "for agents that agents start, too")
	cmd.Flags().BoolVar(&g.Delegates, "delegates", false, "instead of a wider mode: allow children of --agent the tools that its delegate_grants name")
	cmd.Flags().StringVar(&g.Reason, "reason", "", "reason, kept in the log")
	flags.Lasts(cmd, &life, "for", 0, "how long (default: until it is revoked)")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		g.Mode = hosts.Mode(args[0])
		if err := g.Check(); err != nil {
			return err
		}
		if err := mustBeAPerson(a); err != nil {
			return err
		}
		if g.Agent != "" {
			def, err := s.Catalog(s.Dir).Find(g.Agent)
			if err != nil {
				return err
			}
			if g.Digest = def.Digest(); def.Origin(s.Dir) != "" {
				a.Note(def.Origin(s.Dir))
			}
		}
		if err := a.Confirm(args[0], "grant it"); err != nil {
			return err
		}
		if life > 0 {
			g.ExpiresAt = s.Project.Now() + core.Millis(life.Milliseconds())
		}
		made, err := s.Grants().Make(ctx, g)
		if err != nil {
			return err
		}
		return a.Out.Print(made, fmt.Sprintf("%s: agents may have %s\n", made.ID, made.Mode))
	})
}

func newGrants(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "grants", Short: "List the grants", Example: "  flame agents grants", Args: flags.Takes(0, 0)}
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		all, err := s.Grants().List(ctx)
		if err != nil {
			return err
		}
		return a.Out.Print(append([]permission.Grant{}, all...), render.Grants(all))
	})
}

func newRevoke(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Take a grant back", Example: "  flame agents revoke grant-k3x9a1b2", Args: flags.Takes(1, 1)}
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := s.Grants().Revoke(ctx, args[0]); err != nil {
			return err
		}
		return a.Out.Print(map[string]string{"revoked": args[0]}, args[0]+" is revoked; running agents continue\n")
	})
}

// mustBeAPerson refuses what models must not do for themselves: without a
// terminal, or inside a host's session.
func mustBeAPerson(a *app.App) error {
	if !a.AtTerminal() || os.Getenv(core.AgentVariable) != "" || a.Hosts.Inside(os.Getenv, supervise.Above()) {
		return core.Invalidf("a grant is for a person to make").WithHint("run this command yourself, in a terminal of your own")
	}
	return nil
}
