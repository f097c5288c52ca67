package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/flags"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/render"
)

// agentsOf returns the agents of a project that is open.
func (a *App) agentsOf(p *project.Project) (*agents.Agents, error) {
	at, err := a.place()
	if err != nil {
		return nil, err
	}
	return a.Agents(p, at)
}

// withRecovered opens the agents of this project for f; what killed processes left is
// put right first.
func (a *App) withRecovered(ctx context.Context, f func(*agents.Agents) error) error {
	return a.with(ctx, func(p *project.Project) error {
		s, err := a.agentsOf(p)
		if err != nil {
			return err
		}
		if err := s.Recover(ctx); err != nil {
			p.Log.Warn("agents could not be recovered", "error", err)
		}
		return f(s)
	})
}

// asksAgents makes a command that works with agents.
func (a *App) asksAgents(cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withRecovered(cmd.Context(), func(s *agents.Agents) error { return run(cmd.Context(), s, args) })
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

func newAgentsSpawn(a *App) *cobra.Command {
	var r agents.Request
	var only []string
	var wait bool
	cmd := &cobra.Command{
		Use: "spawn TYPE PROMPT...", Short: "Start an agent, as " + string(op.Spawn) + " does",
		Example: `  flame agents spawn tester "run the tests of the store" --wait`, Args: flags.Takes(2, -1),
	}
	own := cmd.Flags()
	a.frameFlag(cmd, &r.Frame, "the frame that its own goes below (default: the current one)")
	own.StringVar(&r.Description, "description", "", "its task in a few words")
	flags.Choose(cmd, &r.Mode, "permission-mode", "what it may do; more than its caller may needs a grant", r.Mode.Values()...)
	own.StringSliceVar(&only, "tools", nil, "only these tools")
	own.StringVar(&r.Model, "model", "", "the model")
	flags.Lasts(cmd, &r.Timeout, "timeout", 0, "how long it may take (default: "+env.AgentTimeout+")")
	own.StringVar(&r.Cwd, "cwd", "", "the folder to work in (default: the project's)")
	flags.Choose(cmd, &r.Isolation, "isolation", "worktree: a git worktree of its own", r.Isolation.Values()...)
	own.StringVar(&r.Key, "key", "", "the same key again gives the same agent")
	own.Int64Var(&r.BudgetTokens, "budget-tokens", 0, "tokens it may use")
	own.Float64Var(&r.BudgetUSD, "budget-usd", 0, "US dollars it may cost")
	own.BoolVar(&r.Bare, "no-context", false, "without the context of its frame")
	own.BoolVar(&wait, "wait", false, "wait until it ends, and print its result")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.Type, r.Prompt = args[0], strings.Join(args[1:], " ")
		if own.Changed("tools") {
			r.Tools = &only
		}
		run, err := s.Spawn(ctx, a.caller(), r)
		if err != nil {
			return err
		}
		if wait {
			return a.awaitResult(ctx, s, run.ID)
		}
		return a.out.Print(run, render.Agent(s, run))
	})
}

// awaitResult waits for an agent's end and prints what it came to.
func (a *App) awaitResult(ctx context.Context, s *agents.Agents, id string) error {
	run, err := s.Wait(ctx, id, func(agents.Run) {})
	if err == nil && !run.State.Ended() {
		return a.out.Print(run, render.Agent(s, run))
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
	return a.out.Print(r, render.Result(r, s.Project.Now(), 0, 0))
}

func newAgentsRuns(a *App) *cobra.Command {
	var running bool
	cmd := &cobra.Command{
		Use: "runs [ID]", Short: "List the agents that were started, or those below one",
		Example: "  flame agents runs --running", Args: flags.Takes(0, 1),
	}
	cmd.Flags().BoolVar(&running, "running", false, "only those that run")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		runs, err := s.Below(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		which := "all"
		if running {
			which = "running"
		}
		shown := agents.Filter(runs, which)
		if len(shown) == 0 {
			return a.out.Print([]agents.Run{}, render.NoAgents(runs, which))
		}
		return a.out.Print(shown, runsTable(shown, s.Project.Now()))
	})
}

// runsTable returns agents one a line, as they are at a time.
func runsTable(runs []agents.Run, now core.Millis) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tTYPE\tSTARTED\tTIME\tCOST\tTASK")
	for _, run := range runs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", run.ID, render.StateWord(run), core.OneLine(run.Type, 30),
			run.CreatedAt.Time().Local().Format("Jan _2 15:04"), render.Took(run, now), costOf(run), render.Short(run.Description))
	}
	_ = table.Flush() // a strings.Builder takes everything
	return b.String()
}

// costOf returns what an agent has cost; a dash where nothing is known of it.
func costOf(run agents.Run) string {
	if run.Progress.Cost() == 0 {
		return "-"
	}
	return render.Money(run.Progress.Cost())
}

func newAgentsStatus(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "status ID", Short: "Show how far an agent is", Example: "  flame agents status agent-k3x9a1b2", Args: flags.Takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		run, err := s.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return a.out.Print(run, render.Agent(s, run))
	})
}

func newAgentsResult(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "result ID", Short: "Print what an agent came to", Example: "  flame agents result agent-k3x9a1b2", Args: flags.Takes(1, 1)}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		return a.printResult(ctx, s, args[0])
	})
}

func newAgentsWait(a *App) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait ID", Short: "Wait until an agent ends, and print what it came to",
		Example: "  flame agents wait agent-k3x9a1b2 --timeout 5m", Args: flags.Takes(1, 1),
	}
	flags.Lasts(cmd, &timeout, "timeout", 0, "wait no longer (default: as long as it takes)")
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
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Stop an agent and all that it started",
		Example: "  flame agents cancel agent-k3x9a1b2", Args: flags.Takes(1, 1),
	}
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		stopped, err := s.Cancel(ctx, a.caller(), args[0])
		if err != nil {
			return err
		}
		run, err := s.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return a.out.Print(append([]agents.Run{}, stopped...), render.Cancelled(run, stopped))
	})
}

// A shownRun is all that is kept of an agent.
type shownRun struct {
	agents.Result
	Kept []string `json:"kept"` // its files
}

// showRun shows all that is kept of an agent.
func (a *App) showRun(ctx context.Context, id string) error {
	return a.withRecovered(ctx, func(s *agents.Agents) error {
		r, err := s.Result(ctx, id)
		if err != nil {
			return err
		}
		shown := shownRun{r, filesIn(r.Folder)}
		text := render.Agent(s, r.Run) + "Task: " + r.Prompt + "\n"
		if len(shown.Kept) > 0 {
			text += "Kept in " + r.Folder + ":\n  " + strings.Join(shown.Kept, "\n  ") + "\n"
		}
		if o := r.Outcome; o != nil && o.Stderr != "" {
			text += "The end of what it wrote to stderr:\n" + o.Stderr + "\n"
		}
		return a.out.Print(shown, text+"\n"+render.Work(r, 0, 0))
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
		names = append(names, fmt.Sprintf("%s (%s)", e.Name(), render.Count(info.Size(), "byte")))
	}
	slices.Sort(names)
	return names
}

func newAgentsPrune(a *App) *cobra.Command {
	var age time.Duration
	var look bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete the output and worktrees of agents that ended long ago",
		Example: "  flame agents prune --older-than 7d --dry-run", Args: flags.Takes(0, 0),
		Long: "Delete what agents that ended long ago printed, and their worktrees. Records,\n" +
			"results, frames and patches stay, and the agents can still be gone on with.",
	}
	flags.Lasts(cmd, &age, "older-than", 30*24*time.Hour, "how long ago they ended")
	cmd.Flags().BoolVar(&look, "dry-run", false, "only say what would be deleted")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		pruned, err := s.Prune(ctx, s.Project.Now()-core.Millis(age.Milliseconds()), look)
		if err != nil {
			return err
		}
		done := "deleted"
		if look {
			done = "to delete"
		}
		return a.out.Print(pruned, fmt.Sprintf("%s of %s %s\n%s", megabytes(pruned.Bytes), render.Count(len(pruned.Agents), "agent"), done, strings.Join(pruned.Agents, "\n")))
	})
}

// megabytes returns a size on disk as people read it.
func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
