package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/doctor"
	"flame/cli/flags"
	"flame/project/place"
)

func newWhere(a *app.App) *cobra.Command {
	var old string
	cmd := &cobra.Command{
		Use: "where", Short: "Print the folder that this project's data is in",
		Example: "  flame where\n  flame where --adopt ~/code/old-name", Args: flags.Takes(0, 0),
		Long: "Print the folder that holds this project's data. It is never inside the project.\n" +
			"Data of a project that was moved or renamed stays under the old name: --adopt takes\n" +
			"it over. Any data this project has already is set aside then, not lost.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.Place()
			if err != nil {
				return err
			}
			if old != "" {
				return dataFolders{a}.adopt(cmd.Context(), at, old)
			}
			return dataFolders{a}.where(cmd.Context(), at)
		},
	}
	cmd.Flags().StringVar(&old, "adopt", "", "take over the data of a project that is no longer where it was: its path, or its name in `flame projects`")
	return cmd
}

// A whereabouts is what `flame where --json` prints.
type whereabouts struct {
	Project    string       `json:"project"`
	Worktree   string       `json:"worktree"`
	Data       string       `json:"data"`
	Exists     bool         `json:"exists"`
	Candidates []place.Kept `json:"candidates"` // data that may be this project's from before it was moved
}

// The dataFolders are those of all projects.
type dataFolders struct{ app *app.App }

func (c dataFolders) where(ctx context.Context, at place.Place) error {
	there, err := at.Data.Ready(ctx, false)
	if err != nil {
		return err
	}
	candidates := c.app.Candidates(ctx, at)
	if err := c.app.Out.Print(whereabouts{at.Dir, at.Worktree, at.Data.Path, there, append([]place.Kept{}, candidates...)}, at.Data.Path); err != nil {
		return err
	}
	if notice := at.Data.Notice(); notice != "" {
		c.app.Note(notice)
	}
	for _, kept := range candidates {
		c.app.Note(doctor.MayBeOurs(kept) + "; `flame where --adopt " + kept.Name + "` takes it over")
	}
	return nil
}

func (c dataFolders) adopt(ctx context.Context, at place.Place, old string) error {
	kept, err := at.Data.Find(old)
	if err != nil {
		return err
	}
	if err := at.Data.Adopt(ctx, kept); err != nil {
		return err
	}
	if notice := at.Data.Notice(); notice != "" {
		c.app.Note(notice)
	}
	return c.app.Out.Print(map[string]string{"adopted": kept.Root, "data": at.Data.Path},
		fmt.Sprintf("The data of %s now belongs to this project, in %s.", kept.Root, at.Data.Path))
}
