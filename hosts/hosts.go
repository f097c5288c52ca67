// Package hosts is what flame knows of the programs that agents live in: a Host
// is one of them, and what differs between them is in that host's own package.
// What they share is here: the registry, the machine that setups act on and the
// steps of their plans, tools and modes, and flame's own binary.
package hosts

import (
	"strings"
	"time"

	"flame/core"
	"flame/transcripts"
)

// A Host is everything flame knows of one host; that host's package makes it.
// Only Name, Title, Program and On are required; an empty field means that the
// host has no such thing.
type Host struct {
	Name    string // flame's name for it, everywhere
	Title   string // for people
	Program string // its binary, found on PATH
	Adds    string // what a setup adds to it, in words
	ByHand  string // the lines that register flame's server without a setup

	SessionVariable string   // the environment variable that holds the session, for processes inside of it
	FolderVariable  string   // the environment variable that holds the folder in which the session was started
	Variables       []string // set for processes inside of it; in an agent they would be mistaken for its own session; the first one is always set
	CallID          string   // the key under which a tool call sends its id to the server

	Settings    []string                 // files and folders that give a folder its own settings
	Takes       func(model string) bool  // nil: any
	Tools       Tools                    // its own
	Common      bool                     // its tool names are the common ones, through which tools are translated
	Joint       string                   // separates the parts of its names for tools of MCP servers
	Agents      map[string][]string      // built in, with the tools that they lack
	Keys        []Key                    // of definitions, which only it understands
	Shared      bool                     // one permission covers all its tools that change files
	Rules       []string                 // its permissions that are not tied to a tool
	Definitions func(m Machine) []Folder // returns where it looks for definitions of agents, in ascending precedence

	Logs   transcripts.Formats    // the formats of its logs
	LogsAt string                 // where the logs of some project are, as an example for people
	Prints *transcripts.Format    // the format that its program prints when it runs an agent
	Store  func(m Machine) string // returns the path of its one log of all sessions; nil: each session has its own

	Hook         Hook                      // handles its events
	Calls        *Calls                    // how its events reach a running server; nil: none does
	Patience     time.Duration             // how long the host waits for the hook's answer
	Keeps        func(event []byte) []byte // returns what is worth keeping of an event that could not be handled in time; nil: all of it
	Streams      bool                      // its plugin starts one flame hook --stream for all its events
	Gone         func(ids []string) []byte // makes the event that the sessions with these ids have ended with their process
	Events       func() []EventDoc         // documents what Hook does with each
	On           func(m Machine) Client    // returns its program on a machine
	Wire         *Wire                     // how it speaks with its model; nil: flame has no gateway for it
	BaseVariable string                    // the environment variable that holds the base URL of its model's API
	// SetsVariable returns a file among the project's own settings that may set an
	// environment variable for the host's processes; empty if none does. nil: a project
	// cannot set any.
	SetsVariable func(m Machine, name string) (file string)
	StatusLine   *StatusLine // that it shows; nil: it shows none
	Behind       Fronted     // how a command line of its program runs behind a gateway; nil: none does
}

// A Client is a host's program on a machine.
type Client interface {
	Setup
	Launcher
}

// Installed reports whether the host is on PATH.
func (h Host) Installed(m Machine) bool { _, err := m.LookPath(h.Program); return err == nil }

// Find returns the path of the host's program, or a Problem of kind
// core.ErrNotFound with ByHand as hint.
func (h Host) Find(m Machine) (string, error) {
	path, err := m.LookPath(h.Program)
	if err != nil {
		return "", core.NotFoundf("%s is not installed: no %q on PATH", h.Name, h.Program).
			WithHint("install it and run this again, or register flame by hand:\n%s", h.ByHand)
	}
	return path, nil
}

// RunsModel reports whether the host accepts a model's name.
func (h Host) RunsModel(model string) bool { return h.Takes == nil || h.Takes(model) }

// Knows reports whether the host is known to have a tool; patterns and tools of
// MCP servers are left to the host.
func (h Host) Knows(tool string) bool {
	if strings.ContainsAny(tool, "*?") || strings.Contains(tool, h.Joint) || strings.Contains(tool, "flame") {
		return true
	}
	_, found := h.Tools.find(tool)
	return found
}
