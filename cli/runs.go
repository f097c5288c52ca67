package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
	"flame/tools"
)

// agentsOf gives the agents of a project that is open.
func (a *App) agentsOf(p *project.Project) (*agents.Agents, error) {
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	return a.Agents(p, place)
}

// asksAgents makes a command that works with agents; what killed processes left is
// put right first.
func (a *App) asksAgents(cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(p *project.Project) error {
			s, err := a.agentsOf(p)
			if err != nil {
				return err
			}
			if err := s.Recover(cmd.Context()); err != nil {
				p.Log.Warn("agents could not be recovered", "error", err)
			}
			return run(cmd.Context(), s, args)
		})
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

func newAgentsSpawn(a *App) *cobra.Command {
	var r agents.Request
	var mode string
	var only []string
	var wait bool
	cmd := &cobra.Command{
		Use: "spawn TYPE PROMPT...", Short: "Start an agent, as spawn_agent does", Example: `  flame agents spawn tester "run the tests of the store" --wait`, Args: takes(2, -1),
	}
	flags := cmd.Flags()
	a.frameFlag(cmd, &r.Frame, "the frame that its own goes below (default: the current one)")
	flags.StringVar(&r.Description, "description", "", "its task in a few words")
	flags.StringVar(&mode, "permission-mode", "", "plan, dontAsk, default, acceptEdits; more needs a grant")
	flags.StringSliceVar(&only, "tools", nil, "only these tools")
	flags.StringVar(&r.Model, "model", "", "the model")
	flags.DurationVar(&r.Timeout, "timeout", 0, "how long it may take (default: FLAME_AGENT_TIMEOUT)")
	flags.StringVar(&r.Cwd, "cwd", "", "the folder to work in (default: the project's)")
	flags.StringVar(&r.Isolation, "isolation", "", "worktree: a git worktree of its own")
	flags.StringVar(&r.Key, "key", "", "the same key again gives the same agent")
	flags.Int64Var(&r.BudgetTokens, "budget-tokens", 0, "tokens it may use")
	flags.Float64Var(&r.BudgetUSD, "budget-usd", 0, "US dollars it may cost")
	flags.BoolVar(&r.Bare, "no-context", false, "without the context of its frame")
	flags.BoolVar(&wait, "wait", false, "wait until it ends, and print its result")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.Type, r.Prompt, r.Mode = args[0], strings.Join(args[1:], " "), agents.Mode(mode)
		if flags.Changed("tools") {
			r.Tools = &only
		}
		run, err := s.Spawn(ctx, a.caller(), r)
		if err != nil {
			return err
		}
		if wait {
			return a.awaitResult(ctx, s, run.ID)
		}
		return a.print(run, tools.AgentText(s, run))
	})
}

// awaitResult waits for an agent's end and prints what it came to.
func (a *App) awaitResult(ctx context.Context, s *agents.Agents, id string) error {
	run, err := s.Wait(ctx, id, func(agents.Run) {})
	if err == nil && !run.State.Ended() {
		return a.print(run, tools.AgentText(s, run))
	}
	if err != nil {
		return err
	}
	return a.printResult(ctx, s, id)
}

func (a *App) printResult(ctx context.Context, s *agents.Agents, id string) error {
	r, err := s.Result(ctx, id)
	if err != nil {
		return err
	}
	return a.print(r, tools.ResultText(r, 0, 0))
}

func newAgentsRuns(a *App) *cobra.Command {
	var running bool
	cmd := &cobra.Command{Use: "runs [ID]", Short: "List the agents that were started, or those below one", Example: "  flame agents runs --running", Args: takes(0, 1)}
	cmd.Flags().BoolVar(&running, "running", false, "only those that run")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		runs, err := s.Below(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		if running {
			runs = agents.Filter(runs, "running")
		}
		return a.print(append([]agents.Run{}, runs...), tools.RunsText(runs))
	})
}

func newAgentsStatus(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "status ID", Short: "Show how far an agent is", Example: "  flame agents status agent-k3x9a1b2", Args: takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		run, err := s.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return a.print(run, tools.AgentText(s, run))
	})
}

func newAgentsResult(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "result ID", Short: "Print what an agent came to", Example: "  flame agents result agent-k3x9a1b2", Args: takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		return a.printResult(ctx, s, args[0])
	})
}

func newAgentsWait(a *App) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{Use: "wait ID", Short: "Wait until an agent ends, and print what it came to", Example: "  flame agents wait agent-k3x9a1b2 --timeout 5m", Args: takes(1, 1)}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait no longer (default: as long as it takes)")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if timeout > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, timeout)
			defer stop()
		}
		return a.awaitResult(ctx, s, args[0])
	})
}

func newAgentsCancel(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "cancel ID", Short: "Stop an agent and all that it started", Example: "  flame agents cancel agent-k3x9a1b2", Args: takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		stopped, err := s.Cancel(ctx, a.caller(), args[0])
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s told to stop\n", count(len(stopped), "agent"))
		for _, run := range stopped {
			text += run.ID + "\n"
		}
		return a.print(append([]agents.Run{}, stopped...), text)
	})
}

// A shownRun is all that is kept of an agent.
type shownRun struct {
	agents.Result
	Kept []string `json:"kept"` // its files
}

// showRun shows all that is kept of an agent.
func (a *App) showRun(ctx context.Context, id string) error {
	return a.with(ctx, func(p *project.Project) error {
		s, err := a.agentsOf(p)
		if err != nil {
			return err
		}
		r, err := s.Result(ctx, id)
		if err != nil {
			return err
		}
		shown := shownRun{r, filesIn(r.Folder)}
		text := tools.AgentText(s, r.Run) + "Task: " + r.Prompt + "\n"
		if len(shown.Kept) > 0 {
			text += "Kept in " + r.Folder + ":\n  " + strings.Join(shown.Kept, "\n  ") + "\n"
		}
		if o := r.Outcome; o != nil && o.Stderr != "" {
			text += "The end of what it wrote to stderr:\n" + o.Stderr + "\n"
		}
		return a.print(shown, text+"\n"+tools.ResultText(r, 0, 0))
	})
}

// filesIn lists the files of a folder, but not what is in folders.
func filesIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{}
	}
	names := []string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if e.IsDir() {
			names = append(names, filepath.Join(e.Name(), "…"))
			continue
		}
		names = append(names, fmt.Sprintf("%s (%d bytes)", e.Name(), info.Size()))
	}
	slices.Sort(names)
	return names
}

func newAgentsGrant(a *App) *cobra.Command {
	var g agents.Grant
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "grant MODE", Short: "Allow agents a wider permission mode than their parent has", Example: `  flame agents grant bypassPermissions --agent builder --for 1h --reason "throwaway container"`, Args: takes(1, 1),
		Long: "Allow agents a wider permission mode than their parent has. It is for people:\nat a terminal, and not from within an agent's own session.",
	}
	cmd.Flags().StringVar(&g.Agent, "agent", "", "only for this definition")
	cmd.Flags().StringVar(&g.Session, "in", "", "only below this session")
	cmd.Flags().BoolVar(&g.Inherited, "inherited", false, "for agents that agents start, too")
	cmd.Flags().BoolVar(&g.Delegates, "delegates", false, "instead of a wider mode: children of --agent may have the tools that its delegate_grants name")
	cmd.Flags().StringVar(&g.Reason, "reason", "", "why; it is kept in the log")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long (default: until it is revoked)")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := a.mustBeAPerson(); err != nil {
			return err
		}
		if err := a.confirm(args[0]); err != nil {
			return err
		}
		g.Mode = agents.Mode(args[0])
		if lasts > 0 {
			g.ExpiresAt = s.Project.Now() + core.Millis(lasts.Milliseconds())
		}
		made, err := s.MakeGrant(ctx, g)
		if err != nil {
			return err
		}
		return a.print(made, fmt.Sprintf("%s: agents may have %s\n", made.ID, made.Mode))
	})
}

// mustBeAPerson refuses what models must not do for themselves: where there is no
// terminal, or a host's session around it.
func (a *App) mustBeAPerson() error {
	ok := a.atTerminal()
	for _, name := range []string{core.AgentVariable, "CLAUDECODE", "OPENCODE"} {
		ok = ok && os.Getenv(name) == ""
	}
	for _, name := range supervise.Above() {
		ok = ok && name != claudecode.Program && name != opencode.Program
	}
	if !ok {
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
func (a *App) confirm(word string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to grant it: ", word)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was granted"), err)
	}
	return nil
}

func newAgentsGrants(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "grants", Short: "List the grants", Example: "  flame agents grants", Args: takes(0, 0)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		all, err := s.Grants(ctx)
		if err != nil {
			return err
		}
		text := "no grants\n"
		if len(all) > 0 {
			text = ""
		}
		for _, g := range all {
			text += fmt.Sprintf("%s: %s%s: %s\n", g.ID, g.Mode, grantScope(g), core.OneLine(g.Reason, 100))
		}
		return a.print(append([]agents.Grant{}, all...), text)
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
	return text
}

func newAgentsRevoke(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Take a grant back", Example: "  flame agents revoke grant-k3x9a1b2", Args: takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if err := s.RevokeGrant(ctx, args[0]); err != nil {
			return err
		}
		return a.print(map[string]string{"revoked": args[0]}, args[0]+" is revoked; agents that run go on\n")
	})
}
