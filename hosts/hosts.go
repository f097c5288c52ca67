// Package hosts is what flame knows of the programs that agents live in: a Host is one
// of them, and what differs between them stands in that host's own package. What all
// share is here: the registry, the machine that setups act on and the steps of their
// plans, tools and modes, and flame's own binary.
package hosts

import (
	"strings"
	"time"

	"flame/core"
	"flame/transcripts"
)

// A Host is all that flame knows of one host, made by that host's package. Only Name,
// Title, Program and On are needed; where a field is empty, the host has no such thing.
type Host struct {
	Name    string // that flame gives it everywhere
	Title   string // for people
	Program string // its binary, found on PATH
	Adds    string // what a setup puts into it, in words
	ByHand  string // the lines that register flame's server without a setup

	SessionVariable string   // the variable by which it tells what runs inside of it the session
	FolderVariable  string   // the variable by which it tells the folder that the session was started in
	Variables       []string // that it sets for what runs inside of it, where in an agent they would pass for its own session; the first one always
	CallID          string   // the key under which a call of a tool tells its id to the server

	Settings    []string                 // files and folders by which a folder has settings of its own
	Takes       func(model string) bool  // nil: any
	Tools       Tools                    // its own
	Common      bool                     // its tools' names are the common ones, by way of which tools are translated
	Joint       string                   // stands in the names that it gives to tools of MCP servers
	Agents      map[string][]string      // that it brings, with the tools that they lack
	Keys        []Key                    // of definitions, that only it understands
	Shared      bool                     // one permission is about all its tools that change files
	Rules       []string                 // its permissions that are about no tool
	Definitions func(m Machine) []Folder // returns where it looks for definitions of agents, from the lowest precedence to the highest

	Logs   transcripts.Formats    // the formats of its logs
	LogsAt string                 // where those of some project are, as an example for people
	Prints *transcripts.Format    // which of them its program prints when it runs an agent
	Store  func(m Machine) string // returns the path of the one log that it keeps of all its sessions; nil: each has its own

	Hook     Hook                   // takes in its events
	Patience time.Duration          // after which the host is let go on without the hook's answer
	Events   func() []EventDoc      // says what Hook does with each
	On       func(m Machine) Client // reaches its program on a machine
}

// A Client is a host's program on a machine.
type Client interface {
	Setup
	Launcher
}

// Installed reports whether the host is on PATH.
func (h Host) Installed(m Machine) bool { _, err := m.LookPath(h.Program); return err == nil }

// Find returns the path of the host's program; without it there is a Problem of kind
// core.ErrNotFound, with ByHand as hint.
func (h Host) Find(m Machine) (string, error) {
	path, err := m.LookPath(h.Program)
	if err != nil {
		return "", core.NotFoundf("%s is not installed: no %q on PATH", h.Name, h.Program).
			WithHint("install it and run this again, or register flame by hand:\n%s", h.ByHand)
	}
	return path, nil
}

// RunsModel reports whether a model's name is one that the host takes.
func (h Host) RunsModel(model string) bool { return h.Takes == nil || h.Takes(model) }

// Knows reports whether the host is known to have a tool; patterns and tools of MCP
// servers are for the host to tell.
func (h Host) Knows(tool string) bool {
	if strings.ContainsAny(tool, "*?") || strings.Contains(tool, h.Joint) || strings.Contains(tool, "flame") {
		return true
	}
	_, found := h.Tools.find(tool)
	return found
}
