package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project/place"
	"flame/render"
)

func newProjects(a *app.App) *cobra.Command {
	var name string
	var yes bool
	cmd := &cobra.Command{
		Use: "projects", Short: "List all projects that have data",
		Example: "  flame projects\n  flame projects --delete old-name-1f2e3d4c5b", Args: flags.Takes(0, 0),
		Long: "List all projects that have data, with its size, when it was last used, and whether\n" +
			"the project's folder still exists. --delete deletes the data of one for good.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.Place()
			if err != nil {
				return err
			}
			if name != "" {
				return dataFolders{a}.deleteProject(cmd.Context(), at, name, yes)
			}
			return dataFolders{a}.projects(cmd.Context(), at)
		},
	}
	cmd.Flags().StringVar(&name, "delete", "", "delete the data of this project, by its name in the list or its path")
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return cmd
}

// A listedProject is one project as `flame projects --json` prints it.
type listedProject struct {
	place.Kept
	Bytes    int64       `json:"bytes"`
	LastUsed core.Millis `json:"lastUsed"`
}

func (c dataFolders) projects(ctx context.Context, at place.Place) error {
	all, err := at.Data.List()
	if err != nil {
		return err
	}
	listed := make([]listedProject, len(all))
	var b strings.Builder
	for i, kept := range all {
		bytes, last, err := kept.Size(ctx)
		if err != nil {
			return err
		}
		listed[i] = listedProject{kept, bytes, core.MillisOf(last)}
		fmt.Fprintf(&b, "%s\n  %s (%s), %s, used %s\n", kept.Name, kept.Root, kept.State, render.Megabytes(bytes), last.Local().Format(time.DateTime))
	}
	if len(all) == 0 {
		b.WriteString("No project has data yet.")
	}
	return c.app.Out.Print(listed, b.String())
}

func (c dataFolders) deleteProject(ctx context.Context, at place.Place, name string, yes bool) error {
	kept, err := at.Data.Find(name)
	if err != nil {
		return err
	}
	if !yes {
		if !c.app.AtTerminal() {
			return core.Invalidf("this deletes all frames of %s for good", kept.Root).
				WithHint("run it in a terminal, or with --yes; `flame export` there saves them first")
		}
		if err := c.app.Confirm(kept.Name, "delete all frames of "+kept.Root); err != nil {
			return err
		}
	}
	if err := at.Data.Delete(ctx, kept); err != nil {
		return err
	}
	return c.app.Out.Print(map[string]string{"deleted": kept.Name, "root": kept.Root}, "The data of "+kept.Root+" has been deleted.")
}
