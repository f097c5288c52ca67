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
