package project

import (
	"context"
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

// briefFirst returns the full context, where there is more to it than its own frame.
func (s *step) briefFirst(maxChars int) (b Briefing, err error) {
	around, err := s.around()
	if err != nil || !around.Tells() {
		return b, err
	}
	return Briefing{Text: core.BuildContext(around, s.p.Budget, maxChars).Text, Full: true}, nil
}

// briefBeginning is the full context. One that begins is told it only where there
// is more to it than the prompt itself; a subagent's, where children get any.
func (s *step) briefBeginning(again bool) (b Briefing, err error) {
	config, err := s.subagentConfig()
	if err != nil || s.session.Parent != "" && !config.InjectParentContext {
		return b, err
	}
	around, err := s.around()
	if err != nil {
		return b, err
	}
	if !again && s.session.Parent == "" {
		if around.Unfinished, err = s.unfinished(); err != nil || !around.Tells() {
			return b, err
		}
	}
	return Briefing{Text: core.BuildContext(around, s.p.Budget, 0).Text, Full: true}, nil
}

// withNotices returns a briefing with the notices that wait for the session, which are
// told by it. brief makes the rest within the characters that they leave; 0 is no
// limit.
func (s *step) withNotices(maxChars int, brief func(maxChars int) (Briefing, error)) (b Briefing, err error) {
	var waiting []string
	known, err := recordNotice.Load(s, s.session.ID, &waiting)
	if err != nil {
		return b, err
	}
	if !known {
		return brief(maxChars)
	}
	if err := recordNotice.Delete(s, s.session.ID); err != nil {
		return b, err
	}
	notices := core.BuildNotices(waiting, maxChars)
	if maxChars > 0 {
		maxChars = max(1, maxChars-len(notices)-len("\n\n"))
	}
	b, err = brief(maxChars)
	b.Text = strings.Trim(notices+"\n\n"+b.Text, "\n")
	return b, err
}
