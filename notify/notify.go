// Package notify runs a program that the user chose when something happens that a person
// may want to know at once. It says which programs may be one, and runs them; what happens
// is for others to know.
package notify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/project/place"
)

// Chosen returns the path of the program that a setting names, a path or a name on PATH.
// It is the user's choice alone: the error says why a program is not run for a project.
func Chosen(setting string, known hosts.Registry, at place.Place) (program string, err error) {
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
			return "", core.Invalidf("%s is not used: %s, which came with the project, sets %s or cannot be read", env.Notify, file, variable).
				WithHint("a project could have you run anything; remove it there, and set %s in your own environment", env.Notify)
		}
	}
	return found(setting, machine.LookPath, projects)
}

// found looks a program up that must not be in any of these projects.
func found(setting string, lookPath func(string) (string, error), projects []string) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", core.Invalidf("%s=%q is not used: %s", env.Notify, core.OneLine(setting, 200), fmt.Sprintf(format, args...)).
			WithHint("name a program outside of the project by an absolute path, or by its name on PATH")
	}
	if !filepath.IsAbs(setting) && strings.ContainsRune(setting, filepath.Separator) {
		return refuse("it is a relative path")
	}
	path, err := lookPath(setting)
	switch {
	case err != nil:
		return refuse("there is no such program")
	case !filepath.IsAbs(path):
		return refuse("PATH leads to it by a relative path")
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

// Limit is how long a program may run.
const Limit = 10 * time.Second

// Run runs a program with these words, harmless ones, as its arguments, and without a
// shell, a terminal, input or output. After the limit it is killed, with its process group.
func Run(ctx context.Context, program string, words []string, limit time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, program)
	for _, word := range words {
		cmd.Args = append(cmd.Args, harmless(word))
	}
	cmd.Dir = "/" // the project's folder could hold what the program would load
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

// harmless returns a word that cannot be taken for an option, or steer a terminal.
func harmless(word string) string {
	word = core.OneLine(word, maxWord)
	if strings.HasPrefix(word, "-") {
		word = "…" + word
	}
	return word
}

// unmarked returns the environment without an agent's mark: what the user runs is no part
// of the agent, and does not end with it.
func unmarked() (environ []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, core.AgentVariable+"=") {
			environ = append(environ, variable)
		}
	}
	return environ
}
