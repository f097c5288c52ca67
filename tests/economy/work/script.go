package work

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"flame/tests/model"
)

// A Way is how the pieces are kept apart.
type Way string

// The ways.
const (
	Plain    Way = "one conversation" // nothing keeps them apart
	Framed   Way = "frames"           // each in a frame of flame's
	Natively Way = "native subagents" // each in a subagent of the host's
)

// A Tongue writes calls as a host's tools take them.
type Tongue interface {
	Tool(Call) model.Tool
}

// Main is the actor that answers the session itself.
const Main = "main"

// Script has the model do the work. The calls are the same in every way, but for those
// of the way itself.
func (w Work) Script(way Way, tongue Tongue) model.Script {
	s := script{tongue: tongue}
	var turns []model.Turn
	for i, prompt := range w.Prompts {
		for j, piece := range prompt.Pieces {
			next := ""
			if j+1 < len(prompt.Pieces) {
				next = prompt.Pieces[j+1].Goal
			}
			switch way {
			case Framed:
				turns = append(turns, s.framed(piece, j == 0, next)...)
			case Natively:
				turns = append(turns, s.natively(piece))
			default:
				turns = append(turns, s.rounds(piece.Rounds)...)
			}
		}
		turns = append(turns, model.Turn{Thinking: prompt.Thinking, Text: fmt.Sprintf("Part %d is done.", i+1)})
	}
	return append(s.children, asked(Main, "MAINWORK part 1", turns))
}

// asked answers the conversation that began with this word.
func asked(name, word string, turns []model.Turn) model.Actor {
	return model.Actor{Name: name, Kind: model.Work, Where: model.FirstUser, Match: regexp.MustCompile(word), Turns: turns}
}

// script is one in the making.
type script struct {
	tongue   Tongue
	children model.Script
}

func (s *script) rounds(rounds []Round) (turns []model.Turn) {
	for _, r := range rounds {
		if c := r.Call.Child; c != nil {
			s.child(*c)
		}
		turns = append(turns, model.Turn{Thinking: r.Thinking, Text: r.Text, Tools: []model.Tool{s.tongue.Tool(r.Call)}})
	}
	return turns
}

func (s *script) child(c Child) {
	turns := append(s.rounds(c.Rounds), model.Turn{Thinking: c.Thinking, Text: c.Answer})
	s.children = append(s.children, asked(c.Key, c.Key, turns))
}

// framed does a piece in a frame. The first of a prompt is begun beside its first call.
// The call that ends a piece stands alone in its message, says all that is to last, and
// begins the next one, if the prompt has another.
func (s *script) framed(p Piece, first bool, next string) []model.Turn {
	turns := s.rounds(p.Rounds)
	if first {
		begin := call(p.Opening+" "+turns[0].Thinking, "flame_push", map[string]any{"goal": p.Goal})
		turns[0].Thinking, turns[0].Tools = begin.Thinking, append(begin.Tools, turns[0].Tools...)
	}
	pop := map[string]any{"status": "completed", "summary": p.Summary, "decisions": p.Decisions, "artifacts": p.Artifacts}
	if next != "" {
		pop["next"] = next
	}
	return append(turns, call(p.Closing, "flame_pop", pop))
}

func call(thinking, name string, input map[string]any) model.Turn {
	return model.Turn{Thinking: thinking, Tools: []model.Tool{{Name: name, Input: input}}}
}

// natively has a subagent do a piece. Its answer says all that is to last.
func (s *script) natively(p Piece) model.Turn {
	key := "PIECEKEY" + p.Goal[len("Piece "):][:2]
	c := Child{
		Key: key, Task: p.Goal, Rounds: p.Rounds, Thinking: p.Closing,
		Answer: strings.Join(slices.Concat([]string{p.Summary}, p.Decisions, p.Artifacts), "\n"),
	}
	return s.rounds([]Round{{Thinking: p.Opening, Call: Call{Kind: Delegate, Child: &c}}})[0]
}
