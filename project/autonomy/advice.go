package autonomy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/judge"
	"flame/project"
)

// PushQuestion has what a caller knows about the work. For a nil field, flame uses the
// recorded Activity.
type PushQuestion struct {
	Frame         string // the frame; empty: the current one
	PotentialGoal string
	Messages      *int
	Files         *[]string
	Errors        *int
	Tokens        *int
}

// PopQuestion has what a caller knows about the work. For a nil field, flame uses the
// recorded Activity.
type PopQuestion struct {
	Frame           string // the frame; empty: the current one
	SuccessSignals  []string
	FailureSignals  []string
	NoProgressTurns *int
	Tokens          *int
	ContextLimit    int // tokens; 0: the default
	Running         int // children and jobs of the agent's host that still run
}

// Advice is the result of an evaluation.
type Advice struct {
	core.Evaluation
	Level  core.AutonomyLevel
	Frame  core.Frame // the caller's; zero without one
	Queued bool       // as a suggestion for the session
	Asked  bool       // the agent asked for it

	// Finished is set for advice on a pop at level auto if there is proof of the result, so
	// that flame may end the frame as advised without asking.
	Finished bool
}

// ShouldPush evaluates whether the caller should start a new frame.
func ShouldPush(ctx context.Context, p *project.Project, by project.Caller, q PushQuestion) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		seen, err := Observe(s, q.Frame)
		if err != nil {
			return err
		}
		advice = seen.push(q, q.PotentialGoal != "")
		advice.Asked = true
		return Suggest(s, &advice)
	})
	return advice, err
}

// ShouldPop evaluates whether the caller should end its frame.
func ShouldPop(ctx context.Context, p *project.Project, by project.Caller, q PopQuestion) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		seen, err := Observe(s, q.Frame)
		if err != nil {
			return err
		}
		if seen.Frame.ID == "" {
			return project.NoCurrent()
		}
		advice = seen.Pop(q)
		advice.Asked = true
		if seen.Frame.Parent == "" {
			return nil // a root ends only by its id
		}
		return Suggest(s, &advice)
	})
	return advice, err
}

// given returns the value that the caller passed, if any, else the recorded one.
func given[T any](passed *T, recorded T) T {
	if passed != nil {
		return *passed
	}
	return recorded
}

// An Observation is the input of a judgement about a frame.
type Observation struct {
	Frame    core.Frame // zero if there is none
	Config   core.AutonomyConfig
	Activity Activity
	Scene    Scene        // zero unless the frame is the one that its session works in
	Planned  []core.Frame // the frame's children that are planned
	Open     int          // its children in progress
}

// Observe returns what flame knows about the frame that ref names, or about the caller's,
// with the settings in force. If ref is empty and there is no frame, it returns only the
// settings.
func Observe(s *project.Step, ref string) (seen Observation, err error) {
	if seen.Config, err = configOf(s); err != nil {
		return seen, err
	}
	if ref != "" {
		seen.Frame, err = s.Resolve(ref)
	} else {
		seen.Frame, _, err = s.Current()
	}
	if err != nil || seen.Frame.ID == "" {
		return seen, err
	}
	if seen.Activity, err = recordActivity.Of(s.Tx, seen.Frame.ID); err != nil {
		return seen, err
	}
	return seen, errors.Join(seen.lookAround(s), seen.lookBelow(s))
}

// lookAround adds the Scene of the session that works in the frame.
func (o *Observation) lookAround(s *project.Step) error {
	session := s.Session
	if o.Frame.Session != session.ID {
		var err error
		if session, err = s.Tx.Session(o.Frame.Session); err != nil {
			return project.IgnoreMissing(err)
		}
	}
	at, err := s.NearestOpen(session.Current)
	if err != nil || at != o.Frame.ID {
		return err
	}
	o.Scene, err = recordScene.Of(s.Tx, session.ID)
	return err
}

// maxChildren limits the children of a frame that lookBelow reads.
const maxChildren = 100

// lookBelow adds the frame's children that are planned or in progress.
func (o *Observation) lookBelow(s *project.Step) error {
	below, err := s.Tx.FindFrames(project.FrameQuery{
		Parent: o.Frame.ID, Statuses: []core.Status{core.Planned, core.InProgress}, Limit: maxChildren,
	})
	for _, child := range below {
		if child.Status == core.Planned {
			o.Planned = append(o.Planned, child)
		} else {
			o.Open++
		}
	}
	return err
}

// Moment returns the observation in the form that package judge takes.
func (o Observation) Moment() judge.Moment {
	return judge.Moment{
		Frame: judge.Frame{
			Goal: o.Frame.Goal, Criteria: o.Frame.SuccessCriteria, Open: o.Open,
			Planned:  lo.Map(o.Planned, func(child core.Frame, _ int) string { return child.Goal }),
			Messages: o.Activity.Messages, Files: o.Activity.Files, Decisions: o.Frame.Decisions, Artifacts: o.Frame.Artifacts,
		},
		Recent: o.Scene.Recent,
		Turn: judge.Turn{
			Calls: o.Scene.Calls, Files: o.Scene.Files, Errors: o.Scene.Errors, Tokens: o.Activity.Tokens, Model: o.Scene.Model,
			Window: cmp.Or(o.Scene.Window, o.Scene.Told), WithoutProgress: o.Activity.NoProgressTurns,
		},
	}
}

// push returns the advice on a new frame for the question's goal. named says that a caller
// named the goal; otherwise the goal is a prompt.
func (o Observation) push(q PushQuestion, named bool) Advice {
	m := o.Moment()
	m.Prompt, m.Named = q.PotentialGoal, named
	m.Frame.Messages, m.Frame.Files = given(q.Messages, m.Frame.Messages), given(q.Files, m.Frame.Files)
	if o.Config.Strategy != core.Evidence {
		m.Turn.Errors = o.Activity.Errors // the reference's scores are of the frame
	}
	m.Turn.Errors, m.Turn.Tokens = given(q.Errors, m.Turn.Errors), given(q.Tokens, m.Turn.Tokens)
	return Advice{Frame: o.Frame, Level: o.Config.Level, Evaluation: judge.Push(m, o.Config)}
}

// Pop returns the advice on ending the frame.
func (o Observation) Pop(q PopQuestion) Advice {
	m := o.Moment()
	m.Successes, m.Failures = q.SuccessSignals, q.FailureSignals
	m.Turn.WithoutProgress, m.Turn.Tokens = given(q.NoProgressTurns, m.Turn.WithoutProgress), given(q.Tokens, m.Turn.Tokens)
	m.Turn.Window = cmp.Or(q.ContextLimit, m.Turn.Window)
	m.Frame.Open = max(m.Frame.Open, q.Running)
	advice := Advice{Frame: o.Frame, Level: o.Config.Level, Evaluation: judge.Pop(m, o.Config)}
	if advice.Level == core.AutonomyAuto && advice.Recommended {
		advice.Finished = advice.Status != core.Completed || judge.Finished(m)
	}
	return advice
}

// WeighPush suggests a frame for the work that a prompt asks for, if it is worth one. At level
// auto it starts the frame: with activate if the prompt says that a planned child of this
// machine should begin, else as a new frame. It withdraws the suggestion of an earlier prompt
// and, if the prompt asks for more of the present work, the suggestion to end that. It does
// not judge late events.
func WeighPush(s *project.Step, prompt string, activate func(*project.Step, core.Frame) error) error {
	seen, err := Observe(s, "")
	if err != nil || s.Project.Late || seen.Config.Level == core.AutonomyManual || seen.Frame.ID == "" {
		return err
	}
	advice := seen.push(PushQuestion{PotentialGoal: prompt}, false)
	advice.Recommended = advice.Recommended && seen.isRoomy(prompt)
	if !advice.Recommended && judge.AsksForMore(prompt) {
		if err := withdraw(s, seen.Frame.ID, core.SuggestPop); err != nil {
			return err
		}
	}
	if !advice.Recommended || seen.Config.Level != core.AutonomyAuto {
		return Advise(s, &advice)
	}
	planned := slices.IndexFunc(seen.Planned, func(child core.Frame) bool { return child.Goal == advice.Goal })
	if planned >= 0 && (seen.Planned[planned].Foreign() || !judge.Begins(prompt, advice.Goal)) {
		return Suggest(s, &advice)
	}
	s.Rule = Rule
	if planned >= 0 {
		err = activate(s, seen.Planned[planned])
	} else {
		err = begin(s, seen.Frame.ID, advice.Goal)
	}
	if s.Rule = ""; err != nil {
		return err
	}
	return NoteDone(s, advice, s.Session.Current)
}

// begin starts a new child of a frame, and makes it the caller's current frame.
func begin(s *project.Step, parent, goal string) error {
	child, err := s.Create(core.Frame{Parent: parent, Goal: goal, Status: core.InProgress})
	if err == nil {
		s.Session.Current = child.ID
	}
	return err
}

// isRoomy reports whether a frame and a prompt have the size for which the reference's
// scores are useful: most prompts continue the present work in other words, and the scores
// find a new goal in each.
func (o Observation) isRoomy(prompt string) bool {
	if o.Config.Strategy == core.Evidence {
		return true
	}
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return len(core.Keywords(line)) >= minPushKeywords &&
		(o.Activity.Messages > minPushMessages || len(o.Activity.Files) >= minPushFiles || o.Scene.Errors > 0)
}

// The smallest prompt, and the least work in the frame, for which flame considers a push by
// the reference's scores.
const (
	minPushMessages = 5 // in the frame, or
	minPushFiles    = 2 // changed in it
	minPushKeywords = 3 // in the prompt's first line
)

// Suggest queues the advice as a suggestion for the caller's session, or refreshes the queued
// one. It does nothing if the advice recommends nothing.
func Suggest(s *project.Step, advice *Advice) error {
	if !advice.Recommended || advice.Level == core.AutonomyManual {
		return nil
	}
	advice.Queued = true
	live, err := takeLive(s)
	if err != nil {
		return err
	}
	suggestion := advice.Suggestion(s.Session.ID, advice.Frame.ID, s.Now)
	suggestion.Asked = advice.Asked
	live, gone, added := core.AddSuggestion(live, suggestion, s.Now)
	if err := saveSuggestions(s, live); err != nil || !added {
		return err
	}
	if err := remember(s, suggestion); err != nil {
		return err
	}
	if err := settle(s, gone...); err != nil {
		return err
	}
	err = UpdateStats(s, func(c *core.AutonomyStats) {
		c.TotalSuggestions++
		if suggestion.Type == core.SuggestPush {
			c.PushSuggestions++
		} else {
			c.PopSuggestions++
		}
	})
	if err != nil {
		return err
	}
	return s.Emit(core.SuggestionMade, advice.Frame.ID, map[string]any{
		"type": suggestion.Type, "text": suggestion.Text, "status": suggestion.Status, "confidence": suggestion.Confidence,
	})
}

// Advise queues the advice as a suggestion, or withdraws the earlier suggestion if the advice
// recommends nothing.
func Advise(s *project.Step, advice *Advice) error {
	if advice.Recommended {
		return Suggest(s, advice)
	}
	return withdraw(s, advice.Frame.ID, advice.Type)
}

// NoteDone records that flame followed its own advice, at level auto: it began the frame made
// or, if made is empty, ended the frame that the advice is about.
func NoteDone(s *project.Step, advice Advice, made string) error {
	live, err := takeLive(s)
	if err != nil {
		return err
	}
	live, done, waited := core.ActOn(live, advice.Frame.ID, advice.Type, s.Now)
	if waited {
		err = saveSuggestions(s, live)
	} else {
		done = advice.Suggestion(s.Session.ID, advice.Frame.ID, s.Now)
		err = remember(s, done)
	}
	if err != nil {
		return err
	}
	done = done.End(core.Done, s.Now)
	done.ActedAt, done.Made = s.Now, made
	if err := settle(s, done); err != nil {
		return err
	}
	if err := UpdateStats(s, func(c *core.AutonomyStats) {
		if done.Type == core.SuggestPush {
			c.AutoPushes++
		} else {
			c.AutoPops++
		}
	}); err != nil {
		return err
	}
	frame := made
	if done.Type == core.SuggestPop {
		frame = advice.Frame.ID
	}
	return recordFollowed.Save(s.Tx, frame, done)
}
