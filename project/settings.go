package project

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"flame/core"
)

// A Setting is the name of a group of settings that tools can change for a project. The
// store holds only what was changed; the rest follows the environment.
type Setting[T any] string

const (
	recordSettings Kind[map[string]json.RawMessage] = "settings" // by setting: the JSON members that were changed
	recordSwitches Kind[bool]                       = "settings"

	// SettingSubagents are the settings for subagents.
	SettingSubagents Setting[core.SubagentConfig] = "subagents"
	settingOff       string                       = "off" // a switch
)

// In returns base with the changed settings on top. Lists in the result may be base's
// own: clone one before changing it.
func (n Setting[T]) In(tx Records, base T) (result T, err error) {
	changed, err := n.changed(tx)
	if len(changed) == 0 || err != nil {
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

// Change sets the fields that patch has.
func (n Setting[T]) Change(tx Records, patch any) error {
	changed, err := n.changed(tx)
	if err != nil {
		return err
	}
	fields, err := fieldsOf(patch)
	if err != nil {
		return err
	}
	maps.Copy(changed, fields)
	return recordSettings.Save(tx, string(n), changed)
}

// Reset drops all changes.
func (n Setting[T]) Reset(tx Records) error { return recordSettings.Delete(tx, string(n)) }

// Changed returns the names of the fields that were changed, sorted.
func (n Setting[T]) Changed(tx Records) ([]string, error) {
	changed, err := n.changed(tx)
	return slices.Sorted(maps.Keys(changed)), err
}

func (n Setting[T]) changed(tx Records) (map[string]json.RawMessage, error) {
	changed := map[string]json.RawMessage{}
	_, err := recordSettings.Load(tx, string(n), &changed)
	return changed, err
}

// fieldsOf returns the JSON members of v.
func fieldsOf(v any) (fields map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(raw, &fields)
}

// SubagentConfig returns the subagent settings in force.
func (s *Step) SubagentConfig() (core.SubagentConfig, error) {
	return SettingSubagents.In(s.Tx, s.Project.Subagents)
}

// SetOff turns hooks and context injection off for the project, or on again.
func (p *Project) SetOff(ctx context.Context, off bool) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		if off {
			return recordSwitches.Save(tx, settingOff, true)
		}
		return recordSwitches.Delete(tx, settingOff)
	})
}

// Off reports whether hooks and context injection are off for the project.
func (p *Project) Off(ctx context.Context) (off bool, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		off, err = p.Step(tx, Caller{}).Off()
		return err
	})
	return off, err
}

// Off reports whether hooks and context injection are off for the project.
func (s *Step) Off() (off bool, err error) {
	_, err = recordSwitches.Load(s.Tx, settingOff, &off)
	return off, err
}
