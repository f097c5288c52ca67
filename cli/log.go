package cli

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/transfer"
	"flame/transcripts"
)

// A logFormat is a format in which logs are exported.
type logFormat struct {
	extension string
	write     func(w io.Writer, title string, messages iter.Seq[core.Message]) error
}

var logFormats = map[string]logFormat{
	"markdown": {"md", transcripts.Markdown},
	"jsonl": {"jsonl", func(w io.Writer, _ string, messages iter.Seq[core.Message]) error {
		return transcripts.JSONL(w, messages)
	}},
}

// logOptions are the flags of `flame log`.
type logOptions struct {
	format, output, transcript string
}

func newLog(a *app.App) *cobra.Command {
	opts := logOptions{format: "markdown"}
	cmd := &cobra.Command{
		Use: "log FRAME", Short: "Export what was said and done in a finished frame", Example: "  flame log frame-k3x9 --format jsonl",
		Long: "Write the part of the host's transcript that covers the work in a finished frame,\n" +
			"from its start to its end, and print where it is. The frame keeps that path.",
		Args: flags.Takes(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	flags.Choose(cmd, &opts.format, "format", "output format", "markdown", "jsonl")
	cmd.Flags().Var(flags.NotBlank{Name: &opts.output, Of: "FILE"}, "output", "output file (default: logs/FRAME.md or .jsonl in flame's data folder)")
	cmd.Flags().Var(flags.NotBlank{Name: &opts.transcript, Of: "PATH"}, "transcript", "file or folder to read (default: where the host keeps it)")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		log, err := stack.LogOf(ctx, p, a.Caller(), args[0])
		if err != nil {
			return err
		}
		sources, err := logExport{a}.transcriptsOf(log, opts.transcript)
		if err != nil {
			return err
		}
		frame, err := logExport{a}.saveLog(ctx, p, log, sources, opts)
		if err != nil {
			return err
		}
		return a.Out.Print(map[string]string{"frame": frame.ID, "path": frame.LogPath}, frame.LogPath)
	})
}

// A logExport writes the log of a frame.
type logExport struct{ app *app.App }

// transcriptsOf finds what the host logged of a frame's session: in path, or
// where the host keeps it.
func (c logExport) transcriptsOf(log stack.Log, path string) ([]transcripts.Log, error) {
	if path == "" {
		machine, err := c.app.Machine()
		if err != nil {
			return nil, err
		}
		found, err := c.app.Hosts.LogOf(machine, log.Host, log.Frame.Session, log.Path)
		if problem := (*core.Problem)(nil); errors.As(err, &problem) {
			return nil, problem.WithHint("hosts delete old sessions; name a copy of its transcript with --transcript")
		}
		return []transcripts.Log{found}, problemOf(err, log.Path, c.app.Hosts)
	}
	logs, err := c.app.Hosts.Formats().Detect(path, nil)
	if err != nil {
		return nil, problemOf(err, path, c.app.Hosts)
	}
	for i := range logs {
		if logs[i].Format.Database != nil {
			logs[i].Session = log.Frame.Session
		}
	}
	return logs, nil
}

// saveLog writes what the sources contain of the log.
func (c logExport) saveLog(ctx context.Context, p *project.Project, log stack.Log, sources []transcripts.Log, opts logOptions) (core.Frame, error) {
	format := logFormats[opts.format]
	file := opts.output
	if file == "" {
		at, err := c.app.Place()
		if err != nil {
			return core.Frame{}, err
		}
		if file, err = transfer.LogFile(at.Data.Path, log.Frame.ID, format.extension); err != nil {
			return core.Frame{}, err
		}
	}
	return stack.SaveLog(ctx, p, c.app.Caller(), log.Frame.ID, file, func(w io.Writer) error {
		found, failed := 0, error(nil)
		err := format.write(w, log.Frame.Goal+" ("+log.Frame.ID+")", func(yield func(core.Message) bool) {
			for m, err := range log.Part(transcripts.Complete(ctx, sources...)) {
				if failed = err; err != nil || !yield(m) {
					return
				}
				if m.Role != core.RoleOther {
					found++
				}
			}
		})
		if err := errors.Join(failed, err); err != nil {
			return err
		}
		if found == 0 {
			return core.NotFoundf("nothing of session %s is left from the time of %s", log.Frame.Session, log.Frame.ID).
				WithHint("hosts delete old sessions; name a copy of its transcript with --transcript")
		}
		return nil
	})
}
