package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/tools"
)

// maxEvent bounds an event in bytes: a tool's answer can hold a whole file.
const maxEvent = 64 << 20

func newHook(a *app.App) *cobra.Command {
	hooked := a.Hosts.Hooked()
	return &cobra.Command{
		Use: "hook HOST", Short: "Handle one event of a host, as its hooks do", Example: "  flame hook " + lo.FirstOrEmpty(hooked).Name + " < event.json",
		Long: "Handle one event of a host from stdin and print the answer that the host expects.\n" +
			"It never fails its host: on any trouble it ends with status 0 and no answer, and\nthe log (`flame where` says in which folder) has the reason.",
		Args: flags.Takes(1, 1), ValidArgs: hooked.Names(),
		// Nothing but the answer may be printed.
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			host, known := hooked.Find(args[0])
			if !known {
				return core.Invalidf("there is no host %q", args[0]).WithHint("use one of %v", hooked.Names())
			}
			hookCall{a}.hook(cmd.Context(), host)
			return nil
		},
	}
}

// A hookCall handles one event of a host.
type hookCall struct{ app *app.App }

// hook handles the event on stdin, as far as it gets within the host's
// patience. Errors go to the log, if there is one.
func (c hookCall) hook(ctx context.Context, host hosts.Host) {
	if c.app.Settings.Off {
		return
	}
	at, err := c.app.Place()
	if err != nil {
		return
	}
	at.Data.Hurried = true
	p, closeProject, err := c.app.Open(at, false)
	if err != nil {
		return
	}
	p.Transcripts = nil // counting usage would keep the host waiting
	ctx, stop := context.WithTimeout(ctx, host.Patience)
	defer stop()
	answers := make(chan []byte, 1)
	go func() {
		answer, err := c.takeEvent(ctx, p, host.Hook)
		if err = errors.Join(err, closeProject()); err != nil {
			p.Log.Warn("hook", "error", err)
		}
		answers <- answer
	}()
	select {
	case answer := <-answers:
		_, _ = c.app.Stdout.Write(answer) // a host that hung up expects no answer
	case <-ctx.Done():
		p.Log.Warn("hook", "error", "no answer in time")
	}
}

// takeEvent reads the event and asks hook for the answer. It returns a panic as
// an error.
func (c hookCall) takeEvent(ctx context.Context, p *project.Project, hook hosts.Hook) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	event, err := io.ReadAll(io.LimitReader(c.app.Stdin, maxEvent))
	if err != nil {
		return nil, err
	}
	ownTool := func(name string) bool { return slices.Contains(tools.Names(), name) }
	return hook(ctx, hosts.Flame{Project: p, OwnTool: ownTool}, event)
}
