package project

import (
	"context"

	"flame/core"
)

// A Turn is what a host tells when an agent stops to wait for input.
type Turn struct {
	LastMessage string   // of the agent; becomes the summary of a frame that ends with the turn
	Running     []string // children that still run, by their sessions' ids; nil: the host does not tell
	Transcript  string   // path of the host's log of the session; empty without one

	Usage []MessageUsage // of answers that were not told before, where the host tells it
}

// EndTurn notes that the caller's turn is over. Children that the host no longer
// runs are orphaned, a pop that is due happens or is suggested, and what the
// turn cost is counted later. A session that flame never saw stays unknown.
func (p *Project) EndTurn(ctx context.Context, by Caller, turn Turn) error {
	return p.Together(ctx, func(p *Project) error {
		if turn.Running != nil {
			if err := p.orphan(ctx, by, turn.Running); err != nil {
				return err
			}
		}
		return p.ifKnown(ctx, by, func(s *step) error { return s.endTurn(turn) })
	})
}

func (s *step) endTurn(turn Turn) error {
	if err := s.weighTurn(turn.LastMessage); err != nil {
		return err
	}
	if err := s.keepWords(turn.LastMessage); err != nil {
		return err
	}
	if err := s.noteUsage(turn.Usage); err != nil {
		return err
	}
	if err := s.countLater(turn.Transcript); err != nil {
		return err
	}
	return s.idle()
}

// keepWords keeps what a child said last, for an end that its host does not tell.
func (s *step) keepWords(text string) error {
	if s.session.Parent == "" || text == "" {
		return nil
	}
	mine, err := s.presenceOf(s.session.ID)
	if err != nil || mine.Fallback == text {
		return err
	}
	mine.Fallback = text
	return s.savePresence(s.session.ID, mine)
}

// weighTurn counts the turn as progress or as none, and weighs a pop.
func (s *step) weighTurn(lastMessage string) error {
	frame, ok, err := s.current()
	if err != nil || !ok {
		return err
	}
	progress, err := s.progressed()
	if err != nil {
		return err
	}
	err = s.noteActivity(frame.ID, func(a *Activity) {
		if a.NoProgressTurns++; progress {
			a.NoProgressTurns = 0
		}
	})
	if err != nil {
		return err
	}
	return s.weighPop(lastMessage)
}

// progressed reports whether the session changed anything in the tree since its
// turn began; files count, as they are artifacts.
func (s *step) progressed() (bool, error) {
	mine, err := s.presenceOf(s.session.ID)
	if err != nil {
		return false, err
	}
	made, err := s.FindEvents(EventQuery{AfterSeq: mine.Turn, Session: s.session.ID, Limit: 1, Kinds: []string{
		core.FrameCreated, core.FramePlanned, core.FrameActivated, core.FrameReopened, core.FrameUpdated, core.FrameCompleted, core.SummaryStored,
	}})
	return len(made) > 0, err
}

// weighPop suggests to end the current frame, or at level auto ends it with the
// agent's last message as its summary. It leaves roots alone, and frames with
// work below them in progress.
func (s *step) weighPop(lastMessage string) error {
	frame, config, seen, err := s.weigh("")
	if err != nil || config.Level == core.AutonomyManual || frame.Parent == "" || frame.ID == s.session.Root {
		return err
	}
	advice := popAdvice(frame, config, seen, PopQuestion{})
	if config.Level != core.AutonomyAuto {
		return s.suggest(&advice)
	}
	open, err := s.children(frame.ID, core.InProgress)
	if err != nil || !advice.Recommended || len(open) > 0 {
		return err
	}
	popped := Popped{Frame: frame}
	s.rule = byAutonomy
	err = s.finish(&popped, PopArgs{Status: advice.Status, Summary: lastMessage})
	if s.rule = ""; err != nil {
		return err
	}
	return s.countAutonomy(func(c *core.AutonomyStats) { c.AutoPops++ })
}
