package project

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"flame/core"
)

// Settings that tools changed are kept per project as records of one kind, by name.
// They hold only what was changed, so that the environment rules the rest.
const (
	recordSettings Kind[map[string]json.RawMessage] = "settings" // by field
	recordSwitches Kind[bool]                       = "settings"

	settingSubagents = "subagents"
	settingAutonomy  = "autonomy"
	settingOff       = "off" // a switch
)

// overlay returns base with the fields on top that the store has for name. Lists
// in it may be base's own: who changes one clones it.
func overlay[T any](tx Records, name string, base T) (result T, err error) {
	var changed map[string]json.RawMessage
	if known, err := recordSettings.Load(tx, name, &changed); !known || err != nil {
		return base, err
	}
	fields, err := fieldsOf(base)
	if err != nil {
		return result, err
	}
	maps.Copy(fields, changed)
	raw, err := json.Marshal(fields)
	if err != nil {
		return result, err
	}
	return result, json.Unmarshal(raw, &result)
}

// fieldsOf returns the JSON members of v.
func fieldsOf(v any) (fields map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(raw, &fields)
}

// merge adds the fields of patch that are set to what the store has for name.
func merge(tx Records, name string, patch any) error {
	changed := map[string]json.RawMessage{}
	if _, err := recordSettings.Load(tx, name, &changed); err != nil {
		return err
	}
	fields, err := fieldsOf(patch)
	if err != nil {
		return err
	}
	maps.Copy(changed, fields)
	return recordSettings.Save(tx, name, changed)
}

// changedFields lists the settings of name that the store overrides.
func changedFields(tx Records, name string) (fields []string, err error) {
	var changed map[string]json.RawMessage
	if _, err := recordSettings.Load(tx, name, &changed); err != nil {
		return nil, err
	}
	for field := range changed {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	return fields, nil
}

// A SubagentPatch is a change of the subagent settings; nil leaves a field.
type SubagentPatch struct {
	Enabled             *bool     `json:"enabled,omitempty"`
	MinDuration         *int64    `json:"minDuration,omitempty"` // ms
	MinMessageCount     *int      `json:"minMessageCount,omitempty"`
	SubagentPatterns    *[]string `json:"subagentPatterns,omitempty"`
	AutoCompleteOnIdle  *bool     `json:"autoCompleteOnIdle,omitempty"`
	IdleCompletionDelay *int64    `json:"idleCompletionDelay,omitempty"` // ms
	InjectParentContext *bool     `json:"injectParentContext,omitempty"`
	PropagateSummaries  *bool     `json:"propagateSummaries,omitempty"`
}

func (c SubagentPatch) empty() bool { return c == SubagentPatch{} }

// SubagentSettings are the subagent settings in force.
type SubagentSettings struct {
	core.SubagentConfig
	Changed []string // names of those that the project's store sets; the others are the environment's
	Updated bool     // this call changed some
}

// ConfigureSubagents changes the subagent settings of the project, all that is
// asked for or nothing, and gives those in force. With an empty patch and no
// patterns it only tells.
func (p *Project) ConfigureSubagents(ctx context.Context, by Caller, patch SubagentPatch, addPattern, removePattern string) (now SubagentSettings, err error) {
	if err := patch.check(addPattern); err != nil {
		return now, err
	}
	read := func(s *step) error {
		if now.SubagentConfig, err = s.subagentConfig(); err != nil {
			return err
		}
		now.Changed, err = changedFields(s, settingSubagents)
		return err
	}
	if patch.empty() && addPattern == "" && removePattern == "" {
		return now, p.view(ctx, by, read)
	}
	err = p.update(ctx, by, func(s *step) error {
		config, err := s.subagentConfig()
		if err != nil {
			return err
		}
		if addPattern != "" || removePattern != "" {
			patterns := slices.DeleteFunc(slices.Clone(config.SubagentPatterns), func(have string) bool { return have == removePattern })
			if addPattern != "" && !slices.Contains(patterns, addPattern) {
				patterns = append(patterns, addPattern)
			}
			patch.SubagentPatterns = &patterns
		}
		if err := merge(s, settingSubagents, patch); err != nil {
			return err
		}
		now.Updated = true
		return read(s)
	})
	return now, err
}

func (c SubagentPatch) check(addPattern string) error {
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

func (s *step) subagentConfig() (core.SubagentConfig, error) {
	return overlay(s, settingSubagents, s.p.Subagents)
}

// SetOff turns hooks and injection off for the project, or on again.
func (p *Project) SetOff(ctx context.Context, off bool) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		if off {
			return recordSwitches.Save(tx, settingOff, true)
		}
		return recordSwitches.Delete(tx, settingOff)
	})
}

// Off reports whether hooks and injection are off for the project.
func (p *Project) Off(ctx context.Context) (off bool, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		_, err := recordSwitches.Load(tx, settingOff, &off)
		return err
	})
	return off, err
}
