package hosts

import (
	"slices"
	"strings"

	"github.com/samber/lo"
)

// For returns the set with another host's names for its tools.
func (t ToolSet) For(known Registry, host string) ToolSet {
	t.Allowed, t.Denied = known.Translate(t.Allowed, host), known.Translate(t.Denied, host)
	return t
}

// Translate returns tools by a host's names for them, each once, with their
// rules. A tool that has no name there keeps its own.
func (r Registry) Translate(tools []string, host string) []string {
	translated := make([]string, 0, len(tools))
	for _, tool := range tools {
		name, arguments, ruled := strings.Cut(tool, "(")
		if ruled {
			arguments = "(" + arguments
		}
		names := r.NamesIn(host, name)
		if len(names) == 0 {
			names, arguments = []string{tool}, ""
		}
		for _, other := range names {
			if !slices.Contains(translated, other+arguments) {
				translated = append(translated, other+arguments)
			}
		}
	}
	return translated
}

// CanonicalSpelling returns tools by a host's names for them, in the host's own spelling:
// Claude Code does not offer a tool requested in another one (observed).
func (r Registry) CanonicalSpelling(tools []string, host string) []string {
	names := r.Translate(tools, host)
	for i, entry := range names {
		name, rule := SplitRule(entry)
		for _, own := range r.Of(host).Tools.Own {
			if strings.EqualFold(own.Name, name) {
				names[i] = own.Name + rule
			}
		}
	}
	return names
}

// NamesIn translates the name of a tool to a host's names, through the common
// names; it returns none if the host has no other name for it. A common name
// stays alone: Claude Code's Edit is only a part of OpenCode's edit.
func (r Registry) NamesIn(host, name string) (names []string) {
	h := r.Of(host)
	if h.Tools.Canonical {
		return r.commonNames(name)
	}
	wanted := []string{name}
	if _, found := h.Tools.Own.find(name); !found {
		wanted = append(wanted, r.commonNames(name)...)
	}
	for _, t := range h.Tools.Own {
		if slices.ContainsFunc(t.Canonical, func(same string) bool { return containsFold(wanted, same) }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// commonNames returns the common names of any host's tool.
func (r Registry) commonNames(name string) (names []string) {
	for _, h := range r {
		if h.Tools.Canonical && slices.ContainsFunc(h.Tools.Own, func(t Tool) bool { return t.Name == name }) {
			return []string{name}
		}
	}
	for _, t := range r.Tools() {
		if strings.EqualFold(t.Name, name) {
			names = append(names, t.Canonical...)
		}
	}
	return names
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}

// Common returns the host whose tool names are the common ones.
func (r Registry) Common() Host {
	h, _ := lo.Find(r, func(h Host) bool { return h.Tools.Canonical })
	return h
}
