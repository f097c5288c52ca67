package top

import (
	"context"
	"fmt"
	"time"

	"flame/agents"
	"flame/board"
	"flame/board/feed"
	"flame/core"
)

// A Screen is what is shown of a project and what a person does with it. It knows no
// terminal and reads no store: what it wants done it returns as a task.
type Screen struct {
	Project       string // its name
	Zone          *time.Location
	Width, Height int // of the terminal, in columns and lines

	model   model
	now     core.Millis // of the board, moved on by the terminal's clock
	trouble *feed.Trouble

	tree listing

	pager *pager // nil: the tree is shown
	ask   *ask   // nil: nothing is asked
	said  string // about what was done last
	bad   bool   // it failed

	over, suspended bool // what a person wants of the program
}

// A task is something that a screen wants done, which may take long. What it returns is
// then done to the screen.
type task func(ctx context.Context, a *agents.Agents) func(*Screen)

// NewScreen returns a screen that knows nothing yet.
func NewScreen(project string, zone *time.Location) *Screen {
	s := &Screen{Project: project, Zone: zone, model: newModel()}
	s.tree = listing{of: &s.model, folded: map[string]bool{}}
	return s
}

// Take shows what changed on the board, and what is wrong with reading it.
func (s *Screen) Take(c board.Change, trouble *feed.Trouble) {
	s.now, s.trouble = c.Now, trouble
	if c.Version == 0 { // nothing was read yet
		return
	}
	s.model.take(c)
	if len(c.Frames) > 0 || c.Whole {
		s.tree.list()
	}
}

// tell shows one line about what was done.
func (s *Screen) tell(err error, format string, args ...any) {
	s.said, s.bad = fmt.Sprintf(format, args...), false
	if err != nil {
		t := feed.TroubleOf(err)
		s.said, s.bad = t.Message, true
		if t.Hint != "" {
			s.said += " (" + t.Hint + ")"
		}
	}
}

// An ask is a line in which a person answers.
type ask struct {
	what  string
	typed string
	whole bool // it is answered by Enter, else by one key
	then  func(s *Screen, answer string) task
}

// answer types into what is asked.
func (s *Screen) answer(k key) task {
	a := s.ask
	switch {
	case k.name == "esc":
		s.ask = nil
		return nil
	case !a.whole && k.text != "" && k.name != pasted, a.whole && k.name == "enter":
		s.ask = nil
		if !a.whole {
			a.typed = k.text
		}
		return a.then(s, a.typed)
	case !a.whole:
		s.ask = nil // another key is no yes
		return nil
	case k.name == "backspace" && a.typed != "":
		letters := []rune(a.typed)
		a.typed = string(letters[:len(letters)-1])
	case k.name == "ctrl-u":
		a.typed = ""
	default:
		a.typed = core.Cut(a.typed+flat(k.text), maxTyped)
	}
	return nil
}

// maxTyped bounds what is typed into a line, in characters.
const maxTyped = 200
