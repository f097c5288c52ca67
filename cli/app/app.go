// Package app holds the parts that all commands of the shell share: the parts of the program
// that they work with, the project that they work on, and how they talk to people.
package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"flame/agents"
	"flame/agents/definition"
	"flame/config"
	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/hosts/intake"
	"flame/local/place"
	"flame/project"
	"flame/project/sweep"
	"flame/render"
	"flame/tools"
)

// An App holds everything that commands work with. main fills it.
type App struct {
	Program  func() string // returns the path of flame's own program
	Build    Build
	Settings config.Settings
	Warnings []config.Warning // about settings that flame cannot use
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Hosts    hosts.Registry // the hosts that flame knows

	// Open opens the project at a place. A long-lived project serves many calls.
	// Its first use reports errors of the data.
	Open func(at place.Place, longLived bool) (p *project.Project, closeProject func() error)
	// File returns the path of the database of a place.
	File func(at place.Place) string
	// Log returns the log of a place, even if its project cannot be opened.
	Log func(at place.Place) *slog.Logger
	// Agents returns the service that starts agents in a project.
	Agents func(p *project.Project, at place.Place) *agents.Agents
	// StartHub replaces the process by flame-hub with these arguments. It returns only an error.
	StartHub func(args []string) error
	// KeepHub shares a project with other machines until ctx ends, while the project has joined
	// a hub; nil: flame shares nothing.
	KeepHub func(ctx context.Context, p *project.Project, at place.Place)
	// FirstCommit asks git for the first commit of a repository.
	FirstCommit place.Git
	// Safe asks git which folders of other users the user trusts.
	Safe place.Safe
	// Check looks at the data of a place without changing it.
	Check func(ctx context.Context, at place.Place) []core.Finding
	// Exit ends the process at once, even if a call blocks.
	Exit func(code int)

	DisableDeadline func() bool // lets a command take as long as it needs to end after a signal
	Session         string      // flag --session
	Folder          string      // in which a host started its session; empty: as the environment says
	Out             Printer     // as --json selects
}

// A Build describes how the program was built, as `flame version --json` prints it.
type Build struct {
	Version string `json:"version"`          // of the module; (devel) from a checkout
	Commit  string `json:"commit,omitempty"` // that was checked out; empty if the build did not note it
	Date    string `json:"date,omitempty"`   // of the commit, in RFC 3339
	Go      string `json:"go"`
	System  string `json:"system"` // operating system and processor
	Schema  int    `json:"schema"` // version of the data that it writes
}

// String returns b on lines of a terminal.
func (b Build) String() string {
	commit := cmp.Or(b.Commit, "unknown")
	if b.Date != "" {
		commit += " of " + b.Date
	}
	return fmt.Sprintf("flame %s\ncommit %s\n%s %s\nschema %d", b.Version, commit, b.Go, b.System, b.Schema)
}

// Warn reports settings that flame cannot use.
func (a *App) Warn() {
	for _, w := range a.Warnings {
		a.PrintNote(w.String())
	}
}

// PrintNote prints a line for people besides the answer.
func (a *App) PrintNote(text string) { fmt.Fprintf(a.Stderr, "[flame] %s\n", core.OneLine(text, 2000)) }

// PrintError prints an error for people: one line, perhaps a hint.
func (a *App) PrintError(err error) {
	fmt.Fprintf(a.Stderr, "flame: %s\n", core.OneLine(err.Error(), 2000))
	if hint := render.Hint(err); hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", strings.Join(hintLines(hint), "\n      "))
	}
}

// longHint is the length in characters from which a hint takes several lines.
const longHint = 140

// hintLines returns a hint in lines: a long hint has a line for each of its parts, and several
// lines for a long list. It breaks no command.
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

// AtTerminal reports whether stdin is a terminal, at which a person may type.
func (a *App) AtTerminal() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && isatty.IsTerminal(stdin.Fd())
}

// Confirmed asks the person at the terminal for consent, unless yes is set. Without a terminal it
// returns refusal.
func (a *App) Confirmed(yes bool, refusal error, word, to string) error {
	switch {
	case yes:
		return nil
	case !a.AtTerminal():
		return refusal
	}
	return a.ConfirmByWord(word, to)
}

// ConfirmByWord has the person at the terminal type a word.
func (a *App) ConfirmByWord(word, to string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to %s: ", word, to)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was done"), err)
	}
	return nil
}

// Pick has the person at the terminal choose one of n by its number; 0 for none of them.
func (a *App) Pick(question string, n int) (int, error) {
	fmt.Fprintf(a.Stderr, "[flame] %s, 1 to %d (Enter: none): ", question, n)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if typed = strings.TrimSpace(typed); typed == "" || err != nil {
		return 0, nil // the end of the input chooses nothing
	}
	chosen, err := strconv.Atoi(typed)
	if err != nil || chosen < 1 || chosen > n {
		return 0, core.Invalidf("%q is no number from 1 to %d", typed, n)
	}
	return chosen, nil
}

// Caller returns on whose behalf commands run.
func (a *App) Caller() project.Caller {
	session := cmp.Or(a.Session, a.Hosts.Session(os.Getenv))
	return project.Caller{Session: session, Agent: os.Getenv(core.AgentVariable), Host: project.CommandLine}
}

// takePatience bounds how long a command stores waiting events. It leaves the rest to the next process.
const takePatience = time.Second

// EventHandler returns the desk that stores hosts' events for a project.
func (a *App) EventHandler(p *project.Project, at place.Place) intake.Handler {
	return intake.Handler{
		Project: p, Hosts: a.Hosts, Inbox: intake.Inbox{Dir: at.Data.Path, Ready: at.Data.Ready},
		OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) },
	}
}

// With opens the project for one command, stores waiting events, does the due work, and runs f.
func (a *App) With(ctx context.Context, f func(*project.Project) error) error {
	at, err := a.Place()
	if err != nil {
		return err
	}
	return a.At(at, false, func(p *project.Project) error {
		taking, stop := context.WithTimeout(ctx, takePatience)
		a.EventHandler(p, at).TakeWaiting(taking) // so that the command sees everything that has happened
		stop()
		if err := sweep.RunOnce(ctx, p); err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		return f(p)
	})
}

// At opens the project of a place for f.
func (a *App) At(at place.Place, longLived bool, f func(*project.Project) error) error {
	p, closeProject := a.Open(at, longLived)
	first := (at.Unmarked || at.Foreign != "") && !a.there(at)
	err := errors.Join(f(p), closeProject())
	if first && a.there(at) {
		a.NoteForeign(at)
		if at.Foreign == "" {
			a.PrintNote(fmt.Sprintf("%s is in no project: neither it nor a folder above it has a .git or .flame of yours, "+
				"so flame keeps the frames for this folder alone", at.Dir))
		}
	}
	a.NoteOf(at)
	return err
}

// NoteOf prints the notice of a place's data folder, if it has one.
func (a *App) NoteOf(at place.Place) {
	if notice := at.Data.Notice(); notice != "" {
		a.PrintNote(notice)
	}
}

// NoteForeign prints that what is around a place does not count, if that is so.
func (a *App) NoteForeign(at place.Place) {
	if at.Foreign != "" {
		what, hint := Foreign(at)
		a.PrintNote(what + "; " + hint)
	}
}

// Foreign says that another user owns what is around a place, and how to make it count.
func Foreign(at place.Place) (what, hint string) {
	return fmt.Sprintf("%s belongs to another user, so flame does not take it for a project of yours, and keeps the frames for %s", at.Foreign, at.Dir),
		"if you trust it, run `git config --global --add safe.directory " + hooks.ShellWord(at.Foreign) + "`"
}

// there reports whether a place has data.
func (a *App) there(at place.Place) bool {
	there, err := at.Data.Ready(context.Background(), false)
	return there && err == nil
}

// Place finds the project that the command works on, and where its data lies.
func (a *App) Place() (place.Place, error) {
	home, _ := os.UserHomeDir() // without one, the search goes up to the top
	at, err := a.locate(home)
	if err != nil {
		return at, err
	}
	return a.withData(at, home), nil
}

// PlaceOf returns the place of another project, by its folder.
func (a *App) PlaceOf(root string) place.Place {
	home, _ := os.UserHomeDir()
	return a.withData(place.At(root), home)
}

// WorktreeOf returns the root of the worktree that folder is in, if that is one of the
// project at a place, else the place's own.
func (a *App) WorktreeOf(at place.Place, folder string) string {
	home, _ := os.UserHomeDir()
	if folder == "" {
		return at.Worktree
	}
	if around, err := place.Locate(folder, home, a.Safe); err == nil && around.Dir == at.Dir {
		return around.Worktree
	}
	return at.Worktree
}

// withData adds the data folder.
func (a *App) withData(at place.Place, home string) place.Place {
	around := place.Env{FlameDir: a.Settings.Dir, DataHome: os.Getenv("XDG_DATA_HOME"), Home: home}
	at.Data = place.FolderOf(at, around, a.FirstCommit)
	return at
}

// locate finds the project: by FLAME_PROJECT_DIR, else around the folder of the
// host's session, else around the working folder.
func (a *App) locate(home string) (place.Place, error) {
	start, err := os.Getwd()
	if dir := a.Settings.ProjectDir; dir != "" {
		return place.AtDir(dir, start, home, a.Safe)
	}
	if dir := cmp.Or(a.Folder, a.Hosts.Folder(os.Getenv)); dir != "" {
		return place.Locate(dir, home, a.Safe)
	}
	if err != nil {
		return place.Place{}, core.NotFoundf("the working folder no longer exists").WithHint("change to a folder that exists")
	}
	return place.Locate(start, home, a.Safe)
}

// Machine returns this machine, seen from the project.
func (a *App) Machine() (hosts.Machine, error) {
	at, err := a.Place()
	if err != nil {
		return hosts.Machine{}, err
	}
	return hosts.ThisMachine(at.Worktree)
}

// Catalog reads the definitions that apply in this project.
func (a *App) Catalog() (definition.Catalog, error) {
	at, err := a.Place()
	if err != nil {
		return definition.Catalog{}, err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no definitions of the user's
	return definition.Load(a.Hosts, definition.Dirs(a.Hosts, machine)), nil
}

// Candidates returns data that this project may have had before it was moved.
func (a *App) Candidates(ctx context.Context, at place.Place) []place.ProjectData {
	found, err := at.Data.Candidates(ctx)
	if err != nil {
		return nil // reported by checkData, or unimportant
	}
	return found
}

// NoFrames returns a text for a project without frames, with the data that it may have had before
// it was moved.
func (a *App) NoFrames(ctx context.Context) string {
	at, err := a.Place()
	if err != nil {
		return ""
	}
	text := "No frames yet in " + at.Dir + ". `flame push GOAL` starts one."
	for _, kept := range a.Candidates(ctx, at) {
		what, hint := AdoptHint(kept)
		text += "\n" + what + "; " + hint
	}
	return text
}

// AdoptHint says that the project may have had this data before it was moved, and how to take it over.
func AdoptHint(kept place.ProjectData) (what, hint string) {
	return fmt.Sprintf("this project may have been moved here from %s, which no longer exists and has data", kept.Root),
		"`flame where --adopt " + kept.Name + "` takes it over"
}
