package hosts

import (
	"slices"
	"strings"
)

// A Tool is one of a host's own. By Does it is known what flame must take away
// where an agent may only read, so a tool that changes anything must not be without.
type Tool struct {
	Name string
	Does Effect
	Old  bool     // only older versions have it
	Same []string // names that the common vocabulary has for it; empty in the host whose names that are
}

// An Effect is what a tool does; the zero value is nothing that flame must know of.
type Effect int

// What tools do to the world.
const (
	Reads   Effect = iota + 1 // looks at the project's files
	Notes                     // helps the agent alone: lists of what is to do, skills
	Edits                     // changes files
	Runs                      // runs commands
	Fetches                   // reads from the web
	Spawns                    // starts other agents
)

// Tools are a host's own, as it offered them when it was tried.
type Tools []Tool

// Names returns the names of the tools of some effects, those of older versions too.
func (t Tools) Names(does ...Effect) (names []string) {
	for _, tool := range t {
		if slices.Contains(does, tool.Does) {
			names = append(names, tool.Name)
		}
	}
	return names
}

// Current returns the tools that newer versions have too.
func (t Tools) Current() Tools {
	return slices.DeleteFunc(slices.Clone(t), func(tool Tool) bool { return tool.Old })
}

// Effect returns what a tool of this name does, in whatever case; the zero value of
// one that is not there.
func (t Tools) Effect(name string) Effect {
	if own, found := t.find(name); found {
		return own.Does
	}
	return 0
}

// find returns the tool of a name, in whatever case.
func (t Tools) find(name string) (Tool, bool) {
	i := slices.IndexFunc(t, func(tool Tool) bool { return strings.EqualFold(tool.Name, name) })
	if i < 0 {
		return Tool{}, false
	}
	return t[i], true
}
