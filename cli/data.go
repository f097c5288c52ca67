package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/graph"
	"flame/cli/app"
	"flame/core"
	"flame/hosts"
	"flame/local/place"
	"flame/project"
	"flame/project/sweep"
	"flame/project/transfer"
	"flame/render"
	"flame/web"
)

func newWhere(a *app.App) *cobra.Command {
	var old string
	cmd := &cobra.Command{
		Use: "where", Short: "Print the folder with this project's data",
		Example: "  flame where\n  flame where --adopt ~/code/old-name", Args: app.CheckArgs(0, 0),
		Long: "Print the folder with this project's data. It is never inside the project.\n" +
			"When a project is moved or renamed, its data stays under the old name; --adopt takes\n" +
			"it over. Flame then sets aside the data that this project already has; nothing is lost.",
	}
	app.NameFlag(cmd, &old, "adopt", "PROJECT", "take over the data of a project that was moved: its old path, or its name in the list of flame projects")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		if old != "" {
			return adopt(ctx, a, at, old)
		}
		return printWhere(ctx, a, at)
	})
}

// A whereabouts is what `flame where --json` prints.
type whereabouts struct {
	Project    string              `json:"project"`
	Worktree   string              `json:"worktree"`
	Data       string              `json:"data"`
	Exists     bool                `json:"exists"`
	Candidates []place.ProjectData `json:"candidates"` // data that this project may have had before it was moved
}

func printWhere(ctx context.Context, a *app.App, at place.Place) error {
	there, err := at.Data.Ready(ctx, false)
	candidates := append([]place.ProjectData{}, a.Candidates(ctx, at)...)
	if err := a.Answer(whereabouts{at.Dir, at.Worktree, at.Data.Path, there, candidates}, at.Data.Path, err); err != nil {
		return err
	}
	a.NoteOf(at)
	a.NoteForeign(at)
	for _, kept := range candidates {
		what, hint := app.AdoptHint(kept)
		a.PrintNote(what + "; " + hint)
	}
	return nil
}

func adopt(ctx context.Context, a *app.App, at place.Place, old string) error {
	kept, err := at.Data.Find(old)
	if err != nil {
		return err
	}
	if err := at.Data.Adopt(ctx, kept); err != nil {
		return err
	}
	a.NoteOf(at)
	return a.Out.Print(map[string]string{"adopted": kept.Root, "data": at.Data.Path},
		fmt.Sprintf("The data of %s now belongs to this project, in %s.", kept.Root, at.Data.Path))
}

func newProjects(a *app.App) *cobra.Command {
	var name string
	var yes bool
	cmd := &cobra.Command{
		Use: "projects", Short: "List all projects that have data",
		Example: "  flame projects\n  flame projects --delete old-name-1f2e3d4c5b", Args: app.CheckArgs(0, 0),
		Long: "List all projects that have data, with its size, when it was last used, and whether\n" +
			"the project's folder still exists. --delete deletes one project's data for good.",
	}
	cmd.Flags().StringVar(&name, "delete", "", "delete the data of this project, by its name in the list or its path")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		if name == "" {
			return listProjects(ctx, a, at)
		}
		kept, err := at.Data.Find(name)
		if err != nil {
			return err
		}
		refusal := core.Invalidf("this deletes all frames of %s for good", kept.Root).
			WithHint("run it in a terminal, or with --yes; `flame export`, run in that project, saves them first")
		if err := a.Confirmed(yes, refusal, kept.Name, "delete all frames of "+kept.Root); err != nil {
			return err
		}
		text := "The data of " + kept.Root + " has been deleted."
		return a.Answer(map[string]string{"deleted": kept.Name, "root": kept.Root}, text, at.Data.Delete(ctx, kept))
	})
}

// projectsOf lists the projects that have data, by name.
func projectsOf(ctx context.Context, at place.Place) (listed []web.ProjectInfo, err error) {
	all, err := at.Data.List()
	for _, kept := range all {
		bytes, last, err := kept.Size(ctx)
		if err != nil {
			return nil, err
		}
		listed = append(listed, web.ProjectInfo{ProjectData: kept, Bytes: bytes, LastUsed: core.MillisOf(last)})
	}
	return listed, err
}

func listProjects(ctx context.Context, a *app.App, at place.Place) error {
	listed, err := projectsOf(ctx, at)
	var b strings.Builder
	now := core.MillisOf(time.Now())
	for _, one := range listed {
		fmt.Fprintf(&b, "%s\n  %s (%s), %s, used %s\n", one.Name, one.Root, one.State, core.Size(one.Bytes), render.Time(one.LastUsed, now))
	}
	return a.Answer(listed, cmp.Or(b.String(), "No project has data yet."), err)
}

func newExport(a *app.App) *cobra.Command {
	return a.NeedsProject(&cobra.Command{
		Use: "export PATH", Short: "Write all frames as a folder of state.json and frames/*.json",
		Long: "Write all frames as a folder of state.json and frames/*.json, which flame import reads.\n" +
			"If another program wrote into the database, the export has what is sound and says what\nit left out.",
		Example: "  flame export /tmp/frames", Args: app.CheckArgs(1, 1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := transfer.Export(ctx, p, a.Caller(), args[0])
		answer := map[string]any{"frames": done.Frames, "path": args[0]}
		text := render.Count(done.Frames, "frame") + " written to " + args[0]
		if len(done.Left) > 0 {
			answer["left"] = done.Left
			text += "\nleft out, because it is not sound:\n  " + strings.Join(done.Left, "\n  ")
		}
		return a.Answer(answer, text, err)
	})
}

func newImport(a *app.App) *cobra.Command {
	return a.NeedsProject(&cobra.Command{
		Use: "import PATH", Short: "Import exported frames, or past sessions from a host's logs",
		Example: "  flame import exported/flame\n  flame import " + a.Hosts.LogsOf(),
		Long: "Import a folder of state.json and frames/*.json, as written by the original plugin or\n" +
			"flame export: frames keep their ids. Or import logs of " + a.Hosts.Titles("or") + ":\n" +
			"each past session and each agent in it becomes a finished frame with its cost.\nA second import of the same data changes nothing;\n" +
			"it brings the frame of a session that went on since up to date.",
		Args: app.CheckArgs(1, 1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := importPath(ctx, a.Hosts, p, args[0])
		text := fmt.Sprintf("%s added, %d were there already", render.Count(done.Added, "frame"), done.Unchanged)
		if done.Grown > 0 {
			text += fmt.Sprintf("\n%s brought up to date: the logs tell more than before", render.Count(done.Grown, "frame"))
		}
		if len(done.Kept) > 0 {
			text += fmt.Sprintf("\n%d differ from ours, which stay: %s", len(done.Kept), strings.Join(done.Kept, ", "))
		}
		for _, repair := range done.Repaired {
			text += "\nrepaired " + repair
		}
		text = strings.Join(append([]string{text}, done.Unread...), "\nnot read: ")
		done.Kept, done.Repaired = append([]string{}, done.Kept...), append([]string{}, done.Repaired...)
		done.Unread = append([]string{}, done.Unread...)
		return a.Answer(done, text, err)
	})
}

// importPath imports exported frames, or else the logs of hosts.
func importPath(ctx context.Context, known hosts.Registry, p *project.Project, path string) (transfer.ImportResult, error) {
	if _, err := os.Stat(path); err != nil || transfer.IsState(path) {
		return transfer.Import(ctx, p, path) // it reports what is missing
	}
	told, err := app.ReadTrail(ctx, known, path, nil)
	if err != nil {
		return transfer.ImportResult{}, err
	}
	done, err := transfer.ImportHistory(ctx, p, told.History())
	done.Unread = lo.Map(told.Unread, func(l graph.UnreadLog, _ int) string { return l.Path + ": " + core.OneLine(l.Reason, 300) })
	return done, err
}

func newPrune(a *app.App) *cobra.Command {
	var remove, ofAgents, look bool
	var age time.Duration
	cmd := &cobra.Command{
		Use: "prune", Short: "Archive roots without work, or delete the output of agents that ended long ago",
		Example: "  flame prune --delete\n  flame prune --agents --older-than 7d --dry-run", Args: app.CheckArgs(0, 0),
		Long: "Archive roots older than a week in which no work was done. With --agents, delete the\n" +
			"output and the worktrees of agents that ended long ago; their records, results, frames\n" +
			"and patches stay, and you can still resume them.",
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "delete the roots instead, also those already archived")
	cmd.Flags().BoolVar(&ofAgents, "agents", false, "delete the output and worktrees of agents instead")
	app.DurationFlag(cmd, &age, "older-than", "30d", "with --agents: only of agents that ended at least this long ago")
	cmd.Flags().BoolVar(&look, "dry-run", false, "with --agents: list the agents, and delete nothing")
	cmd.MarkFlagsMutuallyExclusive("delete", "agents")
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		switch {
		case ofAgents:
			return pruneAgents(ctx, a, s, age, look)
		case look || cmd.Flags().Changed("older-than"):
			return app.NewUsageError(cmd, "--older-than and --dry-run need --agents")
		}
		pruned, err := sweep.Prune(ctx, s.Project, remove)
		done := lo.Ternary(remove, "deleted", "archived")
		return a.Answer(pruned, render.Count(len(pruned), "frame")+" "+done+"\n"+render.ShortFrames(pruned), err)
	})
}

// pruneAgents deletes the output and worktrees of agents that ended long ago, or only lists them.
func pruneAgents(ctx context.Context, a *app.App, s *agents.Agents, age time.Duration, look bool) error {
	if err := s.Recover(ctx); err != nil {
		s.Project.Log.Warn("agents could not be recovered", "error", err)
	}
	pruned, err := s.Prune(ctx, s.Project.Now()-core.Millis(age.Milliseconds()), look)
	done := lo.Ternary(look, "to delete", "deleted")
	size, count := core.Size(pruned.Bytes), render.Count(len(pruned.Agents), "agent")
	text := fmt.Sprintf("%s of %s %s\n%s", size, count, done, strings.Join(pruned.Agents, "\n"))
	if len(pruned.Kept) > 0 {
		text += "\nkept, because they have changes that are in no patch:\n" + strings.Join(pruned.Kept, "\n")
	}
	return a.Answer(pruned, text, err)
}

func newOff(a *app.App) *cobra.Command {
	return switches(a, "off", "Turn hooks and injection off for this project")
}

func newOn(a *app.App) *cobra.Command {
	return switches(a, "on", "Turn hooks and injection on again for this project")
}

func switches(a *app.App, name, short string) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  flame " + name, Args: app.CheckArgs(0, 0)}
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		off := name == "off"
		text := "hooks and injection are " + name + " for this project; tools and commands still work"
		return a.Answer(map[string]bool{"off": off}, text, p.SetOff(ctx, off))
	})
}
