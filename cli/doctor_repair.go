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

// repair says what can be repaired in the store, repairs it if the user agrees,
// and checks it again.
func (c checkup) repair(cmd *cobra.Command, agreed bool) error {
	place, err := c.app.Place()
	if err != nil {
		return err
	}
	found := c.app.Check(cmd.Context(), place)
	plan := render.Mending(found)
	if plan == "" {
		return c.repaired(core.Repaired{}, "there is nothing to repair\n", found)
	}
	if !agreed {
		if agreed, err = c.agrees(cmd, plan); err != nil || !agreed {
			return err
		}
	}
	done, err := c.app.Repair(cmd.Context(), place)
	if err != nil {
		return err
	}
	text := "copied " + done.Copy + "\n"
	for _, what := range done.Mended {
		text += "mended " + what + "\n"
	}
	return c.repaired(done, text, c.app.Check(cmd.Context(), place))
}

// repaired prints what a repair did and what is left.
func (c checkup) repaired(done core.Repaired, text string, left []core.Finding) error {
	answer := map[string]any{"copy": done.Copy, "mended": append([]string{}, done.Mended...), "findings": left}
	if err := c.app.Out.Print(answer, text+render.Findings(left)); err != nil {
		return err
	}
	return brokenOf(left)
}

// agrees prints a plan and asks whether to follow it.
func (c checkup) agrees(cmd *cobra.Command, plan string) (bool, error) {
	if err := c.app.Out.Print(map[string]string{"plan": plan}, plan); err != nil {
		return false, err
	}
	in, ok := c.app.Stdin.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return false, flags.Wrong(cmd, "there is no terminal to ask at; --yes repairs without asking")
	}
	fmt.Fprint(c.app.Stderr, "Do this? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	agreed := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
	if !agreed {
		fmt.Fprintln(c.app.Stderr, "nothing was changed")
	}
	return agreed, nil
}
