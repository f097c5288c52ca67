package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/agents/trail"
	"flame/cli/flags"
	"flame/core"
	"flame/transcripts"
)

func newTrack(a *App) *cobra.Command {
	format := "tree"
	var follow bool
	cmd := &cobra.Command{
		Use: "track FILE|DIR|-", Short: "Show who started whom, from the logs of a host",
		Example: "  flame track ~/.claude/projects/my-project --format mermaid",
		Long:    "Read logs of Claude Code or OpenCode and show the sessions and agents that they\ntell of, with what each was asked, how it ended and what it took. Session files,\nfolders of them, stream-json and run output, exports and OpenCode's database are\nknown by their content; - reads standard input.",
		Args:    flags.Takes(1, 1), ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.out.JSON {
				format = "json"
			}
			return a.track(cmd.Context(), args[0], format, follow)
		},
	}
	flags.Choose(cmd, &format, "format", "how it is drawn", trail.Formats()...)
	cmd.Flags().BoolVar(&follow, "follow", false, "go on as the logs grow")
	return cmd
}

// trackPace is how often a followed log is looked at.
const trackPace = time.Second

func (a *App) track(ctx context.Context, path, format string, follow bool) error {
	show := func(t trail.Trail) error {
		if format == "tree" {
			var b strings.Builder
			if err := trail.Draw(&b, t, format); err != nil {
				return err
			}
			return a.out.Print(t, b.String()+remarksOn(t))
		}
		return trail.Draw(a.Stdout, t, format)
	}
	if follow {
		err := trail.Follow(ctx, path, a.Stdin, trackPace, show)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		return problemOf(err, path)
	}
	logs, err := transcripts.Detect(path, a.Stdin)
	if err != nil {
		return problemOf(err, path)
	}
	told, err := trail.Read(ctx, logs...)
	if err != nil {
		return problemOf(err, path)
	}
	return show(told)
}

// problemOf says what to do about a log that cannot be read.
func problemOf(err error, path string) error {
	var problem *core.Problem
	var of *fs.PathError
	hint := "%s should be a log of Claude Code or OpenCode, or a folder of such"
	switch {
	case err == nil || errors.As(err, &problem):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return core.NotFoundf("there is no file or folder %s", path).WithHint(hint, path)
	case errors.As(err, &of): // people know the file and the reason, not the call
		return core.Unavailablef(err, "%s: %v", of.Path, of.Err).WithHint(hint, path)
	}
	return core.Unavailablef(err, "%v", err).WithHint(hint, path)
}

// remarksOn tells what of the logs is not in the drawing.
func remarksOn(t trail.Trail) string {
	text := ""
	if t.Unknown > 0 {
		text += fmt.Sprintf("entries of unknown kinds: %d of %d\n", t.Unknown, t.Messages)
	}
	for _, path := range t.Torn {
		text += path + ": its last line is not complete\n"
	}
	for _, log := range t.Unread {
		text += log.Path + ": " + log.Reason + "\n"
	}
	return text
}
