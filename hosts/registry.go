package hosts

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core/op"
	"flame/transcripts"
)

// A Host is what flame knows of a host.
type Host struct {
	Name      string // that flame gives it everywhere
	Title     string // for people
	Program   string // that must be on PATH
	Prints    transcripts.Format
	Variables []string // that it sets for what runs inside of it, where in an agent they would pass for its own session; the first one always
	Settings  []string // files and folders by which a folder has settings of its own
	Takes     func(model string) bool
	Joint     string              // stands in the names that it gives to tools of MCP servers
	Tools     Tools               // its own
	Common    bool                // its tools' names are the common vocabulary: definitions are translated by way of them
	Agents    map[string][]string // that it brings, with the tools that they lack
}

// Knows reports whether the host is known to have a tool; patterns and tools of MCP
// servers are for the host to tell.
func (h Host) Knows(tool string) bool {
	if strings.ContainsAny(tool, "*?") || strings.Contains(tool, h.Joint) || strings.Contains(tool, "flame") {
		return true
	}
	_, found := h.Tools.find(tool)
	return found
}

// A Registry is the hosts that flame knows, in the order in which they are named.
type Registry []Host

// Of returns the host of a name. One that is not known has no tools, takes any
// model, and is taken to know every tool.
func (r Registry) Of(name string) Host {
	for _, h := range r {
		if h.Name == name {
			return h
		}
	}
	return Host{Name: name, Takes: func(string) bool { return true }}
}

// Names returns the names of the hosts.
func (r Registry) Names() []string { return lo.Map(r, func(h Host, _ int) string { return h.Name }) }

// Tools returns the tools of all hosts.
func (r Registry) Tools() Tools { return lo.FlatMap(r, func(h Host, _ int) []Tool { return h.Tools }) }

// SpawnTools returns the tools of hosts and of ours by which an agent starts others.
// All are withheld at the deepest level: missing one alias lets agents multiply
// (spec: agents §2).
func (r Registry) SpawnTools() []string {
	return append(r.Tools().Names(Spawns), "*"+string(op.Spawn))
}

// Inside reports whether a process runs in a session of a host, by its variables
// and the names of the programs above it.
func (r Registry) Inside(getenv func(string) string, above []string) bool {
	return slices.ContainsFunc(r, func(h Host) bool {
		return getenv(h.Variables[0]) != "" || slices.Contains(above, h.Program)
	})
}

// Variables returns the variables that any of the hosts sets for what runs inside of
// it.
func (r Registry) Variables() []string {
	return lo.FlatMap(r, func(h Host, _ int) []string { return h.Variables })
}

// Settings returns the files and folders by which a folder has settings of its own for
// any of the hosts.
func (r Registry) Settings() []string {
	return lo.FlatMap(r, func(h Host, _ int) []string { return h.Settings })
}

// HowToInstall is the advice for a user who has none of the hosts.
func (r Registry) HowToInstall() string {
	titles := lo.Map(r, func(h Host, _ int) string { return h.Title })
	programs := lo.Map(r, func(h Host, _ int) string { return "`" + h.Program + "`" })
	return "install " + strings.Join(titles, " or ") + ", so that " + strings.Join(programs, " or ") + " is on PATH"
}

// Translate returns tools by the names that a host has for them, each once, with the
// rules they have. A tool that has no name there keeps its own.
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

// NamesIn returns the names that a tool has in a host, by way of the common ones; none
// where the host has none for it, or no other. A common name stays alone: what Claude
// Code calls Edit is not all that OpenCode calls edit.
func (r Registry) NamesIn(host, name string) (names []string) {
	h := r.Of(host)
	if h.Common {
		return r.commonNames(name)
	}
	wanted := []string{name}
	if _, found := h.Tools.find(name); !found {
		wanted = append(wanted, r.commonNames(name)...)
	}
	for _, t := range h.Tools {
		if slices.ContainsFunc(t.Same, func(same string) bool { return containsFold(wanted, same) }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// commonNames returns the common names of a tool of any host.
func (r Registry) commonNames(name string) (names []string) {
	for _, h := range r {
		if h.Common && slices.ContainsFunc(h.Tools, func(t Tool) bool { return t.Name == name }) {
			return []string{name}
		}
	}
	for _, t := range r.Tools() {
		if strings.EqualFold(t.Name, name) {
			names = append(names, t.Same...)
		}
	}
	return names
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}

// Common returns the host whose names for tools are the common ones.
func (r Registry) Common() Host {
	h, _ := lo.Find(r, func(h Host) bool { return h.Common })
	return h
}
