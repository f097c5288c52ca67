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
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/render"
)

func newTrack(a *app.App) *cobra.Command {
	format := "tree"
	var follow bool
	cmd := &cobra.Command{
		Use: "track FILE|DIR|-", Short: "Show who started whom, from the logs of a host",
		Example: "  flame track " + a.Hosts.LogsOf() + " --format mermaid",
		Long: "Read logs of " + a.Hosts.Titles("or") + " and show their sessions and agents, with " +
			"what each was asked, how it ended and what it took. Session files, folders of them,\n" +
			"what the hosts print, exports and databases are recognized by their content; - reads standard input.",
		Args: flags.Takes(1, 1), ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Out.JSON {
				format = "json"
			}
			return track(cmd.Context(), a, args[0], format, follow)
		},
	}
	flags.Choose(cmd, &format, "format", "output format", trail.Formats()...)
	cmd.Flags().BoolVar(&follow, "follow", false, "continue as the logs grow")
	return cmd
}

// trackPace is how often a followed log is checked.
const trackPace = time.Second

func track(ctx context.Context, a *app.App, path, format string, follow bool) error {
	show := func(t trail.Trail) error {
		if format == "tree" {
			var b strings.Builder
			if err := trail.Draw(&b, t, format); err != nil {
				return err
			}
			return a.Out.Print(t, b.String()+remarksOn(t))
		}
		return trail.Draw(a.Stdout, t, format)
	}
	if follow {
		err := trail.Follow(ctx, a.Hosts.Formats(), path, a.Stdin, trackPace, show)
		if ctx.Err() != nil {
			return nil // the user has seen enough
		}
		return problemOf(err, path, a.Hosts)
	}
	logs, err := a.Hosts.Formats().Detect(path, a.Stdin)
	if err != nil {
		return problemOf(err, path, a.Hosts)
	}
	told, err := trail.Read(ctx, logs...)
	if err != nil {
		return problemOf(err, path, a.Hosts)
	}
	return show(told)
}

// problemOf says what to do about a log that cannot be read.
func problemOf(err error, path string, known hosts.Registry) error {
	var problem *core.Problem
	var of *fs.PathError
	hint := "%s should be a log of " + known.Titles("or") + ", or a folder of such"
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

// remarksOn says what the drawing does not show of the logs.
func remarksOn(t trail.Trail) string {
	text := ""
	all, untold := t.Used()
	if len(t.Nodes) > 1 {
		text += "in all: " + render.Usage(all) + "\n"
	}
	if untold > 0 {
		text += "of it by agents whose own share these logs do not tell: " + render.Money(untold) + "\n"
	}
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
