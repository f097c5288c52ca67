package project

import (
	"context"
	"slices"

	"flame/core"
)

const recordActivity Kind[Activity] = "activity" // by frame: what was seen of the work in it

// Activity is what was seen of the work in one frame; it feeds the heuristics
// where the caller passes nothing.
type Activity struct {
	Messages        int      `json:"messages"`
	Files           []string `json:"files,omitempty"` // changed, without repeats
	Errors          int      `json:"errors"`          // failed tool calls
	Tokens          int      `json:"tokens"`          // in the session's context now
	NoProgressTurns int      `json:"noProgressTurns"` // turns in a row that changed nothing
}

// maxFiles bounds the changed files kept for one frame; the scores look at
// counts up to 6.
const maxFiles = 100

// noteActivity changes what was seen of the work in a frame.
func (s *step) noteActivity(frame string, change func(*Activity)) error {
	var seen Activity
	if _, err := recordActivity.Load(s, frame, &seen); err != nil {
		return err
	}
	change(&seen)
	return recordActivity.Save(s, frame, seen)
}

// addFile counts a changed file, once.
func (a *Activity) addFile(file string) {
	if !slices.Contains(a.Files, file) && len(a.Files) < maxFiles {
		a.Files = append(a.Files, file)
	}
}

// NoteFailure counts a tool call of the caller's that failed.
func (p *Project) NoteFailure(ctx context.Context, by Caller) error {
	return p.update(ctx, by, func(s *step) error {
		frame, ok, err := s.current()
		if err != nil || !ok {
			return err
		}
		return s.noteActivity(frame.ID, func(a *Activity) { a.Errors++ })
	})
}

// NoteFiles records files that the caller's tools changed: as artifacts of its
// frame and as signs of progress. A session without a frame gets its root.
func (p *Project) NoteFiles(ctx context.Context, by Caller, files []string) error {
	return p.update(ctx, by, func(s *step) error {
		if s.awaitsHeuristics() {
			return nil
		}
		frame, err := s.ensureCurrent()
		if err != nil {
			return ignoreMissing(err)
		}
		var added []string
		for _, file := range files {
			if file = p.relative(file); file != "" && frame.AddArtifact(file, s.now) {
				added = append(added, file)
			}
		}
		if len(added) > 0 {
			if err := s.SaveFrame(frame); err != nil {
				return err
			}
			for _, file := range added {
				if err := s.emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{"artifacts"}, "artifacts": file}); err != nil {
					return err
				}
			}
		}
		return s.noteActivity(frame.ID, func(a *Activity) {
			for _, file := range files {
				a.addFile(p.relative(file))
			}
		})
	})
}

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

func (s *step) autonomyConfig() (core.AutonomyConfig, error) {
	return overlay(s, settingAutonomy, s.p.Autonomy)
}

func (s *step) countAutonomy(count func(*core.AutonomyStats)) error {
	var stats core.AutonomyStats
	if _, err := recordAutonomyStats.Load(s, statAutonomy, &stats); err != nil {
		return err
	}
	count(&stats)
	return recordAutonomyStats.Save(s, statAutonomy, stats)
}

// AutonomyState is how autonomy stands in the project and the caller's session.
type AutonomyState struct {
	Config  core.AutonomyConfig
	Changed []string // names of the settings that the project's store sets
	Updated bool     // this call changed some
	Stats   core.AutonomyStats
	Pending []core.Suggestion // of the caller's session
	History []core.Suggestion // of the project, oldest first
	Preview string            // what the caller's context shows of them; may be empty
}

// AutonomyState tells how autonomy stands.
func (p *Project) AutonomyState(ctx context.Context, by Caller) (state AutonomyState, err error) {
	err = p.view(ctx, by, func(s *step) error { return s.autonomyState(&state) })
	return state, err
}

func (s *step) autonomyState(state *AutonomyState) (err error) {
	if state.Config, err = s.autonomyConfig(); err != nil {
		return err
	}
	if state.Changed, err = changedFields(s, settingAutonomy); err != nil {
		return err
	}
	if _, err = recordAutonomyStats.Load(s, statAutonomy, &state.Stats); err != nil {
		return err
	}
	if state.Pending, err = s.liveSuggestions(); err != nil {
		return err
	}
	if state.History, err = s.suggestionHistory(); err != nil {
		return err
	}
	shown, err := s.injectable()
	if len(shown) > 0 {
		state.Preview = core.FormatSuggestions(shown)
	}
	return err
}

// An AutonomyPatch is a change of the autonomy settings; nil leaves a field.
type AutonomyPatch struct {
	Level             *core.AutonomyLevel `json:"level,omitempty"`
	PushThreshold     *int                `json:"pushThreshold,omitempty"`
	PopThreshold      *int                `json:"popThreshold,omitempty"`
	SuggestInContext  *bool               `json:"suggestInContext,omitempty"`
	EnabledHeuristics *[]string           `json:"enabledHeuristics,omitempty"`
}

// ConfigureAutonomy changes the autonomy settings of the project, all that is
// asked for or nothing. Thresholds are clamped to 0..100.
func (p *Project) ConfigureAutonomy(ctx context.Context, by Caller, patch AutonomyPatch, enable, disable string) (state AutonomyState, err error) {
	for _, name := range []string{enable, disable} {
		if name != "" {
			if err := core.CheckHeuristic(name); err != nil {
				return state, err
			}
		}
	}
	for _, threshold := range []*int{patch.PushThreshold, patch.PopThreshold} {
		if threshold != nil {
			*threshold = min(max(*threshold, 0), 100)
		}
	}
	if patch == (AutonomyPatch{}) && enable == "" && disable == "" {
		return p.AutonomyState(ctx, by)
	}
	err = p.update(ctx, by, func(s *step) error {
		config, err := s.autonomyConfig()
		if err != nil {
			return err
		}
		if enable != "" || disable != "" {
			names := slices.DeleteFunc(slices.Clone(config.EnabledHeuristics), func(have string) bool { return have == disable })
			if enable != "" && !slices.Contains(names, enable) {
				names = append(names, enable)
			}
			patch.EnabledHeuristics = &names
		}
		if err := merge(s, settingAutonomy, patch); err != nil {
			return err
		}
		state.Updated = true
		if err := s.autonomyState(&state); err != nil {
			return err
		}
		return state.Config.Check()
	})
	return state, err
}

// ResetAutonomy zeroes counters and empties queue and history; with settings it
// also drops what tools changed, so that the environment rules again.
func (p *Project) ResetAutonomy(ctx context.Context, by Caller, settings bool) (state AutonomyState, err error) {
	err = p.update(ctx, by, func(s *step) error {
		if settings {
			if err := recordSettings.Delete(s, settingAutonomy); err != nil {
				return err
			}
		}
		if err := recordAutonomyStats.Save(s, statAutonomy, core.AutonomyStats{LastReset: s.now}); err != nil {
			return err
		}
		sessions, err := recordSuggestions.IDs(s, "")
		if err != nil {
			return err
		}
		for _, id := range sessions {
			if err := recordSuggestions.Delete(s, id); err != nil {
				return err
			}
			if err := s.ClearDeadline(deadlineSuggestion, id); err != nil {
				return err
			}
		}
		if err := recordHistory.Delete(s, ""); err != nil {
			return err
		}
		return s.autonomyState(&state)
	})
	return state, err
}

const byAutonomy = "autonomy" // the level auto

const recordAutonomyStats Kind[core.AutonomyStats] = "stats"

const statAutonomy = "autonomy"

const settingAutonomy = "autonomy"
