package agentcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flame/agents/graph"
	"flame/cli/app"
	"flame/core"
	"flame/render"
)

// followPace is how often a followed log is checked.
const followPace = time.Second

// drawLogs draws the sessions and agents of the logs at a path.
func (c commands) drawLogs(ctx context.Context, path, format string, follow bool) error {
	a := c.app
	show := func(t graph.LogGraph) error {
		if format != "tree" {
			return t.Draw(a.Stdout, format)
		}
		var b strings.Builder
		err := t.Draw(&b, format)
		return a.Answer(t, b.String()+remarksOn(t), err)
	}
	if follow {
		err := graph.FollowLogs(ctx, a.Hosts.Formats(), path, a.Stdin, followPace, show)
		if ctx.Err() != nil {
			return nil // the user ended it
		}
		return app.LogProblem(err, path, a.Hosts)
	}
	told, err := app.ReadTrail(ctx, a.Hosts, path, a.Stdin)
	if err != nil {
		return err
	}
	return show(told)
}

// remarksOn returns facts about the logs that the drawing does not show.
func remarksOn(t graph.LogGraph) string {
	text := ""
	all, untold := t.Used()
	if len(t.Nodes) > 1 {
		text += "total: " + render.Usage(all) + "\n"
	}
	if untold > 0 {
		text += "of that, used by agents whose share these logs do not show: " + core.Money(untold) + "\n"
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
