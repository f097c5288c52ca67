package project

import (
	"context"
	"slices"

	"flame/core"
)

const (
	settingAutonomy Setting[core.AutonomyConfig] = "autonomy"

	// Counters, under the one id that they have.
	recordAutonomyStats Kind[core.AutonomyStats] = "stats"
	statAutonomy                                 = "autonomy"

	// byAutonomy is the rule by which flame acts of its own at level auto, as events
	// name it.
	byAutonomy = "autonomy"
)

// autonomyConfig returns the settings in force.
func (s *step) autonomyConfig() (core.AutonomyConfig, error) {
	return settingAutonomy.In(s, s.p.Autonomy)
}

// countAutonomy changes the counters.
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
	if state.Changed, err = settingAutonomy.Changed(s); err != nil {
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
		if err := settingAutonomy.Change(s, patch); err != nil {
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
			if err := settingAutonomy.Reset(s); err != nil {
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
			if err := forgetSuggestions(s, id); err != nil {
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
