package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"flame/agents/supervise"
	"flame/core"
)

// mustBeAPerson refuses what models must not do for themselves: where there is no
// terminal, or a host's session around it.
func (a *App) mustBeAPerson() error {
	if !a.atTerminal() || os.Getenv(core.AgentVariable) != "" || a.Hosts.Inside(os.Getenv, supervise.Above()) {
		return core.Invalidf("a grant is for a person to make").WithHint("run this command yourself, in a terminal of your own")
	}
	return nil
}

// atTerminal reports whether a person may be typing.
func (a *App) atTerminal() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && isatty.IsTerminal(stdin.Fd())
}

// confirm has the person at the terminal type a word.
func (a *App) confirm(word, to string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to %s: ", word, to)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was done"), err)
	}
	return nil
}
