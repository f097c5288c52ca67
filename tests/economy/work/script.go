package work

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"flame/tests/model"
)

// A Way separates the pieces.
type Way string

// The ways.
const (
	Plain    Way = "one conversation" // without separation
	Framed   Way = "frames"           // each in a frame of flame's
	Natively Way = "native subagents" // each in a subagent of the host's
	Asked    Way = "prompts"          // the user asks for each (Work.Apart), and the agent never calls flame
	Listed   Way = "a list"           // one prompt asks for all (Work.Together), an item of the host's list for each, no call of flame
)

// A Tongue writes calls as a host's tools take them.
type Tongue interface {
	// Tool returns false if the host needs no such call.
	Tool(Call) (model.Tool, bool)
}

// Main is the actor that answers the session itself.
const Main = "main"

// Script has the model do the work. The calls are the same in every way, except those of the way
// itself.
func (w Work) Script(way Way, tongue Tongue) model.Script {
	s := script{tongue: tongue}
	var turns []model.Turn
	for i, prompt := range w.Prompts {
		if way == Framed && len(prompt.Pieces) > 0 {
			turns = append(turns, s.framed(prompt.Pieces)...)
		}
		if way == Listed {
			turns = append(turns, s.listed(prompt.Pieces)...)
		}
		for _, piece := range prompt.Pieces {
			switch way {
			case Natively:
				turns = append(turns, s.natively(piece)...)
			case Plain, Asked:
				turns = append(turns, s.rounds(piece.Rounds)...)
			}
		}
		turns = append(turns, model.Turn{Thinking: prompt.Thinking, Text: fmt.Sprintf("Part %d is done.", i+1)})
	}
	return append(s.children, asked(Main, `MAINWORK part \d`, turns))
}

// asked answers the conversation that began with this word.
func asked(name, word string, turns []model.Turn) model.Actor {
	return model.Actor{Name: name, Kind: model.Work, Where: model.FirstUser, Match: regexp.MustCompile(word), Turns: turns}
}

// A script is a script under construction.
type script struct {
	tongue   Tongue
	children model.Script
}

func (s *script) rounds(rounds []Round) (turns []model.Turn) {
	for _, r := range rounds {
		turns = append(turns, s.calls(r.Thinking, r.Text, r.Call)...)
		if c := r.Call.Child; c != nil {
			s.child(*c)
			turns = append(turns, s.awaited(*c)...)
		}
	}
	return turns
}

// calls returns the turn that makes a call; none if the host needs no such call.
func (s *script) calls(thinking, text string, c Call) []model.Turn {
	tool, ok := s.tongue.Tool(c)
	if !ok {
		return nil
	}
	return []model.Turn{{Thinking: thinking, Text: text, Tools: []model.Tool{tool}}}
}

// awaited waits for a subagent, in a host that needs it: for the one that the host's answer names.
func (s *script) awaited(c Child) []model.Turn {
	turns := s.calls(c.Thinking, "", Call{Kind: Await})
	for i := range turns {
		turns[i].From = func(r model.Request) model.Turn {
			return s.calls(c.Thinking, "", Call{Kind: Await, Text: r.LastResult()})[0]
		}
	}
	return turns
}

func (s *script) child(c Child) {
	last := s.calls(c.Thinking, "", Call{Kind: Finish, Text: c.Answer})
	if last == nil {
		last = []model.Turn{{Thinking: c.Thinking, Text: c.Answer}}
	}
	s.children = append(s.children, asked(c.Key, c.Key, append(s.rounds(c.Rounds), last...)))
}

// framed does the pieces of a prompt in frames. A piece begins together with its first call: by a
// push, or by the call that ends the piece before and records everything of it that is to last.
func (s *script) framed(pieces []Piece) (turns []model.Turn) {
	begin := call(pieces[0].Opening, "flame_push", map[string]any{"goal": pieces[0].Goal})
	for i, p := range pieces {
		rounds := s.rounds(p.Rounds)
		rounds[0].Thinking, rounds[0].Tools = begin.Thinking+" "+rounds[0].Thinking, append(begin.Tools, rounds[0].Tools...)
		turns = append(turns, rounds...)
		pop := map[string]any{"status": "completed", "summary": p.Summary}
		for name, list := range map[string][]string{"decisions": p.Decisions, "artifacts": p.Artifacts} {
			if len(list) > 0 { // Gemini CLI refuses null, in flame's place
				pop[name] = list
			}
		}
		if i+1 < len(pieces) {
			pop["next"] = pieces[i+1].Goal
		}
		begin = call(p.Closing, "flame_pop", pop)
	}
	return append(turns, begin)
}

// listed does the pieces of a prompt as items of the host's list. The call that ends one begins the next, and
// the words before it tell its result.
func (s *script) listed(pieces []Piece) (turns []model.Turn) {
	list := Call{Kind: List}
	for _, p := range pieces {
		list.Items = append(list.Items, p.Goal)
	}
	turns = s.calls(pieces[0].Opening, "", list)
	for _, p := range pieces {
		rounds := s.rounds(p.Rounds)
		last := &rounds[len(rounds)-1]
		last.Text = strings.TrimPrefix(last.Text, p.Summary+" ")
		list.Done++
		turns = append(append(turns, rounds...), s.calls(p.Closing, p.Summary, list)...)
	}
	return turns
}

func call(thinking, name string, input map[string]any) model.Turn {
	return model.Turn{Thinking: thinking, Tools: []model.Tool{{Name: name, Input: input}}}
}

// natively has a subagent do a piece. Its answer has everything that is to last.
func (s *script) natively(p Piece) []model.Turn {
	key := "PIECEKEY" + p.Goal[len("Piece "):][:2]
	c := Child{
		Key: key, Task: p.Goal, Rounds: p.Rounds, Thinking: p.Closing,
		Answer: strings.Join(slices.Concat([]string{p.Summary}, p.Decisions, p.Artifacts), "\n"),
	}
	return s.rounds([]Round{{Thinking: p.Opening, Call: Call{Kind: Delegate, Child: &c}}})
}
