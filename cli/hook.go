package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
	"flame/tools"
)

// A hookDoor is how a host's events come in.
type hookDoor struct {
	hook     hosts.Hook
	patience time.Duration // after which the host is let go on without an answer
}

// hookDoors are the hosts that have hooks.
var hookDoors = map[string]hookDoor{
	claudecode.Name: {claudecode.Hook, time.Second},
	opencode.Name:   {opencode.Hook, 280 * time.Millisecond}, // flame.js gives up after 300
}

// maxEvent bounds an event in bytes: a tool's answer can hold a whole file.
const maxEvent = 64 << 20

func newHook(a *App) *cobra.Command {
	names := slices.Sorted(maps.Keys(hookDoors))
	return &cobra.Command{
		Use: "hook HOST", Short: "Take in one event of a host, as its hooks do", Example: "  flame hook claude-code < event.json",
		Long: "Take in one event of a host from stdin and print the answer that the host wants.\nIt never fails its host: on any trouble it ends with status 0 and no answer, and\nthe log (`flame where` says in which folder) has why.",
		Args: takes(1, 1), ValidArgs: names,
		// Nothing but the answer may be printed.
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			door, known := hookDoors[args[0]]
			if !known {
				return core.Invalidf("there is no host %q", args[0]).WithHint("use one of %v", names)
			}
			a.hook(cmd.Context(), door)
			return nil
		},
	}
}

// hook takes in the event on stdin, as far as that goes within the door's
// patience. What keeps it goes to the log, where there is one.
func (a *App) hook(ctx context.Context, door hookDoor) {
	if a.Settings.Off {
		return
	}
	at, err := a.place()
	if err != nil {
		return
	}
	at.Data.Hurried = true
	p, closeProject, err := a.Open(at, false)
	if err != nil {
		return
	}
	p.Transcripts = nil // counting is not for those whom a host waits for
	ctx, stop := context.WithTimeout(ctx, door.patience)
	defer stop()
	answers := make(chan []byte, 1)
	go func() {
		answer, err := a.takeEvent(ctx, p, door.hook)
		if err = errors.Join(err, closeProject()); err != nil {
			p.Log.Warn("hook", "error", err)
		}
		answers <- answer
	}()
	select {
	case answer := <-answers:
		_, _ = a.Stdout.Write(answer) // a host that hung up wants no answer
	case <-ctx.Done():
		p.Log.Warn("hook", "error", "no answer in time")
	}
}

// takeEvent reads the event and asks hook for the answer. A panic is an error like any
// other.
func (a *App) takeEvent(ctx context.Context, p *project.Project, hook hosts.Hook) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	event, err := io.ReadAll(io.LimitReader(a.Stdin, maxEvent))
	if err != nil {
		return nil, err
	}
	ownTool := func(name string) bool { return slices.Contains(tools.Names(), name) }
	return hook(ctx, hosts.Flame{Project: p, OwnTool: ownTool}, event)
}
