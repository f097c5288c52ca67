package agents

import (
	"context"
	"iter"
	"slices"

	"flame/core"
	"flame/project"
	"flame/transcripts"
)

// The limits of a Round.
const (
	maxHead      = 200 // characters of a text or an input
	maxHeadCalls = 4
)

// A Round is a prompt, or an answer of the model with its calls and their outputs, in short.
type Round struct {
	N      int         `json:"n"` // its number in the log, from 0
	Role   core.Role   `json:"role"`
	Host   bool        `json:"host,omitempty"` // the host wrote the prompt
	At     core.Millis `json:"at,omitempty"`
	Text   string      `json:"text,omitempty"` // the beginning
	Calls  []RoundCall `json:"calls,omitempty"`
	More   int         `json:"more,omitempty"`   // calls beyond those
	Failed int         `json:"failed,omitempty"` // calls
	Size   int         `json:"size"`             // messages
}

// A RoundCall is a call of a tool in the head of a round.
type RoundCall struct {
	Tool  string `json:"tool"`
	Input string `json:"input,omitempty"`
}

// RoundsOf returns the messages of each round in the log of the frame that ref names.
func RoundsOf(ctx context.Context, a *Agents, by project.Caller, ref string) (iter.Seq2[[]core.Message, error], error) {
	_, messages, err := LogOf(ctx, a, by, ref)
	if err != nil {
		return nil, err
	}
	return func(yield func([]core.Message, error) bool) {
		var current []core.Message
		for m, err := range messages {
			if err != nil {
				yield(nil, core.Unavailablef(err, "flame cannot read the transcript: %v", err))
				return
			}
			if m.Role == core.RoleOther || len(m.Parts) == 0 {
				continue
			}
			if begins(m, current) && len(current) > 0 {
				if !yield(current, nil) {
					return
				}
				current = nil
			}
			current = append(current, m)
		}
		if len(current) > 0 {
			yield(current, nil)
		}
	}, nil
}

// begins reports whether a message begins another round than that of the messages before.
func begins(m core.Message, before []core.Message) bool {
	if m.Role == core.RoleUser { // or else it has the outputs of calls
		return slices.ContainsFunc(m.Parts, func(p core.Part) bool { return p.Type == core.PartText })
	}
	last := len(before) - 1
	if m.ID == "" {
		return last < 0 || before[last].Role != core.RoleAssistant
	}
	return !slices.ContainsFunc(before, func(b core.Message) bool { return b.Role == core.RoleAssistant && b.ID == m.ID })
}

// RoundOf returns the round of a number in short.
func RoundOf(n int, messages []core.Message) Round {
	r := Round{N: n, Role: messages[0].Role, Host: messages[0].Synthetic, At: messages[0].Time, Size: len(messages)}
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Type == core.PartText && r.Text == "":
				r.Text = core.OneLine(p.Text, maxHead)
			case p.Type == core.PartToolCall && len(r.Calls) < maxHeadCalls:
				r.Calls = append(r.Calls, RoundCall{core.OneLine(p.Tool, maxHead), core.OneLine(transcripts.CallInput(p.Input), maxHead)})
			case p.Type == core.PartToolCall:
				r.More++
			case p.Type == core.PartToolResult && p.Failed:
				r.Failed++
			}
		}
	}
	return r
}

// LastSaid returns the last answers in the log of the frame that ref names, at most so many.
func LastSaid(ctx context.Context, a *Agents, by project.Caller, ref string, most int) (last []Round, err error) {
	rounds, err := RoundsOf(ctx, a, by, ref)
	if err != nil {
		return nil, err
	}
	n := 0
	for messages, err := range rounds {
		if err != nil {
			return last, err
		}
		if messages[0].Role == core.RoleAssistant {
			last = append(last, RoundOf(n, messages))
			last = last[max(0, len(last)-most):]
		}
		n++
	}
	return last, nil
}
