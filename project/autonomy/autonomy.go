// Package autonomy advises when to start and end frames: it records the activity in frames,
// evaluates it by core's rules, and queues the resulting suggestions.
package autonomy

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/project"
)

// Rule is the name, in events, of the rule by which flame acts on its own at level auto.
const Rule = "autonomy"

// State is the state of autonomy in the project and the caller's session.
type State struct {
	Config  core.AutonomyConfig
	Changed []string // names of the settings set in the project's store
	Updated bool     // this call changed some
	Stats   core.AutonomyStats
	Pending []core.Suggestion // of the caller's session
	History []core.Suggestion // of the project, oldest first
	Preview string            // their text in the caller's context; may be empty
}

// StateOf returns the state of autonomy.
func StateOf(ctx context.Context, p *project.Project, by project.Caller) (state State, err error) {
	err = p.View(ctx, by, func(s *project.Op) error { return fill(s, &state) })
	return state, err
}

func fill(s *project.Op, state *State) (err error) {
	if state.Config, err = configOf(s); err != nil {
		return err
	}
	if state.Changed, err = settingAutonomy.Changed(s.Tx); err != nil {
		return err
	}
	if state.Stats, err = recordAutonomyStats.Find(s.Tx, ""); err != nil {
		return err
	}
	if state.Pending, err = liveSuggestions(s); err != nil {
		return err
	}
	if state.History, err = historyOf(s); err != nil {
		return err
	}
	shown, err := ContextSuggestions(s)
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

// Configure changes the autonomy settings of the project, all of them or none. It clamps
// thresholds to 0..100.
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
	err = p.Update(ctx, by, func(s *project.Op) error {
		config, err := configOf(s)
		if err != nil {
			return err
		}
		patch.EnabledHeuristics = cmp.Or(project.AddRemove(config.EnabledHeuristics, enable, disable), patch.EnabledHeuristics)
		if state.Updated, err = settingAutonomy.Change(s.Tx, patch); err != nil {
			return err
		}
		if err := fill(s, &state); err != nil {
			return err
		}
		return state.Config.Check()
	})
	return state, err
}

// Reset zeroes the counters and empties queues and history. With settings it also drops the
// changes that tools made, so that the environment's settings are in force again.
func Reset(ctx context.Context, p *project.Project, by project.Caller, settings bool) (state State, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		if settings {
			if err := settingAutonomy.Reset(s.Tx); err != nil {
				return err
			}
		}
		if err := recordAutonomyStats.Save(s.Tx, "", core.AutonomyStats{LastReset: s.Now}); err != nil {
			return err
		}
		sessions, err := recordSuggestions.IDs(s.Tx, "")
		for _, id := range sessions {
			err = errors.Join(err, forgetSuggestions(s.Tx, id))
		}
		if err := errors.Join(err, recordHistory.Clear(s.Tx, "")); err != nil {
			return err
		}
		return fill(s, &state)
	})
	return state, err
}

const (
	settingAutonomy project.Setting[core.AutonomyConfig] = "autonomy"

	recordAutonomyStats project.RecordKind[core.AutonomyStats] = "project.autonomy_stats"
)

// configOf returns the settings in force.
func configOf(s *project.Op) (core.AutonomyConfig, error) {
	return settingAutonomy.In(s.Tx, s.Project.Autonomy)
}

// Enabled reports whether flame judges events by itself: it does not at level manual, and not
// late events.
func Enabled(s *project.Op) (bool, error) {
	config, err := configOf(s)
	return config.Level != core.AutonomyManual && !s.Project.Replaying, err
}

func count(s *project.Op, change func(*core.AutonomyStats)) error {
	return recordAutonomyStats.Change(s.Tx, "", change)
}
