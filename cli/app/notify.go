package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/local/place"
)

// NotifyProgram returns the path of the program that a setting names, by a path or a name on PATH, for
// events that a person may want to know at once. Only the user may choose it, not a project; the error
// gives the reason.
func NotifyProgram(setting string, known hosts.Registry, at place.Place) (program string, err error) {
	machine, err := hosts.ThisMachine(at.Worktree)
	if err != nil {
		return "", err
	}
	variables := []string{env.Notify}
	if !filepath.IsAbs(setting) {
		variables = append(variables, "PATH")
	}
	projects := known.Foreign(machine, at.Worktree, at.Dir)
	for _, variable := range variables {
		if file := known.SetByProject(machine, projects, variable); file != "" {
			return "", core.Invalidf("flame does not use %s: %s, which came with the project, sets %s, or flame cannot read it", env.Notify, file, variable).
				WithHint("a project could make you run any program; remove it there, and set %s in your own environment", env.Notify)
		}
	}
	return outside(setting, machine.LookPath, projects)
}

// outside looks up a program, which must not be in any of these projects.
func outside(setting string, lookPath func(string) (string, error), projects []string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", core.Invalidf("flame does not use %s=%q: %s", env.Notify, core.OneLine(setting, 200), fmt.Sprintf(format, args...)).
			WithHint("name a program outside the project by an absolute path, or by its name on PATH")
	}
	if !filepath.IsAbs(setting) && strings.ContainsRune(setting, filepath.Separator) {
		return refuse("it is a relative path")
	}
	path, err := lookPath(setting)
	switch {
	case err != nil:
		return refuse("there is no such program")
	case !filepath.IsAbs(path):
		return refuse("PATH contains it under a relative path")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse("%v", err)
	}
	for _, project := range projects {
		if resolved, err := filepath.EvalSymlinks(project); err == nil {
			project = resolved
		}
		for _, one := range []string{path, real} {
			if rel, err := filepath.Rel(project, one); err == nil && filepath.IsLocal(rel) {
				return refuse("%s is in the project", path)
			}
		}
	}
	return path, nil
}

// NotifyLimit is how long a program may run.
const NotifyLimit = 10 * time.Second

// Notify runs a program without a shell, a terminal, input or output. Its arguments are the words,
// made harmless. After the limit, Notify kills the program and its process group.
func Notify(ctx context.Context, program string, words []string, limit time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, program, lo.Map(words, func(word string, _ int) string { return harmless(word) })...)
	cmd.Dir = "/" // the project's folder could hold files that the program would load
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		cmd.Dir = home
	}
	cmd.Env = unmarked()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s was killed after %v", program, limit)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// maxWord bounds an argument, in characters.
const maxWord = 300

// harmless returns a word that is no option and does not steer a terminal.
func harmless(word string) string {
	word = core.OneLine(word, maxWord)
	if strings.HasPrefix(word, "-") {
		word = "…" + word
	}
	return word
}

// unmarked returns the environment without an agent's mark: flame ends marked processes with the
// agent, and the user's program must not end with it.
func unmarked() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, core.AgentVariable+"=") })
}

// A Notifier runs a program for each notification without waiting for it. A process of its own,
// `flame notify`, ends a program that takes too long.
type Notifier struct {
	Flame   string // path of flame's program
	Program string // path of the user's
	Log     *slog.Logger

	running sync.WaitGroup
}

// Tell begins a notification: its kind, a short sentence and an id.
func (n *Notifier) Tell(kind, text, id string) {
	cmd := exec.Command(n.Flame, "notify", "--", n.Program, harmless(kind), harmless(text), harmless(id))
	cmd.Env, cmd.SysProcAttr = unmarked(), &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		n.Log.Warn("notify", "error", err)
		return
	}
	n.running.Go(func() { _ = cmd.Wait() }) // it logs its own failure
}

// Wait waits until all started notifications have ended, for at most NotifyLimit.
func (n *Notifier) Wait() { n.running.Wait() }
