// Package app is what the commands of the shell share: the parts of the program
// that they work with, the project that they work on, and how they talk to people.
package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"flame/agents"
	"flame/cli/printer"
	"flame/config"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/place"
	"flame/project/sweep"
	"flame/render"
)

// An App is what commands work with. main fills it.
type App struct {
	Version  string
	Commit   string // empty if the build did not note it
	Schema   int    // version of the data that the program writes
	Settings config.Settings
	Warnings []config.Warning // of settings that could not be used
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Hosts    hosts.Registry // that flame works in

	// Open opens the project at a place. A long-lived one serves many calls.
	Open func(at place.Place, longLived bool) (*project.Project, func() error, error)
	// File returns the path of the database of a place.
	File func(at place.Place) string
	// Log returns the log of a place, for those who did not get to open its project.
	Log func(at place.Place) *slog.Logger
	// Agents returns the service that starts agents in a project.
	Agents func(p *project.Project, at place.Place) (*agents.Agents, error)
	// KeepHub shares a project with other machines, while it has joined a hub, until ctx ends.
	// It is nil where nothing is shared.
	KeepHub func(ctx context.Context, p *project.Project, at place.Place)
	// FirstCommit asks git for the first commit of a repository.
	FirstCommit place.Git
	// Check looks at the data of a place without changing it.
	Check func(ctx context.Context, at place.Place) []core.Finding
	// Repair repairs what it can, and keeps a copy of the data as it was.
	Repair func(ctx context.Context, at place.Place) (core.Repaired, error)
	// Exit ends the process at once, whatever blocks in it.
	Exit func(code int)

	TakeTime func() bool     // lets a command take as long as it needs to end after a signal
	Session  string          // flag --session
	Folder   string          // that a host's session was started in; empty: as the environment says
	Out      printer.Printer // as --json selects
}

// Warn reports settings that are not used.
func (a *App) Warn() {
	for _, w := range a.Warnings {
		a.Say(w)
	}
}

// Say tells of a setting that is not used.
func (a *App) Say(w config.Warning) { a.Note(w.String()) }

// Note tells a person something besides the answer.
func (a *App) Note(text string) { fmt.Fprintf(a.Stderr, "[flame] %s\n", core.OneLine(text, 2000)) }

// Complain prints an error for people: one line, perhaps a hint.
func (a *App) Complain(err error) {
	fmt.Fprintf(a.Stderr, "flame: %s\n", core.OneLine(err.Error(), 2000))
	var problem *core.Problem
	if errors.As(err, &problem) && problem.Hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", strings.Join(hintLines(render.ForShell(problem.Hint)), "\n      "))
	}
}

// longHint is from how many characters on a hint is more than one line.
const longHint = 140

// hintLines returns a hint in lines: a long one has a line for each of its parts, and long
// lists have several. Commands stay whole.
func hintLines(hint string) (lines []string) {
	if hint = core.OneLine(hint, 2000); utf8.RuneCountInString(hint) <= longHint {
		return []string{hint}
	}
	for part := range strings.SplitSeq(hint, "; ") {
		line, list := "", strings.Count(part, ", ") > 3
		for item := range strings.SplitAfterSeq(part, ", ") {
			if line != "" && list && utf8.RuneCountInString(line+item) > longHint {
				lines, line = append(lines, strings.TrimSpace(line)), ""
			}
			line += item
		}
		lines = append(lines, line)
	}
	return lines
}

// AtTerminal reports whether a person may be typing.
func (a *App) AtTerminal() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && isatty.IsTerminal(stdin.Fd())
}

// Confirm has the person at the terminal type a word.
func (a *App) Confirm(word, to string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to %s: ", word, to)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was done"), err)
	}
	return nil
}

// Caller returns on whose behalf commands run.
func (a *App) Caller() project.Caller {
	session := a.Session
	if session == "" {
		session = a.Hosts.Session(os.Getenv)
	}
	return project.Caller{Session: session, Agent: os.Getenv(core.AgentVariable), Host: project.CommandLine}
}

// With opens the project for one command, does what is due, and runs f.
func (a *App) With(ctx context.Context, f func(*project.Project) error) error {
	at, err := a.Place()
	if err != nil {
		return err
	}
	return a.At(at, false, func(p *project.Project) error {
		a.takeIn(ctx, p, at)
		if err := sweep.Once(ctx, p); err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		return f(p)
	})
}

// At opens the project of a place for f.
func (a *App) At(at place.Place, longLived bool, f func(*project.Project) error) error {
	p, closeProject, err := a.Open(at, longLived)
	if err != nil {
		return err
	}
	first := at.Alone && !a.there(at)
	err = errors.Join(f(p), closeProject())
	if first && a.there(at) {
		a.Note(fmt.Sprintf("%s is in no project: neither it nor a folder above has a .git or .flame of yours, so the frames are kept for this folder alone", at.Dir))
	}
	if notice := at.Data.Notice(); notice != "" {
		a.Note(notice)
	}
	return err
}

// there reports whether a place has data.
func (a *App) there(at place.Place) bool {
	there, err := at.Data.Ready(context.Background(), false)
	return there && err == nil
}

// WithAgents opens the agents of a place for f.
func (a *App) WithAgents(at place.Place, longLived bool, f func(*agents.Agents) error) error {
	return a.At(at, longLived, func(p *project.Project) error {
		s, err := a.Agents(p, at)
		if err != nil {
			return err
		}
		return f(s)
	})
}

// AgentsOf returns the agents of an open project.
func (a *App) AgentsOf(p *project.Project) (*agents.Agents, error) {
	at, err := a.Place()
	if err != nil {
		return nil, err
	}
	return a.Agents(p, at)
}
