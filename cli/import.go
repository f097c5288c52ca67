package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents/trail"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/hosts"
	"flame/project"
	"flame/project/transfer"
	"flame/render"
)

func newImport(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import PATH", Short: "Import exported frames, or past sessions from a host's logs",
		Example: "  flame import exported/flame\n  flame import " + a.Hosts.LogsOf(),
		Long: "Import a folder of state.json and frames/*.json, as written by the original plugin or\n" +
			"flame export: frames keep their ids. Or import logs of " + a.Hosts.Titles("or") + ":\n" +
			"each past session and each agent in it becomes a finished frame with its cost.\nImporting the same again changes nothing.",
		Args: flags.Takes(1, 1), ValidArgsFunction: folders,
	}
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := importPath(ctx, a.Hosts, p, args[0])
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s added, %d were there already", render.Count(done.Added, "frame"), done.Unchanged)
		if len(done.Kept) > 0 {
			text += fmt.Sprintf("\n%d differ from ours, which stay: %s", len(done.Kept), strings.Join(done.Kept, ", "))
		}
		for _, repair := range done.Repaired {
			text += "\nrepaired " + repair
		}
		return a.Out.Print(imported{done.Added, done.Unchanged, append([]string{}, done.Kept...), append([]string{}, done.Repaired...)}, text)
	})
}

// importPath imports exported frames, or else what hosts logged.
func importPath(ctx context.Context, known hosts.Registry, p *project.Project, path string) (transfer.Imported, error) {
	if _, err := os.Stat(path); err != nil || transfer.IsState(path) {
		return transfer.Import(ctx, p, path) // it reports what is missing
	}
	logs, err := known.Formats().Detect(path, nil)
	if err != nil {
		return transfer.Imported{}, problemOf(err, path, known)
	}
	told, err := trail.Read(ctx, logs...)
	if err != nil {
		return transfer.Imported{}, problemOf(err, path, known)
	}
	return transfer.ImportHistory(ctx, p, told.History())
}

// An imported is what `flame import --json` prints.
type imported struct {
	Added     int      `json:"added"`
	Unchanged int      `json:"unchanged"`
	Kept      []string `json:"kept"`     // ids of frames that differ from ours, which stay
	Repaired  []string `json:"repaired"` // what was repaired, in words
}

// folders completes an argument that names a folder.
func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
