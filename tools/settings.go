package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

func updatedLine(updated bool) string {
	if updated {
		return "Settings updated for this project.\n"
	}
	return ""
}

// setBy names the environment variables behind settings.
func setBy(variables string) string { return "Environment variables behind them: " + variables + "." }

// A settingSources knows where the values of settings come from.
type settingSources struct {
	changed     []string // names of the settings that a tool set for this project
	environment map[string]bool
}

// sourcesOf returns the sources of settings. Settings that differ from the defaults, and that
// no tool has set, come from the environment.
func sourcesOf(changed []string, settings, defaults any) settingSources {
	fields := func(v any) (values map[string]json.RawMessage) {
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, &values)
		}
		if err != nil {
			panic("settings are no JSON object: " + err.Error()) // a programmer's mistake
		}
		return values
	}
	s, usual := settingSources{changed, map[string]bool{}}, fields(defaults)
	for name, value := range fields(settings) {
		s.environment[name] = !bytes.Equal(value, usual[name])
	}
	return s
}

// line shows a setting and where its value comes from.
func (s settingSources) line(name, value string) string {
	source := "default"
	switch {
	case slices.Contains(s.changed, name):
		source = "this project"
	case s.environment[name]:
		source = "environment"
	}
	return fmt.Sprintf("%s: %s (%s)\n", name, value, source)
}
