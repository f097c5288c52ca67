package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/hosts"
)

// For returns the definition with a host's names for tools; a tool without
// another name there stays as it is.
func (d Definition) For(known hosts.Registry, host string) Definition {
	d.digest = d.Digest()
	if h := known.Of(host); d.Source.Kind == Builtin && len(h.Tools) > 0 {
		for _, b := range builtins {
			if b.name == d.Name {
				d.Tools = b.tools(h)
			}
		}
		return d
	}
	d.DisallowedTools = known.Translate(d.DisallowedTools, host)
	if d.Tools != nil {
		tools := known.Translate(*d.Tools, host)
		d.Tools = &tools
	}
	return d
}

// Model returns a host's name for a model. For another host's model, which a
// definition may have been written for, it returns "" and a warning.
func Model(host hosts.Host, name string) (model string, warnings []string) {
	switch {
	case name == "" || name == "inherit":
		return "", nil
	case !host.RunsModel(name):
		return "", []string{fmt.Sprintf("model %q is not one of %s's, so it chooses itself", name, host.Name)}
	}
	return name, nil
}

// UnknownTools warns of tools that a host is not known to have.
func UnknownTools(host hosts.Host, tools *[]string) (warnings []string) {
	for _, tool := range lo.FromPtr(tools) {
		if name, _ := hosts.SplitRule(tool); !host.Knows(name) {
			warnings = append(warnings, fmt.Sprintf("tool %q is not one that %s is known to have", name, host.Name))
		}
	}
	return warnings
}

// HandedOn returns the definition's keys for a host, and warnings about the
// others. People who may edit a project's files, or write a definition into a
// call, must not run commands that way.
func (d Definition) HandedOn(host hosts.Host) (keys map[string]json.RawMessage, warnings []string) {
	keys = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(d.HostKeys)) {
		switch {
		case key == "mode" || slices.Contains(listing, key): // it only matters in lists
		case !host.Key(key).Passed:
			warnings = append(warnings, fmt.Sprintf("%s: is not passed on to %s", key, host.Name))
		case host.Key(key).Commands && d.Source.Kind != User:
			warnings = append(warnings, fmt.Sprintf("%s: is passed on only from definitions in your home, since it can run commands", key))
		default:
			keys[key] = d.HostKeys[key]
		}
	}
	return keys, warnings
}

// Trusted returns the tools that the definition allows, as far as a set has
// them, if it comes with flame or from the user's home. Others limit an agent
// and allow nothing: their author may be a model.
func (d Definition) Trusted(set hosts.ToolSet) []string {
	if d.Tools == nil || d.Source.Kind != Builtin && d.Source.Kind != User {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*d.Tools), func(tool string) bool { return !slices.Contains(set.Allowed, tool) })
}
