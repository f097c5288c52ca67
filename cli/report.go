package cli

import (
	"context"
	"io"
	"path/filepath"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/project"
	"flame/web"
	"flame/whole"
)

func newReport(a *app.App) *cobra.Command {
	format, file := web.HTML, ""
	cmd := &cobra.Command{
		Use: "report [FRAME]", Short: "Write the picture and the tree into one file, to hand on",
		Example: "  flame report -o report.html\n  flame report frame-k3x9 --format md",
		Long: "Write the frames of this project, or those below one, into one file that needs\n" +
			"nothing else: a page (html), a text (md), or a profile for speedscope. It holds\n" +
			"goals, summaries, results, decisions, artifacts and agents' last words, but no logs.\n" +
			"An output of - is standard output.",
		Args: flags.Takes(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	flags.Choose(cmd, &format, "format", "format of the file", string(web.HTML), string(web.Markdown), string(web.Speedscope))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file (default: standard output)")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		service, err := a.AgentsOf(p)
		if err != nil {
			return err
		}
		return writeReport(ctx, a, service, lo.FirstOrEmpty(args), format, file)
	})
}

func writeReport(ctx context.Context, a *app.App, service *agents.Agents, frame string, format web.ReportFormat, file string) error {
	report, err := web.ReportOf(ctx, service, frame)
	if err != nil {
		return err
	}
	switch {
	case file == "" && a.Out.JSON:
		return a.Out.Print(report, "")
	case file == "" || file == "-":
		return report.Write(a.Stdout, format)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := whole.Save(path, 0o600, func(w io.Writer) error { return report.Write(w, format) }); err != nil {
		return err
	}
	return a.Out.Print(map[string]string{"path": path}, path)
}
