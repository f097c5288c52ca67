package web

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/converge"
	"flame/core"
	"flame/project/briefing"
	"flame/project/usage"
	"flame/project/view"
)

// reads are the questions that a page asks about a project, by their path.
var reads = map[string]func(q query) (any, error){
	"frame":    frameOf,
	"context":  contextOf,
	"log":      logOf,
	"files":    filesOf,
	"agent":    agentOf,
	"search":   search,
	"cascade":  cascadeOf,
	"conflict": conflictOf,
	"economy":  economyOf,
}

// A shownFrame is everything about one frame.
type shownFrame struct {
	core.Frame
	Ancestors []string            `json:"ancestors"` // ids, parent first
	Children  map[core.Status]int `json:"children"`
	Agent     string              `json:"agent,omitempty"`
	AgentID   string              `json:"agentID,omitempty"`
	Composed  string              `json:"composed,omitempty"` // summary of what was done below it, if it has none of its own
	Closing   string              `json:"closing,omitempty"`  // of a root that ended: what is needed to go on
	LeftOut   int                 `json:"leftOut,omitempty"`  // tokens that requests went without since it was folded
	Metered   []usage.Metered     `json:"metered,omitempty"`
}

func frameOf(q query) (any, error) {
	d, err := view.DetailsOf(q.Context(), q.agents.Project, action{}.by(), q.get("id"))
	if err != nil {
		return nil, err
	}
	shown := shownFrame{
		Frame: d.Frame, Ancestors: lo.Map(d.Ancestors, func(f core.Frame, _ int) string { return f.ID }), Children: d.Children,
		Agent: d.Agent, AgentID: d.AgentID, Composed: d.Composed, Closing: d.Closing, Metered: d.Metered,
	}
	if d.Folded != nil {
		shown.LeftOut = d.Folded.Tokens
	}
	return shown, nil
}

// contextOf answers with what an agent in a frame is told.
func contextOf(q query) (any, error) {
	contexts := briefing.Contexts{Project: q.agents.Project}
	made, err := contexts.Of(q.Context(), action{}.by(), q.get("id"), 0)
	return map[string]string{"text": made.Text}, err
}

// The most of a log that one answer has.
const (
	maxMessages = 500
	maxPart     = 20_000 // characters of one part of a message
)

// A shownLog is a piece of a frame's log.
type shownLog struct {
	Total    int            `json:"total"` // messages in the whole log
	From     int            `json:"from"`
	Messages []core.Message `json:"messages"`
	Models   []string       `json:"models"` // that answered in it
}

// logOf answers with some messages of a frame's log: count of them, from the one with
// the number from on.
func logOf(q query) (any, error) {
	_, messages, err := agents.LogOf(q.Context(), q.agents, action{}.by(), q.get("id"))
	if err != nil {
		return nil, err
	}
	from, err := numberIn(q, "from", 0)
	if err != nil {
		return nil, err
	}
	count, err := numberIn(q, "count", 2)
	if err != nil {
		return nil, err
	}
	shown := shownLog{From: from, Messages: []core.Message{}, Models: []string{}}
	for m, err := range messages {
		if err != nil {
			return nil, core.Unavailablef(err, "the transcript cannot be read: %v", err)
		}
		if m.Role == core.RoleOther || len(m.Parts) == 0 {
			continue
		}
		if shown.Total >= from && len(shown.Messages) < min(count, maxMessages) {
			shown.Messages = append(shown.Messages, shortened(m))
		}
		if m.Model != "" && !slices.Contains(shown.Models, m.Model) {
			shown.Models = append(shown.Models, m.Model)
		}
		shown.Total++
	}
	return shown, nil
}

// shortened returns a message without what is too long for a page.
func shortened(m core.Message) core.Message {
	m.Raw, m.Notes = nil, nil
	m.Parts = lo.Map(m.Parts, func(part core.Part, _ int) core.Part {
		part.Text = core.Cut(part.Text, maxPart)
		if len(part.Input) > maxPart {
			part.Input, _ = json.Marshal(core.Cut(string(part.Input), maxPart)) // a text always has a form in JSON
		}
		return part
	})
	return m
}

func numberIn(q query, name string, otherwise int) (int, error) {
	given := q.get(name)
	if given == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 {
		return 0, core.Invalidf("%s must be a number from 0 on, not %q", name, core.OneLine(given, 40))
	}
	return n, nil
}

// filesOf answers with the files that were changed in a frame, and their patches.
func filesOf(q query) (any, error) {
	return agents.FilesOf(q.Context(), q.agents, action{}.by(), q.get("id"))
}

// agentOf answers with all that is kept of an agent that flame started.
func agentOf(q query) (any, error) {
	return q.agents.Result(q.Context(), q.get("id"))
}

// maxFound is how many frames a search on the page finds at most.
const maxFound = 100

func search(q query) (any, error) {
	found, err := view.Search(q.Context(), q.agents.Project, action{}.by(), view.SearchArgs{Text: q.get("q"), Limit: maxFound})
	if err != nil {
		return nil, err
	}
	return map[string]any{"ids": lo.Map(found, func(f view.Found, _ int) string { return f.ID }), "all": len(found) < maxFound}, nil
}

// cascadeOf answers with what an invalidation would come to.
func cascadeOf(q query) (any, error) {
	return view.CascadeOf(q.Context(), q.agents.Project, action{}.by(), q.get("id"))
}

// conflictOf answers with the conflicts of a convergence, with what each side says.
func conflictOf(q query) (any, error) {
	c, err := q.agents.Convergences().Find(q.Context(), q.get("id"))
	if err != nil {
		return nil, err
	}
	return struct {
		ID        string              `json:"id"`
		Rationale string              `json:"rationale"`
		Conflicts []converge.Conflict `json:"conflicts"`
	}{c.ID, c.Result.Rationale, append([]converge.Conflict{}, c.Result.Conflicts...)}, nil
}

// economyOf answers with what folding saved, and what gateways measured.
func economyOf(q query) (any, error) {
	return view.EconomyOf(q.Context(), q.agents.Project)
}
