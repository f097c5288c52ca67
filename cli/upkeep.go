package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents/trail"
	"flame/cli/flags"
	"flame/hosts"
	"flame/project"
	"flame/project/transfer"
	"flame/render"
)

func newImport(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "import PATH", Short: "Take in exported frames, or past sessions from a host's logs",
		Example: "  flame import exported/flame\n  flame import " + a.Hosts.LogsOf(),
		Long:    "Take in a folder of state.json and frames/*.json, as the original plugin or flame\nexport wrote it: frames keep their ids. Or take in logs of " + a.Hosts.Titles("or") + ":\neach past session and each agent in it becomes a finished frame with what it cost.\nImporting the same again changes nothing.",
		Args:    flags.Takes(1, 1), ValidArgsFunction: folders,
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := importPath(ctx, a.Hosts, p, args[0])
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s added, %d were there", render.Count(done.Added, "frame"), done.Unchanged)
		if len(done.Kept) > 0 {
			text += fmt.Sprintf("\n%d differ from ours, which stay: %s", len(done.Kept), strings.Join(done.Kept, ", "))
		}
		for _, repair := range done.Repaired {
			text += "\nrepaired " + repair
		}
		return a.out.Print(imported{done.Added, done.Unchanged, append([]string{}, done.Kept...), append([]string{}, done.Repaired...)}, text)
	})
}

// importPath takes in a folder that holds state.json, else what hosts logged.
func importPath(ctx context.Context, known hosts.Registry, p *project.Project, path string) (transfer.Imported, error) {
	info, err := os.Stat(path)
	if err != nil {
		return transfer.Import(ctx, p, path) // which says that it is not there
	}
	if _, err := os.Stat(filepath.Join(path, "state.json")); err == nil && info.IsDir() {
		return transfer.Import(ctx, p, path)
	}
	logs, err := known.Formats().Detect(path, nil)
	if err != nil {
		return transfer.Imported{}, problemOf(err, path, known)
	}
	told, err := trail.Read(ctx, logs...)
	if err != nil {
		return transfer.Imported{}, problemOf(err, path, known)
	}
	return transfer.History(ctx, p, told.History())
}

// An imported is what `flame import --json` prints.
type imported struct {
	Added     int      `json:"added"`
	Unchanged int      `json:"unchanged"`
	Kept      []string `json:"kept"`     // ids of frames that differ from ours, which stay
	Repaired  []string `json:"repaired"` // what was put right, in words
}

// folders completes an argument that names a folder.
func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func newExport(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "export PATH", Short: "Write all frames as a folder of state.json and frames/*.json",
		Example: "  flame export /tmp/frames", Args: flags.Takes(1, 1), ValidArgsFunction: folders,
	}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		done, err := transfer.Export(ctx, p, a.caller(), args[0])
		if err != nil {
			return err
		}
		answer := map[string]any{"frames": done.Frames, "path": args[0]}
		text := render.Count(done.Frames, "frame") + " written to " + args[0]
		if done.Nameless > 0 {
			answer["nameless"] = done.Nameless
			text += fmt.Sprintf("\n%d left out, which have no id; `flame doctor --repair` gives them one", done.Nameless)
		}
		return a.out.Print(answer, text)
	})
}

func newOff(a *App) *cobra.Command {
	return a.switches("off", "Turn hooks and injection off for this project", true)
}

func newOn(a *App) *cobra.Command {
	return a.switches("on", "Turn hooks and injection on again for this project", false)
}

func (a *App) switches(name, short string, off bool) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Example: "  flame " + name, Args: flags.Takes(0, 0)}
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		if err := p.SetOff(ctx, off); err != nil {
			return err
		}
		return a.out.Print(map[string]bool{"off": off}, "hooks and injection are "+name+" for this project; tools and commands work as before")
	})
}

func newPrune(a *App) *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Archive roots without work that are older than a week", Example: "  flame prune --delete", Args: flags.Takes(0, 0),
	}
	cmd.Flags().BoolVar(&remove, "delete", false, "delete them, archived ones too")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		pruned, err := p.Prune(ctx, remove)
		if err != nil {
			return err
		}
		what := "archived"
		if remove {
			what = "deleted"
		}
		return a.out.Frames(pruned, render.Count(len(pruned), "frame")+" "+what+"\n"+render.ShortFrames(pruned))
	})
}

func newConfig(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "List every setting with its value and source", Example: "  flame config", Args: flags.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			var b strings.Builder
			rows := a.Settings.List()
			for _, row := range rows {
				fmt.Fprintf(&b, "%s=%s (%s)\n  %s\n", row.Name, row.Value, row.Source, row.Meaning)
			}
			return a.out.Print(rows, b.String())
		},
	}
}
