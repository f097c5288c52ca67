package project

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"flame/core"
)

// lastSeq returns the sequence number of the newest event, 0 without any.
func (s *step) lastSeq() (int64, error) {
	last, err := s.FindEvents(EventQuery{Limit: 1, Last: true})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// A Briefing is what belongs before a session's agent now. It is empty where
// there is nothing to tell.
type Briefing struct {
	Text string
	Full bool // the whole context, not only what changed
}

// Begin notes that a session starts, or goes on after a pause or a compaction,
// and returns what its agent should know: the context of its frame, or for a
// session that has none yet, the unfinished frames of sessions that are over.
// Where there is nothing to tell, nothing is written.
func (p *Project) Begin(ctx context.Context, by Caller, maxChars int) (b Briefing, err error) {
	err = p.consider(ctx, by, func(s *step) (func(*step) error, error) {
		b = Briefing{}
		if tells, err := s.hasNews(); !tells || err != nil {
			return nil, err
		}
		return func(s *step) (err error) {
			b, err = s.begin(maxChars)
			return err
		}, nil
	})
	return b, err
}

func (s *step) begin(maxChars int) (b Briefing, err error) {
	// What came with an agent's task stands until its prompt is taken in.
	if mine, err := s.presenceOf(s.session.ID); mine.Given || err != nil {
		return b, err
	}
	if b, err = s.withNotices(maxChars, s.brief); err != nil || b.Text == "" {
		return b, err
	}
	return b, s.briefed(b)
}

// hasNews reports whether there is anything to begin with: a frame to go on in, some
// to take up, or a notice.
func (s *step) hasNews() (bool, error) {
	_, ok, err := s.current()
	if ok || err != nil {
		return ok, err
	}
	if noted, err := s.isNotified(); noted || err != nil {
		return noted, err
	}
	left, err := s.unfinished()
	return len(left) > 0, err
}

// wasGiven reports, once, whether the session began with its context.
func (s *step) wasGiven() (bool, error) {
	mine, err := s.presenceOf(s.session.ID)
	if err != nil || !mine.Given {
		return false, err
	}
	mine.Given = false
	if mine.Seen, err = s.lastSeq(); err != nil {
		return false, err
	}
	return true, s.savePresence(s.session.ID, mine)
}

// brief returns the full context of the session's frame, or what it could take up.
func (s *step) brief(maxChars int) (Briefing, error) {
	around, err := s.around()
	if err != nil {
		return Briefing{}, err
	}
	return Briefing{Text: core.BuildContext(around, s.p.Budget, maxChars).Text, Full: true}, nil
}

// around gathers what the session's own context is made of, with the suggestions
// that stand for it.
func (s *step) around() (around core.Surroundings, err error) {
	frame, ok, err := s.current()
	if err != nil {
		return around, err
	}
	if !ok {
		around.Unfinished, err = s.unfinished()
		return around, err
	}
	terms, err := s.terms()
	if err != nil {
		return around, err
	}
	if around, err = s.surroundings(frame, terms); err != nil {
		return around, err
	}
	around.Suggestions, err = s.injectable()
	return around, err
}

// maxOrphans is how many frames in progress are looked at for some that no
// session works in any more.
const maxOrphans = 50

// quiet is how long a frame must have been left alone to be offered although its
// session is not known to be over: a host that was killed tells no end.
const quiet = 12 * time.Hour

// unfinished returns frames in progress whose session is over, those that changed
// last first. A subagent's session takes up none.
func (s *step) unfinished() (left []core.Frame, err error) {
	if s.session.Parent != "" || s.by.Parent != "" {
		return nil, nil
	}
	open, err := s.FindFrames(FrameQuery{Statuses: []core.Status{core.InProgress}, Order: RecentFirst, Limit: maxOrphans})
	if err != nil {
		return nil, err
	}
	for _, frame := range open {
		if frame.Session == s.session.ID {
			continue
		}
		owner, err := s.liveOwner(frame)
		if err != nil {
			return nil, err
		}
		if owner == "" || s.now-frame.UpdatedAt > core.Millis(quiet.Milliseconds()) {
			left = append(left, frame)
		}
	}
	return left, nil
}

// briefed keeps that the session's agent was told b.
func (s *step) briefed(b Briefing) error {
	mine, err := s.presenceOf(s.session.ID)
	if err != nil {
		return err
	}
	if mine.Seen, err = s.toldUpTo(b); err != nil {
		return err
	}
	return s.savePresence(s.session.ID, mine)
}

// toldUpTo logs that the session's agent was told b, and returns the last event
// that it knows of then.
func (s *step) toldUpTo(b Briefing) (int64, error) {
	if b.Text != "" {
		kind := "changes"
		if b.Full {
			kind = "context"
		}
		data := map[string]any{"kind": kind, "tokens": core.EstimateTokens(b.Text)}
		if err := s.emit(core.ContextInjected, s.session.Current, data); err != nil {
			return 0, err
		}
	}
	return s.lastSeq()
}

// maxNews bounds the events that are read for one briefing.
const maxNews = 500

// news returns what changed, for the session's agent, since it was last told:
// what others did to frames that it sees, and what flame did by itself. Words
// that stand in known are not told again.
func (s *step) news(since int64, known string) (told []core.Change, err error) {
	frame, ok, err := s.current()
	if err != nil || !ok {
		return nil, err
	}
	events, err := s.FindEvents(EventQuery{AfterSeq: since, Limit: maxNews, Last: true,
		Kinds: []string{core.FrameCompleted, core.FrameInvalidated, core.FrameUpdated, core.FrameCreated, core.SummaryStored}})
	if err != nil || len(events) == 0 {
		return nil, err
	}
	changes, err := s.changes(events, frame)
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		heard, err := s.heard(change, known)
		if err != nil {
			return nil, err
		}
		if !heard {
			told = append(told, *change)
		}
	}
	return told, nil
}

// changes sums up events by frame, in the order in which frames come first, as
// far as they matter to an agent in frame.
func (s *step) changes(events []core.Event, frame core.Frame) (list []*core.Change, err error) {
	sight, err := s.sight(frame)
	if err != nil {
		return nil, err
	}
	byFrame := map[string]*core.Change{}
	for _, e := range events {
		said := saidIn(e)
		own := e.Session == s.session.ID
		if own && said.By == "" || !said.matters(e) {
			continue
		}
		change := byFrame[e.Frame]
		if change == nil {
			if change, err = s.newsOf(e.Frame, sight); err != nil {
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

// A saying is what the data of a frame's event hold for others.
type saying struct {
	By       string   `json:"by"`
	Fields   []string `json:"fields"`
	Decision string   `json:"decisions"`
}

func saidIn(e core.Event) (said saying) {
	_ = json.Unmarshal(e.Data, &said) // what has another form says nothing here
	return said
}

// matters reports whether others need to know of the event: ends, decisions and
// goals, but not each file.
func (said saying) matters(e core.Event) bool {
	switch e.Event {
	case core.FrameCreated:
		return said.By != ""
	case core.FrameUpdated:
		return slices.Contains(said.Fields, "decisions") || slices.Contains(said.Fields, "goal")
	}
	return true
}

// addTo adds the event to the news of its frame. Of what flame did for the agent
// itself the summary is not told: those are its own words.
func (said saying) addTo(change *core.Change, e core.Event, own bool) {
	if said.By != "" {
		change.By = said.By
	}
	if said.Decision != "" {
		change.Decisions = append(change.Decisions, said.Decision)
	}
	change.Ended = change.Ended || !own && (e.Event == core.FrameCompleted || e.Event == core.SummaryStored)
}

// newsOf begins the news of a frame; without a relation it is none of the
// agent's business.
func (s *step) newsOf(id string, sight map[string]core.Relation) (*core.Change, error) {
	frame, err := s.Frame(id)
	if errors.Is(err, core.ErrNotFound) {
		return &core.Change{}, nil
	}
	relation := sight[id]
	if relation == "" {
		relation = sight[below(frame.Parent)]
	}
	return &core.Change{Frame: frame, Relation: relation}, err
}

// below stands in a sight for all frames with this parent.
func below(parent string) string { return "below " + parent }

// sight says how frames that an agent in frame sees stand to it (DESIGN §5): by
// their ids, or by that of their parent.
func (s *step) sight(frame core.Frame) (map[string]core.Relation, error) {
	above, err := s.Ancestors(frame.ID, maxAncestors)
	if err != nil {
		return nil, err
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
	return sight, nil
}

// heard reports whether the agent has the news from its host already.
func (s *step) heard(change *core.Change, known string) (bool, error) {
	if !change.Ended {
		return false, nil
	}
	if summary := strings.TrimSpace(change.Frame.Summary); summary != "" && strings.Contains(known, summary) {
		return true, nil
	}
	child, err := s.Session(change.Frame.Session)
	if err != nil || child.Parent != s.session.ID {
		return false, ignoreMissing(err)
	}
	theirs, err := s.presenceOf(child.ID)
	return theirs.Told, err
}
