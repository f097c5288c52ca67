package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"flame/board/feed"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/cli/top"
	"flame/core"
)

func newTop(a *app.App) *cobra.Command {
	var guarded bool
	cmd := &cobra.Command{
		Use: "top", Short: "Show this project live in the terminal", Example: "  flame top",
		Long: "Show the frames and agents of this project live in the terminal: what runs now, and\n" +
			"the tree with time, cost and tokens of each frame, by itself and with all below it.\n" +
			"The key ? shows the keys. The terminal is left as it was.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return watching{a}.top(cmd.Context(), guarded) },
	}
	cmd.Flags().BoolVar(&guarded, "guarded", false, "be the process that shows the screen")
	_ = cmd.Flags().MarkHidden("guarded") // it is there
	return cmd
}

// A watching shows a project in the terminal.
type watching struct{ app *app.App }

// top shows the screen: in another process, so that this one restores the terminal
// whatever becomes of that.
func (c watching) top(ctx context.Context, guarded bool) error {
	in, out, err := c.terminal()
	if err != nil {
		return err
	}
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	if guarded {
		return top.Run(top.Guarded(ctx), top.Options{
			In: in, Out: out, Colours: os.Getenv("NO_COLOR") == "", Project: filepath.Base(at.Dir),
			Open: func(ctx context.Context) (feed.Opened, error) { return openLive(ctx, c.app, at) },
		})
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	screen := exec.Command(program, append(os.Args[1:], "--guarded")...)
	screen.Stdin, screen.Stdout = in, out
	status, err := top.Guard(ctx, screen, in, c.app.Stderr)
	if err != nil || status == 0 {
		return err
	}
	return app.Ended(status)
}

// terminal returns the terminal that a person is at.
func (c watching) terminal() (in, out *os.File, err error) {
	in, isFile := c.app.Stdin.(*os.File)
	out, isFileToo := c.app.Stdout.(*os.File)
	switch {
	case !isFile || !isFileToo || !isatty.IsTerminal(in.Fd()) || !isatty.IsTerminal(out.Fd()):
		return nil, nil, core.Invalidf("stdin and stdout are not both a terminal").WithHint("`flame status` and `flame tree` print the same once")
	case os.Getenv("TERM") == "dumb":
		return nil, nil, core.Invalidf("TERM is dumb: such a terminal shows lines, but no screen").WithHint("`flame status` and `flame tree` print the same once")
	}
	return in, out, nil
}
