package top

import (
	"context"
	"fmt"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/render"
	"flame/render/board"
)

// A Screen holds the picture of a project and does the actions of keys. It knows no terminal
// and reads no store; it returns such work as a task.
type Screen struct {
	Project       string // its name
	Zone          *time.Location
	Width, Height int // of the terminal, in columns and lines

	model   model
	now     core.Millis // of the board
	trouble *board.Trouble

	tree listing

	pager *pager // nil: the tree is shown
	ask   *ask   // nil: nothing is asked
	said  string // about the last action
	bad   bool   // it failed

	over, suspended bool // a person wants to leave the program, or to suspend it
}

// A task is work for a screen that may take long. The function that it returns
// then changes the screen.
type task func(ctx context.Context, a *agents.Agents) func(*Screen)

// NewScreen returns a screen that knows nothing yet.
func NewScreen(project string, zone *time.Location) *Screen {
	s := &Screen{Project: project, Zone: zone, model: newModel()}
	s.tree = listing{of: &s.model, folded: map[string]bool{}}
	return s
}

// Take applies a change of the board, and the trouble with reading it.
func (s *Screen) Take(c board.Change, trouble *board.Trouble) {
	s.now, s.trouble = c.Now, trouble
	if c.Version == 0 { // nothing was read yet
		return
	}
	s.model.take(c)
	if len(c.Frames) > 0 || c.Whole {
		s.tree.list()
	}
}

// Key does the action of a key.
func (s *Screen) Key(k key) task {
	switch k.name {
	case "ctrl-z":
		s.suspended = true
		return nil
	case "ctrl-c":
		s.over = true
		return nil
	}
	s.said = ""
	switch {
	case s.ask != nil:
		return s.answer(k)
	case s.pager != nil:
		if s.pager.key(k.name, s.pageHeight()) {
			s.pager = nil
		}
		return nil
	}
	if to, is := moved(k.name, s.tree.at, len(s.tree.entries), s.treeHeight()); is {
		s.tree.choose(to)
		return nil
	}
	return s.treeKey(k.name)
}

// moved returns the row to which a key leads from row at, among rows with a page on the screen; is
// reports whether the key moves.
func moved(name string, at, rows, page int) (to int, is bool) {
	switch name {
	case "j", "down":
		return at + 1, true
	case "k", "up":
		return at - 1, true
	case "pgdn", "ctrl-f":
		return at + max(1, page-1), true
	case "pgup", "ctrl-b":
		return at - max(1, page-1), true
	case "g", "home":
		return 0, true
	case "G", "end":
		return rows, true
	}
	return at, false
}

// treeKey does the action of a key while the tree is shown.
func (s *Screen) treeKey(name string) task {
	switch name {
	case " ":
		s.tree.toggle()
	case "right":
		s.tree.right()
	case "left":
		s.tree.left()
	case "enter":
		return s.details()
	case "l":
		return s.log()
	case "x":
		s.cancel()
	case "/":
		s.search()
	case "esc":
		s.tree.only(nil)
	case "s":
		s.tree.reorder()
		s.tell(nil, "by %s", orders[s.tree.order].name)
	case ".":
		s.goToWork()
	case "n":
		s.news()
	case "?":
		s.pager = &pager{title: "Keys", text: helpText}
	case "q":
		s.over = true
	}
	return nil
}

// helpText is the text of the key ?.
const helpText = `j k, arrows     move; PgUp PgDn g G go further
Enter           details of the frame
l               its log; the view follows it while the frame is in progress
space, ← →      fold and unfold
/               search for words, and filter by terms such as status:failed;
                Esc shows all frames again
s               sort frames with the same parent by time, cost or tokens
.               go to the next frame in progress
n               the latest notices
x               cancel the agent that works in the frame, after a question
Ctrl-Z          suspend; fg resumes
q, Ctrl-C       quit

In texts: j k, arrows, PgUp PgDn, space, g G; q, Esc or Enter goes back.

The columns show the agent or host that works in a frame, the time, the cost
without and with all frames below it, and the tokens with all frames below it,
including cached tokens.`

// tell shows one line about an action.
func (s *Screen) tell(err error, format string, args ...any) {
	s.said, s.bad = fmt.Sprintf(format, args...), false
	if err != nil {
		t := board.TroubleOf(err)
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
	whole bool // Enter ends the answer; else one key is the answer
	then  func(s *Screen, answer string) task
}

// answer types into the question.
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
		s.ask = nil // another key means no
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

func (s *Screen) goToWork() {
	f := s.tree.nextAtWork()
	if f == nil {
		s.tell(nil, "nothing is in progress")
		return
	}
	s.tree.filter = nil
	s.tree.reveal(f)
}

// search asks for a filter, and shows the frames that match it.
func (s *Screen) search() {
	s.ask = &ask{what: "/", whole: true, then: func(s *Screen, text string) task {
		filter, err := board.ParseFilter(text, s.Zone)
		switch {
		case err != nil:
			s.tell(err, "")
			return nil
		case text == "":
			s.tree.only(nil)
			return nil
		case filter.Words == "":
			s.show(text, filter, nil)
			return nil
		}
		return func(ctx context.Context, a *agents.Agents) func(*Screen) {
			found, err := view.Search(ctx, a.Project, by, view.SearchArgs{Text: filter.Words, Limit: maxFound})
			return func(s *Screen) {
				if err != nil {
					s.tell(err, "")
					return
				}
				s.show(text, filter, lo.SliceToMap(found, func(f view.Found) (string, bool) { return f.ID, true }))
			}
		}
	}}
}

// maxFound is how many frames a search finds at most.
const maxFound = 100

// by is the caller of all operations: a person at a shell.
var by = project.Caller{Host: project.CommandLine}

// show shows the frames that match a filter, and chooses the newest. found are the frames with the
// words of the filter; nil if it has none.
func (s *Screen) show(text string, filter board.Filter, found map[string]bool) {
	wants := func(f *board.Node) bool {
		if found == nil && f.Archived || found != nil && !found[f.ID] {
			return false
		}
		return filter.Wants(&f.Row, s.now)
	}
	matching := lo.Filter(s.model.frames.All(), func(f *board.Node, _ int) bool { return wants(f) })
	if len(matching) == 0 {
		s.tell(nil, "no frame matches %q", core.OneLine(text, 60))
		return
	}
	s.tree.only(wants)
	s.tree.reveal(matching[len(matching)-1])
	most := ""
	if len(found) == maxFound {
		most = fmt.Sprintf(" among the newest %d", maxFound)
	}
	s.tell(nil, "%s found%s with %q; Esc shows all", render.Count(len(matching), "frame"), most, core.OneLine(text, 60))
}

func (s *Screen) cancel() {
	f := s.tree.current()
	if f == nil {
		return
	}
	agent, ok := s.model.agentOf(f)
	switch {
	case !ok:
		s.tell(nil, "no agent works in this frame")
		return
	case agent.Native:
		s.tell(nil, "%s started this subagent: cancel it there", agent.Host)
		return
	case agent.Machine != "":
		s.tell(nil, "%s asked for this agent: cancel it there", agent.Machine)
		return
	}
	s.ask = &ask{what: fmt.Sprintf("cancel %s %s and what it started? y/N ", agent.Type, agent.ID), then: func(s *Screen, answer string) task {
		if answer != "y" && answer != "Y" {
			s.tell(nil, "nothing was cancelled")
			return nil
		}
		s.tell(nil, "cancelling %s", agent.ID)
		return func(ctx context.Context, a *agents.Agents) func(*Screen) {
			stopped, err := a.Cancel(ctx, by, agent.ID)
			return func(s *Screen) { s.tell(err, "%s will stop", render.Count(len(stopped), "agent")) }
		}
	}}
}
