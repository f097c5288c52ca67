package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/hosts"
)

// For returns the definition with tools by the names that a host has for them; what
// has no other name there stays as it is.
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

// Model returns a model by the name that a host takes it by; empty, with what to warn of,
// for one of another host's, which a definition may have been written for.
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

// HandedOn returns the keys that a host gets of the definition, and warns of the others.
// Whoever may edit a project's files, or write a definition into a call, may not run
// commands by that.
func (d Definition) HandedOn(host hosts.Host) (keys map[string]json.RawMessage, warnings []string) {
	keys = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(d.HostKeys)) {
		switch {
		case key == "mode" || slices.Contains(listing, key): // of its place in lists alone
		case !host.Key(key).Passed:
			warnings = append(warnings, fmt.Sprintf("%s: is not handed on to %s", key, host.Name))
		case host.Key(key).Commands && d.Source.Kind != User:
			warnings = append(warnings, fmt.Sprintf("%s: is handed on only from definitions in your home, since it can run commands", key))
		default:
			keys[key] = d.HostKeys[key]
		}
	}
	return keys, warnings
}

// Trusted returns the tools that the definition allows, as far as a set has them, where
// it came with flame or lies in the user's home. Others limit an agent and allow
// nothing: whoever writes them may be a model.
func (d Definition) Trusted(set hosts.ToolSet) []string {
	if d.Tools == nil || d.Source.Kind != Builtin && d.Source.Kind != User {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*d.Tools), func(tool string) bool { return !slices.Contains(set.Allowed, tool) })
}
