package agentcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/result"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

// A shownRun is everything that is kept of an agent.
type shownRun struct {
	result.Result
	Kept []string `json:"kept"` // its files
}

// showRun shows everything that is kept of an agent.
func (v agentView) showRun(ctx context.Context, id string) error {
	return withRecovered(ctx, v.app, func(s *agents.Agents) error {
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
		return v.app.Out.Print(shown, text+"\n"+render.Work(r, 0, 0))
	})
}

// filesIn lists the files directly in a folder.
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

func newShow(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME|ID", Short: "Show the definition of an agent, or everything kept of one that was started",
		Example: "  flame agents show tester", Args: flags.Takes(1, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if catalog, err := a.Catalog(); err == nil && len(args) == 0 {
				for _, def := range catalog.Available() {
					names = append(names, cobra.CompletionWithDesc(def.Name, core.OneLine(def.Description, 80)))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.HasPrefix(args[0], "agent-") {
			return agentView{a}.showRun(cmd.Context(), args[0])
		}
		catalog, err := a.Catalog()
		if err != nil {
			return err
		}
		def, err := catalog.Find(args[0])
		if err != nil {
			return err
		}
		return a.Out.Print(def, render.Definition(def))
	}
	return cmd
}
