package autonomy

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
)

// PushArgs has what a caller knows about the work. For a nil field, flame uses the
// recorded FrameActivity.
type PushArgs struct {
	Frame         string // the frame; empty: the current one
	PotentialGoal string
	Messages      *int
	Files         *[]string
	Errors        *int
	Tokens        *int
}

// PopArgs has what a caller knows about the work. For a nil field, flame uses the
// recorded FrameActivity.
type PopArgs struct {
	Frame           string // the frame; empty: the current one
	SuccessSignals  []string
	FailureSignals  []string
	NoProgressTurns *int
	Tokens          *int
	ContextLimit    int // tokens; 0: that of the model, or the default
}

// Advice is the result of an evaluation.
type Advice struct {
	core.Evaluation
	Level  core.AutonomyLevel
	Frame  core.Frame // the caller's; zero without one
	Queued bool       // as a suggestion for the session
	Asked  bool       // the agent asked for it
	Proven bool       // flame may act on it without asking, at level auto
}

// ShouldPush evaluates whether the caller should start a new frame.
func ShouldPush(ctx context.Context, p *project.Project, by project.Caller, q PushArgs) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		seen, err := Observe(s, q.Frame)
		if err != nil {
			return err
		}
		advice = seen.askPush(q)
		return Suggest(s, &advice)
	})
	return advice, err
}

// ShouldPop evaluates whether the caller should end its frame.
func ShouldPop(ctx context.Context, p *project.Project, by project.Caller, q PopArgs) (advice Advice, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		seen, err := Observe(s, q.Frame)
		if err != nil {
			return err
		}
		if seen.Frame.ID == "" {
			return project.NoCurrent()
		}
		advice = seen.askPop(q)
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
	Activity FrameActivity
	Scene    SessionActivity // zero unless the frame is the one that its session works in
	Planned  []core.Frame    // the frame's children that are planned
	Open     int             // its children in progress
}

// Observe returns what flame knows about the frame that ref names, or about the caller's,
// with the settings in force. If ref is empty and there is no frame, it returns only the
// settings.
func Observe(s *project.Op, ref string) (seen Observation, err error) {
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
	if seen.Activity, err = recordActivity.Find(s.Tx, seen.Frame.ID); err != nil {
		return seen, err
	}
	return seen, errors.Join(seen.lookAround(s), seen.lookBelow(s))
}

// lookAround adds the SessionActivity of the session that works in the frame.
func (o *Observation) lookAround(s *project.Op) error {
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
	o.Scene, err = recordScene.Find(s.Tx, session.ID)
	return err
}

// maxChildren limits the children of a frame that lookBelow reads.
const maxChildren = 100

// lookBelow adds the frame's children that are planned or in progress.
func (o *Observation) lookBelow(s *project.Op) error {
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

// askPush returns the advice on a new frame by the heuristics.
func (o Observation) askPush(q PushArgs) Advice {
	return Advice{Frame: o.Frame, Level: o.Config.Level, Asked: true, Evaluation: core.EvaluatePush(core.PushInput{
		Goal: o.Frame.Goal, PotentialGoal: q.PotentialGoal, Messages: given(q.Messages, o.Activity.Messages),
		Files: given(q.Files, o.Activity.Files), Errors: given(q.Errors, o.Activity.Errors), Tokens: given(q.Tokens, o.Activity.Tokens),
	}, o.Config)}
}

// askPop returns the advice on ending the frame by the heuristics. A frame in which nothing has
// happened never ends, unless the caller says what has.
func (o Observation) askPop(q PopArgs) Advice {
	a := Advice{Frame: o.Frame, Level: o.Config.Level, Asked: true, Evaluation: core.EvaluatePop(core.PopInput{
		Goal: o.Frame.Goal, Artifacts: o.Frame.Artifacts, SuccessSignals: q.SuccessSignals, FailureSignals: q.FailureSignals,
		NoProgressTurns: given(q.NoProgressTurns, o.Activity.NoProgressTurns), Tokens: given(q.Tokens, o.Activity.Tokens),
		ContextLimit: cmp.Or(q.ContextLimit, o.Scene.window()),
	}, o.Config)}
	told := len(q.SuccessSignals)+len(q.FailureSignals) > 0 || q.NoProgressTurns != nil || q.Tokens != nil
	if !told && o.Activity.Idle() && len(o.Scene.Calls) == 0 {
		a.Recommended, a.Reason = false, "nothing has happened in the frame since the session moved there"
	}
	return a
}

// Pop returns the advice on ending the frame by the evidence. running is the number of children
// and jobs of the agent's host that still run.
func (o Observation) Pop(running int) Advice {
	m := o.moment()
	m.Frame.Open = max(m.Frame.Open, running)
	a := o.advice(core.SuggestPop, evidence.Pop(m), evidenceOfPop, o.Config.PopThreshold)
	a.Status = core.Completed
	return a
}

func (o Observation) push(prompt string) Advice {
	m := o.moment()
	m.Prompt = prompt
	found := evidence.Push(m)
	a := o.advice(core.SuggestPush, found, evidenceOfPush, o.Config.PushThreshold)
	a.Goal = found.Goal
	return a
}

// The heuristics without which flame suggests no push and no pop by itself.
const (
	evidenceOfPush = "context_switch"
	evidenceOfPop  = "goal_completion"
)

func (o Observation) advice(kind core.SuggestionType, found evidence.Recommendation, heuristic string, threshold int) Advice {
	return Advice{Frame: o.Frame, Level: o.Config.Level, Proven: found.Proven, Evaluation: core.Evaluation{
		Type: kind, Confidence: found.Confidence, Reason: found.Reason, Threshold: threshold,
		Recommended: found.Confidence > 0 && found.Confidence >= threshold && o.Config.Enabled(heuristic),
	}}
}

func (o Observation) moment() evidence.Moment {
	return evidence.Moment{
		Frame: evidence.Frame{
			Goal: o.Frame.Goal, Criteria: o.Frame.SuccessCriteria, Open: o.Open, Files: o.Activity.Files,
			Planned:   lo.Map(o.Planned, func(child core.Frame, _ int) string { return child.Goal }),
			Decisions: o.Frame.Decisions, Artifacts: o.Frame.Artifacts,
		},
		Recent: o.Scene.Recent, Calls: o.Scene.Calls,
	}
}

// SuggestPush suggests a frame for the work that a prompt asks for, if it is worth one. At level
// auto it starts the frame: with activate if the prompt says that a planned child of this
// machine should begin, else as a new frame. It withdraws the suggestion of an earlier prompt
// and, if the prompt asks for more of the present work, the suggestion to end that. It does
// not judge late events.
func SuggestPush(s *project.Op, prompt string, activate func(*project.Op, core.Frame) error) error {
	seen, err := Observe(s, "")
	if err != nil || s.Project.Replaying || seen.Config.Level == core.AutonomyManual || seen.Frame.ID == "" {
		return err
	}
	advice := seen.push(prompt)
	if !advice.Recommended && evidence.AsksForMore(prompt) {
		if err := withdraw(s, seen.Frame.ID, core.SuggestPop); err != nil {
			return err
		}
	}
	if !advice.Recommended || seen.Config.Level != core.AutonomyAuto {
		return Advise(s, &advice)
	}
	planned := slices.IndexFunc(seen.Planned, func(child core.Frame) bool { return child.Goal == advice.Goal })
	if !advice.Proven || planned >= 0 && seen.Planned[planned].IsRemote() {
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
	return NoteAutoMove(s, advice)
}

// begin starts a new child of a frame, and makes it the caller's current frame.
func begin(s *project.Op, parent, goal string) error {
	child, err := s.Create(core.Frame{Parent: parent, Goal: goal, Status: core.InProgress})
	if err != nil {
		return err
	}
	return Enter(s, child.ID)
}

// Suggest queues the advice as a suggestion for the caller's session, or refreshes the queued
// one. It does nothing if the advice recommends nothing.
func Suggest(s *project.Op, advice *Advice) error {
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
	live, added := core.AddSuggestion(live, suggestion, s.Now)
	if err := saveSuggestions(s, live); err != nil || !added {
		return err
	}
	if err := remember(s, suggestion); err != nil {
		return err
	}
	err = count(s, func(c *core.AutonomyStats) {
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
func Advise(s *project.Op, advice *Advice) error {
	if advice.Recommended {
		return Suggest(s, advice)
	}
	return withdraw(s, advice.Frame.ID, advice.Type)
}

// NoteAutoMove records that flame followed its own advice, at level auto.
func NoteAutoMove(s *project.Op, advice Advice) error {
	done, waited, err := take(s, advice.Frame.ID, advice.Type)
	if err != nil {
		return err
	}
	if !waited {
		done = advice.Suggestion(s.Session.ID, advice.Frame.ID, s.Now)
	}
	done.ActedAt, done.Done = s.Now, true
	return errors.Join(remember(s, done), count(s, func(c *core.AutonomyStats) {
		if done.Type == core.SuggestPush {
			c.AutoPushes++
		} else {
			c.AutoPops++
		}
	}))
}
