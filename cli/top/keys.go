package top

import (
	"context"
	"fmt"
	"sync"

	"flame/agents"
	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

// Key does what a key is for.
func (s *Screen) Key(k key) task {
	if k.name == "ctrl-z" {
		s.suspended = true
		return nil
	}
	if k.name == "ctrl-c" {
		s.over = true
		return nil
	}
	s.said = ""
	switch {
	case s.ask != nil:
		return s.answer(k)
	case s.pager != nil:
		if s.pager.key(k, s.pageHeight()) {
			s.pager = nil
		}
		return nil
	}
	if do := treeKeys()[k.name]; do != nil {
		return do(s)
	}
	return nil
}

// treeKeys says what keys do while the tree is shown.
var treeKeys = sync.OnceValue(keysOfTree)

func keysOfTree() map[string]func(s *Screen) task {
	moves := func(by func(s *Screen) int) func(s *Screen) task {
		return func(s *Screen) task {
			s.tree.choose(s.tree.at + by(s))
			return nil
		}
	}
	does := func(f func(s *Screen)) func(s *Screen) task {
		return func(s *Screen) task { f(s); return nil }
	}
	down, up := moves(func(*Screen) int { return 1 }), moves(func(*Screen) int { return -1 })
	first, last := does(func(s *Screen) { s.tree.choose(0) }), does(func(s *Screen) { s.tree.choose(len(s.tree.entries)) })
	further := moves(func(s *Screen) int { return max(1, s.treeHeight()-1) })
	back := moves(func(s *Screen) int { return -max(1, s.treeHeight()-1) })
	return map[string]func(s *Screen) task{
		"j": down, "down": down, "k": up, "up": up, "pgdn": further, "ctrl-f": further, "pgup": back, "ctrl-b": back,
		"g": first, "home": first, "G": last, "end": last,
		" ": does(func(s *Screen) { s.tree.toggle() }), "right": does(func(s *Screen) { s.tree.right() }), "left": does(func(s *Screen) { s.tree.left() }),
		"enter": (*Screen).details, "l": (*Screen).log, "x": (*Screen).cancel,
		"/": does((*Screen).search), "esc": does(func(s *Screen) { s.tree.only(nil) }), "s": does((*Screen).sort), ".": does((*Screen).goToWork),
		"n": does((*Screen).news), "?": does(func(s *Screen) { s.pager = &pager{title: "Keys", text: helpText} }), "q": does(func(s *Screen) { s.over = true }),
	}
}

// helpText is what the key ? shows.
const helpText = `j k, arrows     move; PgUp PgDn g G go further
Enter           what is known of the frame
l               its log, which follows while work in it goes on
space, ← →      fold and unfold
/               search; Esc shows all frames again
s               order frames with the same parent by time, cost or tokens
.               go to what is in progress; again: to the next
n               what happened last
x               cancel the agent that works in the frame, after a question
Ctrl-Z          suspend; fg goes on
q, Ctrl-C       leave

In texts: j k, arrows, PgUp PgDn, space, g G; q, Esc or Enter goes back.

Each frame is shown with who works in it, how long, what it cost by itself and
with all below it, and the tokens of it and all below it, cached ones included.`

func (s *Screen) sort() {
	s.tree.reorder()
	s.tell(nil, "by %s", orders[s.tree.order].name)
}

func (s *Screen) goToWork() {
	f := s.tree.nextAtWork()
	if f == nil {
		s.tell(nil, "nothing is in progress")
		return
	}
	s.tree.found = nil
	s.tree.reveal(f)
}

func (s *Screen) search() {
	s.ask = &ask{what: "/", whole: true, then: func(s *Screen, text string) task {
		if text == "" {
			s.tree.only(nil)
			return nil
		}
		return func(ctx context.Context, a *agents.Agents) func(*Screen) {
			found, err := view.Search(ctx, a.Project, by, view.SearchArgs{Text: text, Limit: maxFound})
			return func(s *Screen) { s.show(text, found, err) }
		}
	}}
}

// maxFound is how many frames a search finds at most.
const maxFound = 100

// by is on whose behalf things are read and done: a person's at a shell.
var by = project.Caller{Host: project.CommandLine}

// show shows what a search found.
func (s *Screen) show(text string, found []view.Found, err error) {
	switch {
	case err != nil:
		s.tell(err, "")
		return
	case len(found) == 0:
		s.tell(nil, "no frame contains all the words of %q", core.OneLine(text, 60))
		return
	}
	only := map[string]bool{}
	for _, f := range found {
		only[f.ID] = true
	}
	s.tree.only(only)
	if f := s.model.frames[found[0].ID]; f != nil {
		s.tree.reveal(f)
	}
	most := ""
	if len(found) == maxFound {
		most = ", the newest"
	}
	s.tell(nil, "%s%s found with %q; Esc shows all", render.Count(len(found), "frame"), most, core.OneLine(text, 60))
}

func (s *Screen) cancel() task {
	f := s.tree.current()
	if f == nil {
		return nil
	}
	agent, ok := s.model.agentOf(f)
	switch {
	case !ok:
		s.tell(nil, "no agent works in this frame")
		return nil
	case agent.Native:
		s.tell(nil, "%s started this subagent: cancel it there", agent.Host)
		return nil
	case agent.Machine != "":
		s.tell(nil, "%s asked for this agent: cancel it there", agent.Machine)
		return nil
	}
	s.ask = &ask{what: fmt.Sprintf("cancel %s %s and what it started? y/N ", agent.Type, agent.ID), then: func(s *Screen, answer string) task {
		if answer != "y" && answer != "Y" {
			s.tell(nil, "nothing was cancelled")
			return nil
		}
		s.tell(nil, "cancelling %s", agent.ID)
		return func(ctx context.Context, a *agents.Agents) func(*Screen) {
			stopped, err := a.Cancel(ctx, by, agent.ID)
			return func(s *Screen) { s.tell(err, "%s told to stop", render.Count(len(stopped), "agent")) }
		}
	}}
	return nil
}
