// Package autonomy advises when to start and end frames: it records the activity in
// them, evaluates it by core's rules, and queues the resulting suggestions.
package autonomy

import (
	"context"
	"reflect"
	"slices"

	"flame/core"
	"flame/project"
	"flame/project/learned"
)

// Rule is the name, in events, of the rule by which flame acts on its own at level auto.
const Rule = "autonomy"

// State is the state of autonomy in the project and the caller's session.
type State struct {
	Config  core.AutonomyConfig
	Applies core.AutonomyConfig // Config with what was learned, if that is to apply
	Changed []string            // names of the settings set in the project's store
	Updated bool                // this call changed some
	Stats   core.AutonomyStats
	Pending []core.Suggestion // of the caller's session
	History []core.Suggestion // of the project, oldest first
	Preview string            // what the caller's context shows of them; may be empty
}

// StateOf returns the state of autonomy.
func StateOf(ctx context.Context, p *project.Project, by project.Caller) (state State, err error) {
	err = p.View(ctx, by, func(s *project.Step) error { return fill(s, &state) })
	return state, err
}

func fill(s *project.Step, state *State) (err error) {
	if state.Config, err = configured(s); err != nil {
		return err
	}
	if state.Applies, err = configOf(s); err != nil {
		return err
	}
	if state.Changed, err = settingAutonomy.Changed(s.Tx); err != nil {
		return err
	}
	if _, err = recordAutonomyStats.Load(s.Tx, statAutonomy, &state.Stats); err != nil {
		return err
	}
	if state.Pending, err = liveSuggestions(s); err != nil {
		return err
	}
	if state.History, err = suggestionHistory(s); err != nil {
		return err
	}
	shown, err := Injectable(s)
	if len(shown) > 0 {
		state.Preview = core.FormatSuggestions(shown)
	}
	return err
}

// A Patch is a change of the autonomy settings; nil leaves a field unchanged.
type Patch struct {
	Level             *core.AutonomyLevel `json:"level,omitempty"`
	PushThreshold     *int                `json:"pushThreshold,omitempty"`
	PopThreshold      *int                `json:"popThreshold,omitempty"`
	SuggestInContext  *bool               `json:"suggestInContext,omitempty"`
	EnabledHeuristics *[]string           `json:"enabledHeuristics,omitempty"`
}

// Configure changes the autonomy settings of the project, all as requested or none.
// Thresholds are clamped to 0..100.
func Configure(ctx context.Context, p *project.Project, by project.Caller, patch Patch, enable, disable string) (state State, err error) {
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
	if patch == (Patch{}) && enable == "" && disable == "" {
		return StateOf(ctx, p, by)
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		config, err := configured(s)
		if err != nil {
			return err
		}
		if enable != "" || disable != "" {
			names := slices.DeleteFunc(slices.Clone(config.EnabledHeuristics), func(have string) bool { return have == disable })
			if enable != "" && !slices.Contains(names, enable) {
				names = append(names, enable)
			}
			if !slices.Equal(names, config.EnabledHeuristics) {
				patch.EnabledHeuristics = &names
			}
		}
		changed, err := settingAutonomy.Changed(s.Tx)
		if err != nil {
			return err
		}
		if err := settingAutonomy.Change(s.Tx, patch); err != nil {
			return err
		}
		if err := fill(s, &state); err != nil {
			return err
		}
		state.Updated = !reflect.DeepEqual(config, state.Config) || !slices.Equal(changed, state.Changed)
		return state.Config.Check()
	})
	return state, err
}

// Reset zeroes the counters and empties queues and history. With settings it also drops
// the changes made by tools, so that the environment's settings are in force again.
func Reset(ctx context.Context, p *project.Project, by project.Caller, settings bool) (state State, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		if settings {
			if err := settingAutonomy.Reset(s.Tx); err != nil {
				return err
			}
		}
		if err := recordAutonomyStats.Save(s.Tx, statAutonomy, core.AutonomyStats{LastReset: s.Now}); err != nil {
			return err
		}
		sessions, err := recordSuggestions.IDs(s.Tx, "")
		if err != nil {
			return err
		}
		for _, id := range sessions {
			if err := forgetSuggestions(s.Tx, id); err != nil {
				return err
			}
		}
		if err := dropHistory(s); err != nil {
			return err
		}
		return fill(s, &state)
	})
	return state, err
}

// Learned returns what the project teaches about thresholds and subagents.
func Learned(ctx context.Context, p *project.Project) (l learned.Lessons, err error) {
	err = p.View(ctx, project.Caller{}, func(s *project.Step) error {
		config, err := configured(s)
		if err != nil {
			return err
		}
		l, err = learned.Of(s, config)
		return err
	})
	return l, err
}

// ForgetLearned drops all from which the project learned.
func ForgetLearned(ctx context.Context, p *project.Project) error {
	return p.Store.Update(ctx, func(tx project.Tx) error { return learned.Forget(p.Step(tx, project.Caller{})) })
}
