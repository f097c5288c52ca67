package briefing

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// maxNews limits the events that one briefing reads.
const maxNews = 500

// Changes returns the changes and the suggestions since the event seen, in at most maxChars
// characters; 0 is no limit. It leaves out summaries that known contains.
func Changes(s *project.Op, known string, maxChars int, seen int64) (b Briefing, err error) {
	changes, err := news(s, seen, known)
	if err != nil {
		return b, err
	}
	fresh, err := freshSuggestions(s, seen)
	if err != nil {
		return b, err
	}
	suggestions := ""
	if len(fresh) > 0 {
		suggestions = strings.TrimLeft(core.FormatSuggestions(fresh), "\n")
	}
	room := maxChars
	if room > 0 {
		room -= len(suggestions)
	}
	b.Text = strings.Trim(core.BuildChanges(s.Session.Current, changes, room)+"\n\n"+suggestions, "\n")
	return b, nil
}

// RuleOf returns the rule by which flame made the change that an event records; empty if a
// caller asked for the change.
func RuleOf(e core.Event) string { return saidIn(e).By }

// news returns the changes since the event since that matter to the session's agent:
// changes that others made to frames that the agent sees, and changes that flame made on its
// own. It leaves out summaries that known contains.
func news(s *project.Op, since int64, known string) (told []core.FrameChange, err error) {
	frame, ok, err := s.Current()
	if err != nil || !ok {
		return nil, err
	}
	events, err := s.Tx.FindEvents(project.EventQuery{AfterSeq: since, Limit: maxNews, Last: true,
		Kinds: []string{core.FrameCompleted, core.FrameInvalidated, core.FrameUpdated, core.FrameCreated, core.FrameActivated, core.SummaryStored}})
	if err != nil || len(events) == 0 {
		return nil, err
	}
	changes, err := changes(s, events, frame)
	if err != nil {
		return nil, err
	}
	changes, err = project.Filter(changes, func(c *core.FrameChange) (bool, error) { return isNew(s, c, known) })
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		told = append(told, *change)
	}
	return told, composeSummaries(s, told)
}

// composeSummaries adds a composed summary to changes whose frames ended without one.
func composeSummaries(s *project.Op, changes []core.FrameChange) error {
	var ended []*core.Frame
	for i := range changes {
		if changes[i].Ended {
			ended = append(ended, &changes[i].Frame)
		}
	}
	composed, err := project.ComposeSummaries(s.Tx, ended...)
	for i := range changes {
		changes[i].Composed = composed[changes[i].Frame.ID]
	}
	return err
}

// changes summarizes the events that matter to an agent in frame, by frame, in the order in
// which frames first occur.
func changes(s *project.Op, events []core.Event, frame core.Frame) (list []*core.FrameChange, err error) {
	sight, hides, err := sight(s, frame)
	if err != nil {
		return nil, err
	}
	byFrame := map[string]*core.FrameChange{}
	for _, e := range events {
		said := saidIn(e)
		own := e.Session == s.Session.ID
		if own && said.By == "" || !said.matters(e, s.Session.Current) {
			continue
		}
		change := byFrame[e.Frame]
		if change == nil {
			if change, err = newsOf(s, e.Frame, sight, hides); err != nil {
				return nil, err
			}
			if byFrame[e.Frame] = change; change.Relation != "" {
				list = append(list, change)
			}
		}
		said.addTo(change, e, own)
	}
	return list, nil
}

// An eventContent is the part of an event's data that matters to others.
type eventContent struct {
	By       string   `json:"by"`
	Machine  string   `json:"machine"`
	Fields   []string `json:"fields"`
	Decision string   `json:"decisions"`
}

// saidIn returns the saying of an event.
func saidIn(e core.Event) (said eventContent) {
	_ = json.Unmarshal(e.Data, &said) // data of another form says nothing here
	return said
}

// criteria reports whether the event changes success criteria.
func (said eventContent) criteria() bool { return slices.Contains(said.Fields, "successCriteria") }

// matters reports whether others need to know about the event: an end, a decision, a goal or
// criteria, but not every file. The agent that works in frame current also needs to know that
// another machine took that frame over.
func (said eventContent) matters(e core.Event, current string) bool {
	switch e.Event {
	case core.FrameCreated:
		return said.By != ""
	case core.FrameActivated:
		return said.By != "" || said.Machine != "" && e.Frame == current
	case core.FrameUpdated:
		return slices.Contains(said.Fields, "decisions") || slices.Contains(said.Fields, "goal") || said.criteria()
	}
	return true
}

// addTo adds the event to the change of its frame. If flame acted for the agent itself, it
// leaves out the summary: the agent wrote it.
func (said eventContent) addTo(change *core.FrameChange, e core.Event, own bool) {
	if said.By != "" {
		change.By = said.By
	}
	if said.Decision != "" {
		change.Decisions = append(change.Decisions, said.Decision)
	}
	if said.criteria() {
		change.Criteria = change.Frame.SuccessCriteria
	}
	change.Ended = change.Ended || !own && (e.Event == core.FrameCompleted || e.Event == core.SummaryStored)
}

// newsOf returns an empty change of a frame. Without a relation, the frame does not
// concern the agent.
func newsOf(s *project.Op, id string, sight map[string]core.Relation, hides hiddenAttempts) (*core.FrameChange, error) {
	frame, err := s.Tx.Frame(id)
	if errors.Is(err, core.ErrNotFound) {
		return &core.FrameChange{}, nil
	}
	if err != nil {
		return nil, err
	}
	relation := sight[id]
	if relation == "" {
		relation = sight[below(frame.Parent)]
		if hides, err := hides.hides(s, frame); hides || err != nil {
			return &core.FrameChange{}, err
		}
	}
	return &core.FrameChange{Frame: frame, Relation: relation}, nil
}

// below returns the key of a sight for all frames with this parent.
func below(parent string) string { return "below " + parent }

// sight returns the relations of the frames that an agent in frame sees, by
// their ids or by below of their parent's id, and the frames that are hidden from the agent.
func sight(s *project.Op, frame core.Frame) (map[string]core.Relation, hiddenAttempts, error) {
	above, err := s.Tx.Ancestors(frame.ID, project.MaxAncestors)
	if err != nil {
		return nil, nil, err
	}
	hides, err := hidden(s, frame, above)
	if err != nil {
		return nil, nil, err
	}
	sight := map[string]core.Relation{}
	for i, ancestor := range above {
		if i < maxUncleTiers && ancestor.Parent != "" {
			sight[below(ancestor.Parent)] = core.RelationUncle
		}
		sight[ancestor.ID] = core.RelationAncestor
	}
	sight[below(frame.Parent)] = core.RelationSibling
	sight[below(frame.ID)] = core.RelationChild
	sight[frame.ID] = core.RelationCurrent
	return sight, hides, nil
}

// isNew reports whether the agent does not know of the change from its host.
func isNew(s *project.Op, change *core.FrameChange, known string) (bool, error) {
	if !change.Ended {
		return true, nil
	}
	if summary := strings.TrimSpace(change.Frame.Summary); summary != "" && strings.Contains(known, summary) {
		return false, nil
	}
	child, err := s.Tx.Session(change.Frame.Session)
	if err != nil || child.Parent != s.Session.ID {
		return true, project.IgnoreMissing(err)
	}
	theirs, err := project.RecordHookState.Find(s.Tx, child.ID)
	return !theirs.SummaryDelivered, err
}

// freshSuggestions returns the current suggestions if one was made since the event since.
func freshSuggestions(s *project.Op, since int64) (fresh []core.Suggestion, err error) {
	made, err := s.Tx.FindEvents(project.EventQuery{AfterSeq: since, Session: s.Session.ID, Kinds: []string{core.SuggestionMade}, Limit: 1})
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return autonomy.ContextSuggestions(s)
}
