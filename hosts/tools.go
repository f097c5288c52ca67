package hosts

import (
	"slices"
	"strings"
)

// A Tool is a host's own tool. Does decides what flame must withhold from an
// agent that may only read, so every tool that changes anything needs it.
type Tool struct {
	Name string
	Does Effect
	Old  bool     // only older versions have it
	Same []string // its names in the common vocabulary; empty in the host that defines those names
}

// An Effect is what a tool does; the zero value is nothing that flame needs to
// know.
type Effect int

// What tools do to the world.
const (
	Reads   Effect = iota + 1 // looks at the project's files
	Notes                     // helps only the agent: to-do lists, skills
	Edits                     // changes files
	Runs                      // runs commands
	Fetches                   // reads from the web
	Spawns                    // starts other agents
)

// Tools are a host's own, as it offered them when tried.
type Tools []Tool

// Names returns the names of the tools with some effects, including those of
// older versions.
func (t Tools) Names(does ...Effect) (names []string) {
	for _, tool := range t {
		if slices.Contains(does, tool.Does) {
			names = append(names, tool.Name)
		}
	}
	return names
}

// Current returns the tools that newer versions still have.
func (t Tools) Current() Tools {
	return slices.DeleteFunc(slices.Clone(t), func(tool Tool) bool { return tool.Old })
}

// Effect returns what the tool of this name does, ignoring case, or the zero
// value if there is no such tool.
func (t Tools) Effect(name string) Effect {
	if own, found := t.find(name); found {
		return own.Does
	}
	return 0
}

// find returns the tool of a name, ignoring case.
func (t Tools) find(name string) (Tool, bool) {
	i := slices.IndexFunc(t, func(tool Tool) bool { return strings.EqualFold(tool.Name, name) })
	if i < 0 {
		return Tool{}, false
	}
	return t[i], true
}
