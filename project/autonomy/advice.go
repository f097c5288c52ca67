package autonomy

import (
	"context"
	"slices"

	"flame/core"
	"flame/project"
)

// PushQuestion is what a caller knows about the work. A nil field is taken from the
// recorded Activity.
type PushQuestion struct {
	Frame         string // which; empty: the current one
	PotentialGoal string
	Messages      *int
	Files         *[]string
	Errors        *int
	Tokens        *int
}

// PopQuestion is what a caller knows about the work. A nil field is taken from the
// recorded Activity.
type PopQuestion struct {
	Frame           string // which; empty: the current one
	SuccessSignals  []string
	FailureSignals  []string
	NoProgressTurns *int
	Tokens          *int
	ContextLimit    int // tokens; 0: the default
}

// Advice is the result of an evaluation.
type Advice struct {
	core.Evaluation
	Level  core.AutonomyLevel
	Frame  core.Frame // the caller's; zero without one
	Queued bool       // as a suggestion for the session
}

// ShouldPush evaluates whether the caller should start a new frame.
func ShouldPush(ctx context.Context, p *project.Project, by project.Caller, q PushQuestion) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		frame, config, seen, err := Inputs(s, q.Frame)
		if err != nil {
			return err
		}
		advice = pushAdvice(frame, config, seen, q)
		return Suggest(s, &advice)
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

// ShouldPop evaluates whether the caller should end its frame.
func ShouldPop(ctx context.Context, p *project.Project, by project.Caller, q PopQuestion) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		frame, config, seen, err := Inputs(s, q.Frame)
		if err != nil {
			return err
		}
		if frame.ID == "" {
			return project.NoCurrent()
		}
		advice = PopAdvice(frame, config, seen, q)
		if frame.Parent == "" {
			return nil // a root is ended only by its id
		}
		return Suggest(s, &advice)
	})
	return advice, err
}

// PopAdvice returns the advice of core's rules on ending a frame.
func PopAdvice(frame core.Frame, config core.AutonomyConfig, seen Activity, q PopQuestion) Advice {
	return Advice{Frame: frame, Level: config.Level, Evaluation: core.EvaluatePop(core.PopInput{
		Goal: frame.Goal, Artifacts: frame.Artifacts,
		SuccessSignals: q.SuccessSignals, FailureSignals: q.FailureSignals,
		NoProgressTurns: given(q.NoProgressTurns, seen.NoProgressTurns),
		Tokens:          given(q.Tokens, seen.Tokens), ContextLimit: q.ContextLimit,
	}, config)}
}

// given returns the value that the caller passed, if any, else the recorded one.
func given[T any](passed *T, recorded T) T {
	if passed != nil {
		return *passed
	}
	return recorded
}

// Inputs returns the inputs of an evaluation: the frame that ref names, or the caller's,
// the settings in force and the activity in the frame. frame is zero if ref is empty and
// the caller has none.
func Inputs(s *project.Step, ref string) (frame core.Frame, config core.AutonomyConfig, seen Activity, err error) {
	if config, err = configOf(s); err != nil {
		return frame, config, seen, err
	}
	if ref != "" {
		frame, err = s.Resolve(ref)
	} else {
		frame, _, err = s.Current()
	}
	if err != nil || frame.ID == "" {
		return frame, config, seen, err
	}
	_, err = recordActivity.Load(s.Tx, frame.ID, &seen)
	return frame, config, seen, err
}

// WeighPush suggests a frame for the goal of a prompt if it is worth one, or at level
// auto starts it. It suggests nothing more while a push it suggested stands.
func WeighPush(s *project.Step, goal string) error {
	frame, config, seen, err := Inputs(s, "")
	if err != nil || config.Level == core.AutonomyManual || len(core.Keywords(goal)) < minPushKeywords {
		return err
	}
	if seen.Messages <= minPushMessages && len(seen.Files) < minPushFiles && seen.Errors == 0 {
		return nil
	}
	live, err := liveSuggestions(s)
	if err != nil || slices.ContainsFunc(About(live, frame.ID), func(l core.Suggestion) bool { return l.Type == core.SuggestPush }) {
		return err
	}
	advice := pushAdvice(frame, config, seen, PushQuestion{PotentialGoal: core.OneLine(goal, 200)})
	if config.Level != core.AutonomyAuto {
		return Suggest(s, &advice)
	}
	if !advice.Recommended {
		return nil
	}
	s.Rule = Rule
	child, err := s.Create(core.Frame{Parent: frame.ID, Goal: advice.Goal, Status: core.InProgress})
	if s.Rule = ""; err != nil {
		return err
	}
	s.Session.Current = child.ID
	return UpdateStats(s, func(c *core.AutonomyStats) { c.AutoPushes++ })
}

// The least that a prompt and the work in the frame must have for a push to be
// considered. Most prompts continue the present work in other words, and the heuristics
// would see a new goal in each.
const (
	minPushMessages = 5 // in the frame, or
	minPushFiles    = 2 // changed in it
	minPushKeywords = 3 // in the prompt's first line
)
