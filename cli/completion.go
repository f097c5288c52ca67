package cli

import (
	"io"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
)

func newCompletion(*app.App) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print a script that completes commands and frame ids in a shell",
		Example: "  source <(flame completion bash)\n" +
			"  flame completion zsh > \"${fpath[1]}/_flame\"\n" +
			"  flame completion fish > ~/.config/fish/completions/flame.fish",
		Args: flags.Takes(1, 1), ValidArgs: []cobra.Completion{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			write, known := scripts(cmd.Root())[args[0]]
			if !known {
				return flags.Wrong(cmd, "there is no completion for %q", args[0])
			}
			return write(cmd.OutOrStdout())
		},
	}
}

// scripts returns the functions that write the completion script, by shell.
func scripts(root *cobra.Command) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  root.GenZshCompletion,
		"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	}
}
