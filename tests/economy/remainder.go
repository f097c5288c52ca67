package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/samber/lo"

	"flame/tests/economy/work"
	"flame/tests/model"
)

// A share counts the things that a request contains by their words, and the others that it names
// by the id of their frame, with which an agent can read them.
type share struct {
	Of, ByWord, ByID int
}

// A remainder is the rest of the work in a request.
type remainder struct {
	Goals, Decisions, Artifacts, Summaries share
	Words                                  share // the user's
}

// remaining looks for all of the work in the text of a request. ids are the ids of flame's frames
// by their goals.
func remaining(w work.Work, text string, ids map[string]string) remainder {
	var r remainder
	look := func(in *share, goal string, things ...string) {
		id := ids[goal]
		for _, thing := range things {
			in.Of++
			switch {
			case strings.Contains(text, thing):
				in.ByWord++
			case id != "" && strings.Contains(text, id):
				in.ByID++
			}
		}
	}
	for _, prompt := range w.Prompts {
		look(&r.Words, "", strings.Split(prompt.Text, "\n")...)
		for _, p := range prompt.Pieces {
			look(&r.Goals, p.Goal, p.Goal)
			look(&r.Decisions, p.Goal, p.Decisions...)
			look(&r.Artifacts, p.Goal, p.Artifacts...)
			look(&r.Summaries, p.Goal, p.Summary)
		}
	}
	return r
}

// frames returns the ids of flame's frames by their goals.
func (b bench) frames(ctx context.Context, v variant, m *machine) map[string]string {
	ids := map[string]string{}
	if !v.flame {
		return ids
	}
	out := lo.Must(m.Run(ctx, b.flame, "call", "flame_get_state"))
	var state struct {
		Frames map[string]struct{ SessionID, Goal string }
	}
	lo.Must0(json.Unmarshal([]byte(out), &state))
	for _, f := range state.Frames {
		ids[f.Goal] = f.SessionID
	}
	return ids
}

// told matches flame's texts in a conversation.
var told = regexp.MustCompile(`(?s)<flame-(?:context|changes)\b.*?</flame-(?:context|changes)>`)

// twice returns the number of bytes that flame repeated in the same conversation, line by line.
func twice(r model.Request) (bytes int) {
	known := map[string]bool{}
	for _, text := range told.FindAllString(r.Everything(), -1) {
		lines := strings.Split(text, "\n")
		for _, line := range lines {
			if known[line] && strings.Contains(strings.TrimSpace(line), " ") { // no bare element
				bytes += len(line) + 1
			}
		}
		for _, line := range lines {
			known[line] = true
		}
	}
	return bytes
}
