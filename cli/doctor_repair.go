package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

// repair says what of the store can be mended, mends it where that is agreed to, and
// looks at it again.
func (a *App) repair(cmd *cobra.Command, agreed bool) error {
	place, err := a.place()
	if err != nil {
		return err
	}
	found := a.Check(cmd.Context(), place)
	plan := render.Mending(found)
	if plan == "" {
		return a.repaired(core.Repaired{}, "there is nothing to mend\n", found)
	}
	if !agreed {
		if agreed, err = a.agrees(cmd, plan); err != nil || !agreed {
			return err
		}
	}
	done, err := a.Repair(cmd.Context(), place)
	if err != nil {
		return err
	}
	text := "copied " + done.Copy + "\n"
	for _, what := range done.Mended {
		text += "mended " + what + "\n"
	}
	return a.repaired(done, text, a.Check(cmd.Context(), place))
}

// repaired prints what a repair did and what is left.
func (a *App) repaired(done core.Repaired, text string, left []core.Finding) error {
	answer := map[string]any{"copy": done.Copy, "mended": append([]string{}, done.Mended...), "findings": left}
	if err := a.out.Print(answer, text+render.Findings(left)); err != nil {
		return err
	}
	return brokenOf(left)
}

// agrees prints a plan and asks whether to follow it.
func (a *App) agrees(cmd *cobra.Command, plan string) (bool, error) {
	if err := a.out.Print(map[string]string{"plan": plan}, plan); err != nil {
		return false, err
	}
	in, ok := a.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return false, flags.Wrong(cmd, "there is no terminal to ask at; --yes does this without asking")
	}
	fmt.Fprint(a.Stderr, "Do this? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	agreed := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
	if !agreed {
		fmt.Fprintln(a.Stderr, "nothing was changed")
	}
	return agreed, nil
}
