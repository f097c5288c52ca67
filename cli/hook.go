package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/intake"
	"flame/project/place"
)

// hookName is the name of the command that hosts run for their events.
const hookName = "hook"

const aboutHooks = `Handle one event of a host from stdin and print the answer that the host expects.
It never fails its host: on any trouble it ends with status 0 and no answer, and
the log (in the folder that flame where prints) has the reason. An event that
cannot be kept in time waits in that folder, in inbox/, and is taken in later.

With --stream it handles one event after the other until stdin ends. Each is a
line {"n": NUMBER, "source": ID, "session": ID, "event": EVENT}, and each answer
a line {"n": NUMBER, "answer": ANSWER}, with "late": true for an event that waits
in inbox/. An event without an answer may be told again.`

func newHook(a *app.App) *cobra.Command {
	hooked := a.Hosts.Hooked()
	stream := false
	cmd := &cobra.Command{
		Use: hookName + " HOST", Short: "Handle events of a host, as its hooks do", Long: aboutHooks,
		Example: "  flame hook " + lo.FirstOrEmpty(hooked).Name + " < event.json",
		Args:    flags.Takes(1, 1), ValidArgs: hooked.Names(),
		// Nothing but the answer may be printed.
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			host, known := hooked.Find(args[0])
			if !known {
				return core.Invalidf("there is no host %q", args[0]).WithHint("use one of %v", hooked.Names())
			}
			if stream {
				hookCall{a, host}.stream(cmd.Context())
				return nil
			}
			hookCall{a, host}.hook(cmd.Context())
			return nil
		},
	}
	cmd.Flags().BoolVar(&stream, "stream", false, "handle events until stdin ends, as lines of JSON")
	return cmd
}

// RunHook handles the event on stdin if args are those of a host's hook, and reports whether
// they are. A host waits for each of these processes, so they make no commands. They ignore
// signals rather than wait for them, which would cost two threads: a hook takes a few seconds
// at most, and keeps its event until it ends.
func RunHook(a *app.App, args []string) bool {
	if len(args) != 2 || args[0] != hookName {
		return false
	}
	host, known := a.Hosts.Hooked().Find(args[1])
	if known {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		hookCall{a, host}.hook(context.Background())
	}
	return known
}

// A hookCall handles events of a host.
type hookCall struct {
	app  *app.App
	host hosts.Host
}

// hook handles the event on stdin within the host's patience. Errors go to the log, if
// there is one.
func (c hookCall) hook(ctx context.Context) {
	if c.app.Settings.Off {
		return
	}
	at, err := c.place()
	if err != nil {
		return // without a project there is no log
	}
	event, err := readWithin(c.app.Stdin, stdinPatience)
	if err != nil {
		c.app.Log(at).Warn("hook", "error", err)
		return
	}
	desk, _, err := c.open(at, false)
	if err != nil {
		return
	}
	answer, _, err := desk.Handle(ctx, c.host, intake.Letter{
		At: desk.Project.Now(), Dir: at.Worktree, Agent: os.Getenv(core.AgentVariable), Event: event,
	})
	if err != nil {
		desk.Project.Log.Warn("hook", "error", err)
	}
	_, _ = c.app.Stdout.Write(answer) // a host that hung up expects no answer
}

// stream handles the events on stdin until it ends.
func (c hookCall) stream(ctx context.Context) {
	at, err := c.place()
	if err != nil {
		return
	}
	desk, closeProject, err := c.open(at, true)
	if err != nil {
		return
	}
	// Events that were sent before the host went away are still to be handled.
	signal.Ignore(syscall.SIGPIPE)
	s := intake.Stream{
		Desk: desk, Host: c.host, Dir: at.Worktree, Agent: os.Getenv(core.AgentVariable), Off: c.app.Settings.Off,
		In: c.app.Stdin, Out: c.app.Stdout,
	}
	err = s.Run(ctx)
	if failed := closeProject(); err != nil || failed != nil {
		desk.Project.Log.Warn("hook", "error", err, "closing", failed)
	}
}

// place finds the project that events are about.
func (c hookCall) place() (place.Place, error) {
	at, err := c.app.Place()
	if err == nil {
		at.Data.Hurried = true
	}
	return at, err
}

// open opens the project at a place. An error is in its log.
func (c hookCall) open(at place.Place, longLived bool) (desk intake.Desk, closeProject func() error, err error) {
	p, closeProject, err := c.app.Open(at, longLived)
	if err != nil {
		c.app.Log(at).Warn("hook", "error", err)
		return desk, nil, err
	}
	p.Transcripts = nil // counting usage would keep the host waiting
	return c.app.Desk(p, at), closeProject, nil
}

// stdinPatience is how long the host may take to say what happened: less than it gives
// its hooks in all.
const stdinPatience = 4 * time.Second

// readWithin reads an event.
func readWithin(in io.Reader, patience time.Duration) ([]byte, error) {
	type read struct {
		event []byte
		err   error
	}
	done := make(chan read, 1)
	go func() {
		event, err := io.ReadAll(io.LimitReader(in, intake.MaxEvent))
		done <- read{event, err}
	}()
	select {
	case r := <-done:
		return r.event, r.err
	case <-time.After(patience):
		return nil, fmt.Errorf("no event came within %v", patience)
	}
}
