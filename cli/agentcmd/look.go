package agentcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/graph"
	"flame/agents/record"
	"flame/cli/app"
	"flame/core"
	"flame/project/children"
	"flame/render"
)

func (c commands) runs() *cobra.Command {
	var running, elsewhere bool
	cmd := &cobra.Command{
		Use: "runs [ID]", Short: "List the started agents, or those that an agent started",
		Example: "  flame agents runs --running", Args: app.CheckArgs(0, 1),
	}
	cmd.Flags().BoolVar(&running, "running", false, "list only running agents")
	cmd.Flags().BoolVar(&elsewhere, "elsewhere", false, "list agents of the project's other machines, as last reported")
	return c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		others, err := agents.RemoteAgents(ctx, s.Project)
		if err != nil {
			return err
		}
		if elsewhere {
			return c.app.Out.Print(others, render.RemoteAgentsTable(others, s.Project.Now(), c.app.Out.Width()))
		}
		return c.listRuns(ctx, s, strings.Join(args, ""), lo.Ternary(running, "running", "all"), others)
	})
}

// listRuns prints the agents, or those below one.
func (c commands) listRuns(ctx context.Context, s *agents.Agents, below, which string, others []record.RemoteAgent) error {
	runs, err := s.AgentsBelow(ctx, below)
	return c.app.Answer(record.Filter(runs, which), render.AgentsTable(runs, which, s.Project.Now(), c.app.Out.Width())+render.RemoteAgentCount(others), err)
}

// NewTrack returns `flame track LOGS`, the short word for `flame agents graph LOGS`. Help does not list it.
func NewTrack(a *app.App) *cobra.Command {
	cmd := commands{a}.graph()
	cmd.Use, cmd.Hidden, cmd.Args = "track FILE|DIR|-", true, app.CheckArgs(1, 1)
	cmd.Example = "  flame track " + a.Hosts.LogsOf() + " --format mermaid"
	return cmd
}

func (c commands) graph() *cobra.Command {
	format, follow := "tree", false
	cmd := &cobra.Command{
		Use: "graph [FILE|DIR|-]", Short: "Draw agents and subagents, and who started them, from the project or from logs of a host",
		Example: "  flame agents graph --format mermaid\n  flame agents graph " + c.app.Hosts.LogsOf(), Args: app.CheckArgs(0, 1),
		Long: "Draw the agents and subagents of this project, who started them, and who used their\n" +
			"results; or those in logs of " + c.app.Hosts.Titles("or") + ", with the prompt, outcome and usage of each. " +
			"Session files, folders of them, output of hosts, exports and databases are recognized by their content; - reads standard input.",
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	app.EnumFlag(cmd, &format, "format", "output format", graph.Formats()...)
	cmd.Flags().BoolVar(&follow, "follow", false, "with logs: continue as they grow")
	drawProject := c.asks(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		g, err := s.Graph(ctx)
		if err != nil {
			return err
		}
		if format == "tree" && len(g.Nodes) == 0 {
			return c.app.Out.Print(nil, "No agents or subagents yet; `flame agents spawn` starts an agent.\n")
		}
		return graph.Draw(c.app.Stdout, g, format)
	}).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.app.Out.JSON {
			format = "json"
		}
		switch {
		case len(args) > 0:
			return c.drawLogs(cmd.Context(), args[0], format, follow)
		case follow:
			return app.NewUsageError(cmd, "--follow needs logs")
		}
		return drawProject(cmd, args)
	}
	return cmd
}

func (c commands) doctor() *cobra.Command {
	return c.asks(&cobra.Command{
		Use: "doctor", Short: "Check the definitions of agents", Example: "  flame agents doctor", Args: app.CheckArgs(0, 0),
		Long: "Check every definition of an agent, and report file, line and reason of each problem.\n" +
			"Propose patterns for the titles of hosts' subagents that often were worth a frame.\n" +
			"The exit status is 1 if a file defines no agent.",
	}, func(ctx context.Context, s *agents.Agents, _ []string) error {
		catalog, err := c.app.Catalog()
		if err != nil {
			return err
		}
		subagents, err := children.Sessions(ctx, s.Project, c.app.Caller())
		if err != nil {
			return err
		}
		text, broken := "", error(nil)
		for _, f := range catalog.Issues {
			sign := "note  "
			if f.Fatal {
				sign, broken = "BROKEN", app.ErrSilent
			}
			text += sign + " " + f.String() + "\n"
		}
		if text == "" {
			text = "ok     " + render.Count(len(catalog.Definitions), "definition") + "\n"
		}
		for _, proposed := range subagents.Proposed {
			text += "note   " + render.TitlePattern(proposed) + "\n"
		}
		return cmp.Or(c.app.Out.Print(catalog.Issues, strings.TrimSuffix(text, "\n")), broken)
	})
}

func (c commands) show() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "show [NAME|ID]", Short: "List the available agents, or show the definition of one or the record of a started one",
		Example: "  flame agents show\n  flame agents show tester", Args: app.CheckArgs(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if catalog, err := c.app.Catalog(); err == nil && len(args) == 0 {
				for _, def := range catalog.Available() {
					names = append(names, cobra.CompletionWithDesc(def.Name, core.OneLine(def.Description, 80)))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list replaced, hidden and disabled agents, too")
	more := cmd.Flags().BoolP("verbose", "v", false, "of an agent at work, say more of what it said last")
	showRun := c.asks(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		return c.showRun(ctx, s, args[0], *more)
	}).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && strings.HasPrefix(args[0], "agent-") {
			return showRun(cmd, args)
		}
		catalog, err := c.app.Catalog()
		switch {
		case err != nil:
			return err
		case len(args) == 0:
			return c.list(catalog, all)
		}
		def, err := catalog.Find(args[0])
		return c.app.Answer(def, render.Definition(def), err)
	}
	return cmd
}

// list prints the available definitions, or all.
func (c commands) list(catalog definition.Catalog, all bool) error {
	var shown []definition.Definition
	var b strings.Builder
	for _, def := range catalog.Definitions {
		// Always list a definition that replaces another: a repository must not
		// be able to hide that.
		if !all && (def.ShadowedBy != "" || (def.Disabled || def.Hidden) && def.Replaces == nil) {
			continue
		}
		shown = append(shown, def)
		b.WriteString(render.DefinitionHead(def) + "  " + core.OneLine(def.Description, 200) + "\n")
	}
	if broken := len(catalog.Issues); broken > 0 {
		fmt.Fprintf(&b, "%s; `flame agents doctor` shows what is wrong\n", render.Count(broken, "finding"))
	}
	return c.app.Out.Print(shown, b.String())
}

// A shownRun holds all data about a started agent.
type shownRun struct {
	record.Result
	Kept []string       `json:"kept"`          // its files
	Now  []agents.Round `json:"now,omitempty"` // what it said last, while it is at work
}

// showRun shows all data about a started agent.
func (c commands) showRun(ctx context.Context, s *agents.Agents, id string, more bool) error {
	r, err := s.Result(ctx, id)
	if err != nil {
		return err
	}
	shown := shownRun{Result: r, Kept: filesIn(r.Folder)}
	if !r.State.Ended() && r.Frame != "" {
		shown.Now, _ = agents.LastSaid(ctx, s, c.app.Caller(), r.Frame, lo.Ternary(more, 10, 2)) // its log may not have begun
	}
	text := render.Agent(s, r.Agent) + render.LastWords(shown.Now, s.Project.Now()) + "Task: " + r.Prompt + "\n"
	if len(shown.Kept) > 0 {
		text += "Kept in " + r.Folder + ":\n  " + strings.Join(shown.Kept, "\n  ") + "\n"
	}
	if o := r.Outcome; o != nil && o.Stderr != "" {
		text += "The end of its stderr:\n" + o.Stderr + "\n"
	}
	return c.app.Out.Print(shown, text+"\n"+render.Work(r, 0, 0))
}

// filesIn lists the files directly in a folder.
func filesIn(dir string) []string {
	names := []string{}
	entries, _ := os.ReadDir(dir) // sorted; an unreadable folder counts as empty
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, filepath.Join(e.Name(), "…"))
		} else if info, err := e.Info(); err == nil {
			names = append(names, fmt.Sprintf("%s (%s)", e.Name(), render.Count(info.Size(), "byte")))
		}
	}
	return names
}
