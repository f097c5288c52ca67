package briefing

import (
	"context"

	"flame/core"
	"flame/project"
)

// Begin records that a session starts, or goes on after a compaction, and returns what
// its agent should know: the context of its frame, or for a session that has none yet,
// the unfinished frames of sessions that have ended. If there is nothing to say, it
// writes nothing.
func Begin(ctx context.Context, p *project.Project, by project.Caller, maxChars int) (Briefing, error) {
	return onStart(ctx, p, by, maxChars, Whole)
}

// Resume is Begin for a session that goes on with its history: that still holds what its
// agent was told and did, so of its frame only what changed since is told.
func Resume(ctx context.Context, p *project.Project, by project.Caller, maxChars int) (Briefing, error) {
	return onStart(ctx, p, by, maxChars, func(s *project.Step, maxChars int) (Briefing, error) {
		if _, ok, err := place(s); err != nil {
			return Briefing{}, err
		} else if !ok {
			return Whole(s, maxChars)
		}
		mine, err := s.PresenceOf(s.Session.ID)
		if err != nil {
			return Briefing{}, err
		}
		return Changes(s, "", maxChars, mine.Seen)
	})
}

func onStart(
	ctx context.Context, p *project.Project, by project.Caller, maxChars int, brief func(*project.Step, int) (Briefing, error),
) (b Briefing, err error) {
	err = p.Consider(ctx, by, func(s *project.Step) (func(*project.Step) error, error) {
		b = Briefing{}
		if tells, err := hasNews(s); !tells || err != nil {
			return nil, err
		}
		return func(s *project.Step) (err error) {
			b, err = begin(s, maxChars, brief)
			return err
		}, nil
	})
	return b, err
}

func begin(s *project.Step, maxChars int, brief func(*project.Step, int) (Briefing, error)) (b Briefing, err error) {
	// The context that came with an agent's task holds until its first prompt is seen.
	mine, err := s.PresenceOf(s.Session.ID)
	if mine.Given || err != nil {
		return b, err
	}
	if s.Project.Late {
		mine.Owed = true
		return b, s.SavePresence(s.Session.ID, mine)
	}
	if b, err = WithNotices(s, maxChars, func(left int) (Briefing, error) { return brief(s, left) }); err != nil || b.Text == "" {
		return b, err
	}
	return b, SaveTold(s, b)
}

// hasNews reports whether Begin has anything to say: about the session's frame, about
// unfinished ones, or in a notice.
func hasNews(s *project.Step) (bool, error) {
	_, ok, err := place(s)
	if ok || err != nil {
		return ok, err
	}
	if noted, err := isNotified(s); noted || err != nil {
		return noted, err
	}
	var around core.Surroundings
	err = offers(s, &around)
	return around.Tells(), err
}
