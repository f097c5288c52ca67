package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/hosts"
	"flame/hosts/intake"
	"flame/local/place"
)

// hookName is the name of the command that hosts run for their events.
const hookName = "hook"

const aboutHooks = `Handle one event of a host from stdin and print the answer that the host expects.
It never fails its host: after any error it exits with status 0 and no answer,
and writes the reason to the log, in the folder that flame where prints. If flame
cannot store an event in time, it puts the event into inbox/ in that folder, and
the next process stores it.

With --stream it handles events one after another until stdin ends. Each event is
a line {"n": NUMBER, "source": ID, "session": ID, "event": EVENT}, and each answer
a line {"n": NUMBER, "answer": ANSWER}, with "late": true for an event that waits
in inbox/. A host may send an event without an answer again.`

func newHook(a *app.App) *cobra.Command {
	hooked := a.Hosts.WithHooks()
	stream := false
	cmd := &cobra.Command{
		Use: hookName + " HOST", Short: "Handle events of a host, as its hooks do", Long: aboutHooks,
		Example: "  flame hook " + lo.FirstOrEmpty(hooked).Name + " < event.json",
		Args:    app.CheckArgs(1, 1), ValidArgs: hooked.Names(),
		// The host expects only the answer.
		PersistentPreRun: func(*cobra.Command, []string) {},
		RunE: func(cmd *cobra.Command, args []string) error {
			host, known := hooked.Find(args[0])
			if !known {
				return core.Invalidf("there is no host %q", args[0]).WithHint("use one of %v", hooked.Names())
			}
			if stream {
				handleEvents(cmd.Context(), a, host)
			} else {
				handleEvent(cmd.Context(), a, host)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stream, "stream", false, "handle events until stdin ends, as lines of JSON")
	return cmd
}

// RunHook handles the event on stdin if args are those of a host's hook, and reports whether
// they are. A host waits for each of these processes, so RunHook makes no commands. It ignores
// signals, because waiting for them costs two threads: a hook takes a few seconds at most, and
// keeps its event until it ends.
func RunHook(a *app.App, args []string) bool {
	if len(args) != 2 || args[0] != hookName {
		return false
	}
	host, known := a.Hosts.WithHooks().Find(args[1])
	if known {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		handleEvent(context.Background(), a, host)
	}
	return known
}

// eventPatience is how long the host may take to send its event: less than its time limit for
// a hook.
const eventPatience = 4 * time.Second

// handleEvent handles the event on stdin within the host's patience. Errors go to the log,
// if there is one.
func handleEvent(ctx context.Context, a *app.App, host hosts.Host) {
	if a.Settings.Off {
		return
	}
	at, err := hurriedPlace(a)
	if err != nil {
		return // without a project there is no log
	}
	event, err := within(eventPatience, "event", func() ([]byte, error) { return wholeEvent(a.Stdin) })
	if err != nil {
		a.Log(at).Warn("hook", "error", err)
		return
	}
	desk, _ := openDesk(a, at, false)
	answer, _, err := desk.Handle(ctx, host, intake.QueuedEvent{
		At: desk.Project.Now(), Dir: at.Worktree, Agent: os.Getenv(core.AgentVariable), Event: event,
	})
	if err != nil {
		desk.Project.Log.Warn("hook", "error", err)
	}
	_, _ = a.Stdout.Write(answer) // a host that closed the pipe expects no answer
}

// wholeEvent reads one JSON document. It waits for no more, because some hosts leave stdin open,
// and ignores a byte order mark before the document and all bytes behind it.
func wholeEvent(stdin io.Reader) (event json.RawMessage, err error) {
	in := bufio.NewReader(io.LimitReader(stdin, intake.MaxEvent))
	if first, err := in.Peek(1); err == nil && first[0] == byteOrderMark[0] {
		if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
			_, _ = in.Discard(len(byteOrderMark)) // they are in the buffer
		}
	}
	if err := json.NewDecoder(in).Decode(&event); err != nil {
		return nil, fmt.Errorf("what came is no event: %w", err)
	}
	return event, nil
}

// byteOrderMark is what some programs write before a text in UTF-8.
const byteOrderMark = "\ufeff"

// handleEvents handles the events on stdin until it ends.
func handleEvents(ctx context.Context, a *app.App, host hosts.Host) {
	at, err := hurriedPlace(a)
	if err != nil {
		return
	}
	desk, closeProject := openDesk(a, at, true)
	// Flame also handles events that the host sent before it disappeared.
	signal.Ignore(syscall.SIGPIPE)
	s := intake.Stream{
		Handler: desk, Host: host, Dir: at.Worktree, Agent: os.Getenv(core.AgentVariable), Off: a.Settings.Off, In: a.Stdin, Out: a.Stdout,
	}
	err = s.Run(ctx)
	if failed := closeProject(); err != nil || failed != nil {
		desk.Project.Log.Warn("hook", "error", err, "closing", failed)
	}
}

// hurriedPlace finds the project of a process that a host waits for.
func hurriedPlace(a *app.App) (place.Place, error) {
	at, err := a.Place()
	if err == nil {
		at.Data.NoGit = true
	}
	return at, err
}

// openDesk opens the project at a place for events.
func openDesk(a *app.App, at place.Place, longLived bool) (desk intake.Handler, closeProject func() error) {
	p, closeProject := a.Open(at, longLived)
	p.Transcripts = nil // counting usage would keep the host waiting
	return a.EventHandler(p, at), closeProject
}

// within returns the result of read, or an error if that takes too long.
func within[T any](patience time.Duration, thing string, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(patience):
		var none T
		return none, fmt.Errorf("no %s came within %s", thing, core.Span(patience.Milliseconds()))
	}
}
