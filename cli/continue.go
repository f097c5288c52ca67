package cli

import (
	"context"
	"os"
	"strings"
	"syscall"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/briefing"
)

func newContinue(a *app.App) *cobra.Command {
	var frame string
	last := "flame continue " + lo.LastOrEmpty(a.Hosts.Names())
	cmd := &cobra.Command{
		Use: "continue [HOST] [PROMPT...]", Short: "Continue the work of one session in another, of any host",
		Example: "  " + last + "\n  " + last + " \"the tests first\"\n  flame continue >prompt.txt",
		Long: "Begin a session of HOST that continues the work of another session, at a terminal. Its first\n" +
			"prompt has the outcome, decisions, files and open frames of that work, then PROMPT. The new\n" +
			"session takes the frame over, even if the other one still runs. Without HOST, flame prints the\n" +
			"prompt, for any program.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if _, known := a.Hosts.Find(args[0]); !known {
				return app.NewUsageError(cmd, "there is no host %q", args[0])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				names = a.Hosts.Names()
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&frame, "frame", "", "the frame to continue (default: the current one, else the latest that a session left)")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		left, err := briefing.FirstPromptFor(ctx, p, a.Caller(), frame)
		if err != nil {
			return err
		}
		left.Text += strings.Join(lo.Drop(args, 1), " ")
		if len(args) == 0 {
			return a.Out.Print(map[string]any{"frame": left.Frame.ID, "text": left.Text}, left.Text)
		}
		return begin(a, a.Hosts.Of(args[0]), left.Text)
	})
}

// begin becomes the program of a host with its first prompt.
func begin(a *app.App, host hosts.Host, prompt string) error {
	if !a.AtTerminal() {
		return core.Invalidf("stdin is not a terminal").WithHint("without a host, `flame continue` prints the prompt, as in `flame continue | PROGRAM`")
	}
	machine, err := a.Machine()
	if err != nil {
		return err
	}
	command, err := host.StartCommand(machine, prompt)
	if err != nil {
		return err
	}
	return syscall.Exec(command[0], append([]string{host.Program}, command[1:]...), os.Environ())
}
