package project

import (
	"context"
	"slices"

	"flame/core"
)

// PushQuestion is what a caller knows of the work; nil is taken from what was
// recorded.
type PushQuestion struct {
	Frame         string // which; empty: the current one
	PotentialGoal string
	Messages      *int
	Files         *[]string
	Errors        *int
	Tokens        *int
}

// PopQuestion is what a caller knows of the work; nil is taken from what was
// recorded.
type PopQuestion struct {
	Frame           string // which; empty: the current one
	SuccessSignals  []string
	FailureSignals  []string
	NoProgressTurns *int
	Tokens          *int
	ContextLimit    int // tokens; 0: the default
}

// Advice is an evaluation and what came of it.
type Advice struct {
	core.Evaluation
	Level  core.AutonomyLevel
	Frame  core.Frame // the caller's; without an id when there is none
	Queued bool       // a suggestion stands for the session
}

// ShouldPush weighs whether the caller should start a new frame.
func (p *Project) ShouldPush(ctx context.Context, by Caller, q PushQuestion) (advice Advice, err error) {
	err = p.update(ctx, by, func(s *step) error {
		frame, config, seen, err := s.weigh(q.Frame)
		if err != nil {
			return err
		}
		advice = pushAdvice(frame, config, seen, q)
		return s.suggest(&advice)
	})
	return advice, err
}

func pushAdvice(frame core.Frame, config core.AutonomyConfig, seen Activity, q PushQuestion) Advice {
	return Advice{Frame: frame, Level: config.Level, Evaluation: core.EvaluatePush(core.PushInput{
		Goal: frame.Goal, PotentialGoal: q.PotentialGoal,
		Messages: given(q.Messages, seen.Messages), Files: given(q.Files, seen.Files),
		Errors: given(q.Errors, seen.Errors), Tokens: given(q.Tokens, seen.Tokens),
	}, config)}
}

// ShouldPop weighs whether the caller should end its frame.
func (p *Project) ShouldPop(ctx context.Context, by Caller, q PopQuestion) (advice Advice, err error) {
	err = p.update(ctx, by, func(s *step) error {
		frame, config, seen, err := s.weigh(q.Frame)
		if err != nil {
			return err
		}
		if frame.ID == "" {
			return noCurrent()
		}
		advice = popAdvice(frame, config, seen, q)
		if frame.Parent == "" {
			return nil // a root ends only by its id
		}
		return s.suggest(&advice)
	})
	return advice, err
}

func popAdvice(frame core.Frame, config core.AutonomyConfig, seen Activity, q PopQuestion) Advice {
	return Advice{Frame: frame, Level: config.Level, Evaluation: core.EvaluatePop(core.PopInput{
		Goal: frame.Goal, Artifacts: frame.Artifacts,
		SuccessSignals: q.SuccessSignals, FailureSignals: q.FailureSignals,
		NoProgressTurns: given(q.NoProgressTurns, seen.NoProgressTurns),
		Tokens:          given(q.Tokens, seen.Tokens), ContextLimit: q.ContextLimit,
	}, config)}
}

// given prefers what the caller passed to what was recorded.
func given[T any](passed *T, recorded T) T {
	if passed != nil {
		return *passed
	}
	return recorded
}

// weigh returns what an evaluation is made of; frame is zero when the caller named
// none and has none.
func (s *step) weigh(ref string) (frame core.Frame, config core.AutonomyConfig, seen Activity, err error) {
	if config, err = s.autonomyConfig(); err != nil {
		return frame, config, seen, err
	}
	if ref != "" {
		frame, err = s.resolve(ref)
	} else {
		frame, _, err = s.current()
	}
	if err != nil || frame.ID == "" {
		return frame, config, seen, err
	}
	_, err = recordActivity.Load(s, frame.ID, &seen)
	return frame, config, seen, err
}

// weighPush suggests a frame for what a prompt asks, or at level auto starts it.
// It suggests nothing more while a push it suggested stands.
func (s *step) weighPush(goal string) error {
	frame, config, seen, err := s.weigh("")
	if err != nil || config.Level == core.AutonomyManual || len(core.Keywords(goal)) < minPushKeywords {
		return err
	}
	if seen.Messages <= minPushMessages && len(seen.Files) < minPushFiles && seen.Errors == 0 {
		return nil
	}
	live, err := s.liveSuggestions()
	if err != nil || slices.ContainsFunc(live, func(l core.Suggestion) bool { return l.Type == core.SuggestPush }) {
		return err
	}
	advice := pushAdvice(frame, config, seen, PushQuestion{PotentialGoal: core.OneLine(goal, 200)})
	if config.Level != core.AutonomyAuto {
		return s.suggest(&advice)
	}
	if !advice.Recommended {
		return nil
	}
	s.rule = byAutonomy
	child, err := s.create(core.Frame{Parent: frame.ID, Goal: advice.Goal, Status: core.InProgress})
	if s.rule = ""; err != nil {
		return err
	}
	s.session.Current = child.ID
	return s.countAutonomy(func(c *core.AutonomyStats) { c.AutoPushes++ })
}

// What a prompt must be, and what must have been done, for a frame of its own to
// be worth a thought. Most prompts go on with what is there in other words, and
// the heuristics see a new goal in each.
const (
	minPushMessages = 5 // in the frame, or
	minPushFiles    = 2 // changed in it
	minPushKeywords = 3 // in the prompt's first line
)
