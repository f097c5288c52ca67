// Package work makes the long piece of work for the benchmark of context economy: pieces of 8 to
// 15 rounds with tools under a few prompts of the user, some rounds with a subagent. The work is
// always the same.
package work

import (
	"fmt"
	"math/rand/v2"
)

// A Work is the whole work.
type Work struct {
	Prompts []Prompt
	Files   map[string]string // of the project, by path
}

// A Prompt is a prompt of the user, with its pieces of work.
type Prompt struct {
	Text     string
	Pieces   []Piece
	Thinking string // before the last answer
}

// A Piece of work has one goal.
type Piece struct {
	Goal, Summary        string
	Decisions, Artifacts []string
	Rounds               []Round
	Opening, Closing     string // thinking before its begin and end, if these have calls of their own
}

// A Round is one answer of the model: thinking, text and one tool call.
type Round struct {
	Thinking, Text string
	Call           Call
}

// A Call calls one of the tools that every host has, except those of Await and Finish.
type Call struct {
	Kind     Kind
	File     string   // a file that is read or edited, or printed by a command
	Old, New string   // of an edit
	Child    *Child   // of Delegate
	Command  string   // of Run: instead of printing the file
	Items    []string // of List
	Done     int      // so many of them are done, and the next one is in progress
	Text     string   // an answer: the host's to Delegate, which Await reads; the subagent's, which Finish gives
}

// A Kind is what a call does.
type Kind string

// The kinds of calls.
const (
	Read     Kind = "read"
	Run      Kind = "run"
	Edit     Kind = "edit"
	Delegate Kind = "delegate"
	Ask      Kind = "ask"    // the user, in hosts that can; Text is the question
	List     Kind = "list"   // the host's own to-do list, in hosts that have one
	Refuse   Kind = "refuse" // a command that the user refuses, in hosts that can ask

	Await  Kind = "await"  // what was delegated, in hosts whose subagents work in the background
	Finish Kind = "finish" // a subagent's work, in hosts that do not take its words for its answer
)

// A Child is a native subagent at work.
type Child struct {
	Key    string // a word that only its prompt has
	Task   string // in a few words
	Rounds []Round
	Answer string

	Thinking string // before the answer
}

// Sizes of the work.
const (
	pieces, prompts, children = 20, 5, 5 // of the whole; a shorter one has its share
	leastRounds, mostRounds   = 8, 15
	childRounds               = 4
)

// Pieces is the number of pieces of the whole work.
const Pieces = pieces

// Make returns the work, or its first count pieces. The outputs of its tools have a mean of so
// many bytes.
func Make(count, bytes int) Work {
	count = min(max(count, 1), pieces)
	m := maker{rand: rand.New(rand.NewPCG(seed, seed)), bytes: bytes, files: map[string]string{}}
	w := Work{Files: m.files}
	for i := range count {
		if i%(pieces/prompts) == 0 {
			w.Prompts = append(w.Prompts, Prompt{Text: m.prompt(len(w.Prompts) + 1), Thinking: m.thought()})
		}
		last := &w.Prompts[len(w.Prompts)-1]
		last.Pieces = append(last.Pieces, m.piece(i+1))
	}
	return w
}

// Apart returns the same work with a prompt for each piece.
func (w Work) Apart() Work {
	var prompts []Prompt
	for _, p := range w.Prompts {
		for _, piece := range p.Pieces {
			text := fmt.Sprintf("MAINWORK part %d: %s.", len(prompts)+1, piece.Goal)
			prompts = append(prompts, Prompt{Text: text, Pieces: []Piece{piece}, Thinking: p.Thinking})
		}
	}
	return Work{Prompts: prompts, Files: w.Files}
}

// Together returns the same work with one prompt for all pieces.
func (w Work) Together() Work {
	all := w.Prompts[0]
	for _, p := range w.Prompts[1:] {
		all.Pieces = append(all.Pieces, p.Pieces...)
	}
	return Work{Prompts: []Prompt{all}, Files: w.Files}
}

// Todos writes the items of a call of List as hosts' tools take them, each with one more field.
func (c Call) Todos(field, value string) (todos []map[string]any) {
	for i, text := range c.Items {
		status := "pending"
		switch {
		case i < c.Done:
			status = "completed"
		case i == c.Done:
			status = "in_progress"
		}
		todos = append(todos, map[string]any{"content": text, "status": status, field: value})
	}
	return todos
}

// seed determines the work.
const seed = 20

// A maker makes the work, piece by piece, from one sequence of random numbers.
type maker struct {
	rand  *rand.Rand
	bytes int
	files map[string]string
}

func (m *maker) prompt(n int) string {
	return fmt.Sprintf("MAINWORK part %d: make the %s of the %s ready for the %s.\nMind above all that %s.",
		n, m.word(), m.word(), m.word(), m.sentence())
}

func (m *maker) piece(n int) Piece {
	p := Piece{
		Goal:    fmt.Sprintf("Piece %02d: bring the %s of the %s in line with the %s", n, m.word(), m.word(), m.word()),
		Summary: fmt.Sprintf("Piece %02d is done: %s; %s; %s.", n, m.sentence(), m.sentence(), m.sentence()),

		Opening: m.thought(), Closing: m.thought(),
	}
	for i := range 1 + m.rand.IntN(2) {
		p.Decisions = append(p.Decisions, fmt.Sprintf("Decision %02d.%d: %s, because %s", n, i+1, m.sentence(), m.sentence()))
	}
	p.Rounds = m.rounds(fmt.Sprintf("piece%02d", n), leastRounds+m.rand.IntN(mostRounds-leastRounds+1))
	if n%(pieces/children) == 2 {
		p.Rounds[len(p.Rounds)/2] = m.delegating(n)
	}
	p.tell()
	return p
}

// tell has the agent report its work: the goal at the start, decisions on the way, the result at
// the end. The edited files are the artifacts.
func (p *Piece) tell() {
	for _, r := range p.Rounds {
		if r.Call.Kind == Edit {
			p.Artifacts = append(p.Artifacts, r.Call.File)
		}
	}
	first, last := &p.Rounds[0], &p.Rounds[len(p.Rounds)-1]
	first.Text = p.Goal + ". " + first.Text
	for i, d := range p.Decisions {
		at := &p.Rounds[2+i]
		at.Text = d + ". " + at.Text
	}
	last.Text = p.Summary + " " + last.Text
}

func (m *maker) delegating(n int) Round {
	key := fmt.Sprintf("CHILDKEY%02d", n)
	return Round{Thinking: m.thought(), Text: m.sentence(), Call: Call{Kind: Delegate, Child: &Child{
		Key: key, Task: fmt.Sprintf("Look into the %s of piece %02d", m.word(), n),
		Rounds: m.rounds(fmt.Sprintf("child%02d", n), childRounds),
		Answer: fmt.Sprintf("It is so: %s; %s.", m.sentence(), m.sentence()), Thinking: m.thought(),
	}}}
}
