package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
)

func newAgentsGrant(a *App) *cobra.Command {
	var g agents.Grant
	var life time.Duration
	cmd := &cobra.Command{
		Use: "grant MODE", Short: "Allow agents a wider permission mode than their parent has",
		Example: `  flame agents grant bypassPermissions --agent builder --for 1h --reason "throwaway container"`, Args: flags.Takes(1, 1),
		Long: "Allow agents a wider permission mode than their parent has. It is for people:\nat a terminal, and not from within an agent's own session.",
	}
	cmd.Flags().StringVar(&g.Agent, "agent", "", "only for this definition")
	cmd.Flags().StringVar(&g.Session, "in", "", "only below this session")
	cmd.Flags().BoolVar(&g.Inherited, "inherited", false, "for agents that agents start, too")
	cmd.Flags().BoolVar(&g.Delegates, "delegates", false, "instead of a wider mode: children of --agent may have the tools that its delegate_grants name")
	cmd.Flags().StringVar(&g.Reason, "reason", "", "why; it is kept in the log")
	flags.Lasts(cmd, &life, "for", 0, "how long (default: until it is revoked)")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := a.mustBeAPerson(); err != nil {
			return err
		}
		if g.Agent != "" {
			def, err := s.Catalog(s.Dir).Find(g.Agent)
			if err != nil {
				return err
			}
			if g.Digest = def.Digest(); def.Origin(s.Dir) != "" {
				a.note(def.Origin(s.Dir))
			}
		}
		if err := a.confirm(args[0], "grant it"); err != nil {
			return err
		}
		g.Mode = hosts.Mode(args[0])
		if life > 0 {
			g.ExpiresAt = s.Project.Now() + core.Millis(life.Milliseconds())
		}
		made, err := s.MakeGrant(ctx, g)
		if err != nil {
			return err
		}
		return a.out.Print(made, fmt.Sprintf("%s: agents may have %s\n", made.ID, made.Mode))
	})
}

// mustBeAPerson refuses what models must not do for themselves: where there is no
// terminal, or a host's session around it.
func (a *App) mustBeAPerson() error {
	if !a.atTerminal() || os.Getenv(core.AgentVariable) != "" || a.Hosts.Inside(os.Getenv, supervise.Above()) {
		return core.Invalidf("a grant is for a person to make").WithHint("run this command yourself, in a terminal of your own")
	}
	return nil
}

// atTerminal reports whether a person may be typing.
func (a *App) atTerminal() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && isatty.IsTerminal(stdin.Fd())
}

// confirm has the person at the terminal type a word.
func (a *App) confirm(word, to string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to %s: ", word, to)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was done"), err)
	}
	return nil
}

func newAgentsGrants(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "grants", Short: "List the grants", Example: "  flame agents grants", Args: flags.Takes(0, 0)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		all, err := s.Grants(ctx)
		if err != nil {
			return err
		}
		text := "No grants; `flame agents grant` makes one.\n"
		if len(all) > 0 {
			text = ""
		}
		for _, g := range all {
			text += fmt.Sprintf("%s: %s%s: %s\n", g.ID, g.Mode, grantScope(g), core.OneLine(g.Reason, 100))
		}
		return a.out.Print(append([]agents.Grant{}, all...), text)
	})
}

// grantScope says what a grant is for.
func grantScope(g agents.Grant) (text string) {
	if g.Agent != "" {
		text += ", for " + g.Agent
	}
	if g.Session != "" {
		text += ", below " + g.Session
	}
	if g.ExpiresAt > 0 {
		text += ", until " + g.ExpiresAt.Time().Local().Format(time.DateTime)
	}
	if len(g.During) > 0 {
		text += ", made while agents ran"
	}
	return text
}

func newAgentsRevoke(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Take a grant back", Example: "  flame agents revoke grant-k3x9a1b2", Args: flags.Takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := s.RevokeGrant(ctx, args[0]); err != nil {
			return err
		}
		return a.out.Print(map[string]string{"revoked": args[0]}, args[0]+" is revoked; agents that run go on\n")
	})
}
