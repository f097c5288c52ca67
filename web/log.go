package web

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

// The limits of a log in one answer.
const (
	defaultRounds  = 20
	maxRounds      = 500
	maxRoundLength = 200     // messages of a round
	maxPart        = 4_000   // characters of a part of a message
	maxWholePart   = 400_000 // the same of a part that a person asks for
)

// A shownLog is a piece of a frame's log: the heads of its rounds.
type shownLog struct {
	Total  int            `json:"total"` // rounds in the whole log
	From   int            `json:"from"`  // number of the first one here
	Rounds []agents.Round `json:"rounds"`
	Models []string       `json:"models"` // that answered in the whole log
}

// logOf returns count rounds of a frame's log in short, from round number from on; without that
// number, the last ones. With a query it returns only rounds that have all its words.
func logOf(q query) (any, error) {
	rounds, err := agents.RoundsOf(q.Context(), q.agents, by(""), q.get("id"))
	if err != nil {
		return nil, err
	}
	from, err := numberIn(q, "from", -1)
	if err != nil {
		return nil, err
	}
	count, err := numberIn(q, "count", defaultRounds)
	if err != nil {
		return nil, err
	}
	count = min(count, maxRounds)
	shown, words := shownLog{From: from, Rounds: []agents.Round{}, Models: []string{}}, strings.Fields(strings.ToLower(q.get("q")))
	for messages, err := range rounds {
		if err != nil {
			return nil, err
		}
		if (from < 0 || shown.Total >= from && len(shown.Rounds) < count) && says(messages, words) {
			shown.Rounds = append(shown.Rounds, agents.RoundOf(shown.Total, messages))
		}
		shown.Rounds = shown.Rounds[max(len(shown.Rounds)-count, 0):]
		for _, m := range messages {
			if m.Model != "" && !slices.Contains(shown.Models, m.Model) {
				shown.Models = append(shown.Models, m.Model)
			}
		}
		shown.Total++
	}
	if from < 0 {
		shown.From = shown.Total - len(shown.Rounds)
	}
	return shown, nil
}

// says reports whether a round has all words, in what was said, called or answered.
func says(messages []core.Message, words []string) bool {
	return len(words) == 0 || lo.EveryBy(words, func(word string) bool {
		return lo.SomeBy(messages, func(m core.Message) bool {
			return lo.SomeBy(m.Parts, func(p core.Part) bool {
				return strings.Contains(strings.ToLower(p.Text+" "+p.Tool+" "+string(p.Input)), word)
			})
		})
	})
}

// A shownMessage is a message of a round with parts that are short enough for a page.
type shownMessage struct {
	Role  core.Role   `json:"role"`
	Time  core.Millis `json:"time,omitempty"`
	Parts []shownPart `json:"parts"`
}

// A shownPart is a part of a message.
type shownPart struct {
	core.Part
	Length int `json:"length,omitempty"` // characters of the whole part; 0 if this is the whole
}

// roundOf returns the messages of one round.
func roundOf(q query) (any, error) {
	messages, err := oneRound(q)
	if err != nil {
		return nil, err
	}
	shown := lo.Map(messages[:min(len(messages), maxRoundLength)], func(m core.Message, _ int) shownMessage {
		return shownMessage{m.Role, m.Time, lo.Map(m.Parts, func(p core.Part, _ int) shownPart { return cutPart(p, maxPart) })}
	})
	return map[string]any{"messages": shown, "more": len(messages) - len(shown)}, nil
}

// partOf returns one part of a message of a round.
func partOf(q query) (any, error) {
	messages, err := oneRound(q)
	if err != nil {
		return nil, err
	}
	message, err := numberIn(q, "message", 0)
	if err != nil {
		return nil, err
	}
	part, err := numberIn(q, "part", 0)
	if err != nil {
		return nil, err
	}
	if message >= len(messages) || part >= len(messages[message].Parts) {
		return nil, core.NotFoundf("the log has no such part any more")
	}
	return cutPart(messages[message].Parts[part], maxWholePart), nil
}

func oneRound(q query) ([]core.Message, error) {
	rounds, err := agents.RoundsOf(q.Context(), q.agents, by(""), q.get("id"))
	if err != nil {
		return nil, err
	}
	wanted, err := numberIn(q, "round", 0)
	if err != nil {
		return nil, err
	}
	at := 0
	for messages, err := range rounds {
		if err != nil || at == wanted {
			return messages, err
		}
		at++
	}
	return nil, core.NotFoundf("the log has only %d rounds", at)
}

// cutPart returns a part with at most so many characters.
func cutPart(p core.Part, most int) shownPart {
	p.Files = nil // the frame's files have them
	shown := shownPart{Part: p}
	if n := utf8.RuneCountInString(p.Text); n > most {
		shown.Text, shown.Length = core.Cut(p.Text, most), n
	}
	if n := utf8.RuneCount(p.Input); n > most {
		shown.Length = n
		shown.Input, _ = json.Marshal(core.Cut(string(p.Input), most)) // JSON can encode every text
	}
	return shown
}

// maxHistory is how many events of a frame a page gets: the last ones.
const maxHistory = 200

// An eventLine is an event of a frame in words.
type eventLine struct {
	Seq   int64       `json:"seq"`
	At    core.Millis `json:"at"`
	Text  string      `json:"text"`
	Agent string      `json:"agent,omitempty"` // subagent_id that it is about
}

// historyOf returns the events of a frame, oldest first.
func historyOf(q query) (any, error) {
	query := project.EventQuery{Frame: q.get("id"), Last: true, Limit: maxHistory + 1}
	if query.Frame == "" {
		return nil, core.Invalidf("the id of the frame is missing")
	}
	events, err := view.Events(q.Context(), q.agents.Project, query)
	if err != nil {
		return nil, err
	}
	all := len(events) <= maxHistory
	shown := lo.Map(events[max(len(events)-maxHistory, 0):], func(e core.Event, _ int) eventLine {
		return eventLine{e.Seq, e.TS, render.EventWords(e), e.SubagentID}
	})
	return map[string]any{"events": shown, "all": all}, nil
}
