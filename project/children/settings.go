package children

import (
	"context"
	"reflect"
	"slices"

	"flame/core"
	"flame/project"
)

// A Patch is a change of the subagent settings; nil leaves a field unchanged.
type Patch struct {
	Enabled             *bool     `json:"enabled,omitempty"`
	MinDuration         *int64    `json:"minDuration,omitempty"` // ms
	MinMessageCount     *int      `json:"minMessageCount,omitempty"`
	SubagentPatterns    *[]string `json:"subagentPatterns,omitempty"`
	AutoCompleteOnIdle  *bool     `json:"autoCompleteOnIdle,omitempty"`
	IdleCompletionDelay *int64    `json:"idleCompletionDelay,omitempty"` // ms
	InjectParentContext *bool     `json:"injectParentContext,omitempty"`
	PropagateSummaries  *bool     `json:"propagateSummaries,omitempty"`
}

func (c Patch) empty() bool { return c == Patch{} }

func (c Patch) check(addPattern string) error {
	if addPattern != "" {
		if err := core.CheckPattern(addPattern); err != nil {
			return err
		}
	}
	for name, v := range map[string]*int64{"minDuration": c.MinDuration, "idleCompletionDelay": c.IdleCompletionDelay} {
		if v != nil && *v < 0 {
			return core.Invalidf("%s %d is negative", name, *v).WithHint("give a number of ms, 0 or more")
		}
	}
	if c.MinMessageCount != nil && *c.MinMessageCount < 0 {
		return core.Invalidf("minMessageCount %d is negative", *c.MinMessageCount).WithHint("give a number, 0 or more")
	}
	return nil
}

// Settings are the subagent settings in force.
type Settings struct {
	core.SubagentConfig
	Changed []string // names of the fields set in the project's store; the others are the environment's
	Updated bool     // this call changed some
}

// Configure changes the subagent settings of the project, all as requested or none, and
// returns those in force. With an empty patch and no patterns it changes nothing.
func Configure(ctx context.Context, p *project.Project, by project.Caller, patch Patch, addPattern, removePattern string) (now Settings, err error) {
	if err := patch.check(addPattern); err != nil {
		return now, err
	}
	read := func(s *project.Step) error {
		if now.SubagentConfig, err = s.SubagentConfig(); err != nil {
			return err
		}
		now.Changed, err = project.SettingSubagents.Changed(s.Tx)
		return err
	}
	if patch.empty() && addPattern == "" && removePattern == "" {
		return now, p.View(ctx, by, read)
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		config, err := s.SubagentConfig()
		if err != nil {
			return err
		}
		if addPattern != "" || removePattern != "" {
			patterns := slices.DeleteFunc(slices.Clone(config.SubagentPatterns), func(have string) bool { return have == removePattern })
			if addPattern != "" && !slices.Contains(patterns, addPattern) {
				patterns = append(patterns, addPattern)
			}
			if !slices.Equal(patterns, config.SubagentPatterns) {
				patch.SubagentPatterns = &patterns
			}
		}
		changed, err := project.SettingSubagents.Changed(s.Tx)
		if err != nil {
			return err
		}
		if err := project.SettingSubagents.Change(s.Tx, patch); err != nil {
			return err
		}
		err = read(s)
		now.Updated = !reflect.DeepEqual(config, now.SubagentConfig) || !slices.Equal(changed, now.Changed)
		return err
	})
	return now, err
}
