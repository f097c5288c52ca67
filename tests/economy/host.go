package main

import (
	"context"
	"path/filepath"
	"regexp"

	"flame/tests/clients"
	"flame/tests/economy/work"
	"flame/tests/model"
)

// A host has the benchmark's knowledge of a client.
type host struct {
	name   string
	title  string // for readers
	bytes  int    // mean size of a tool's output, which gives the whole work its length
	tongue tongue
	// first and next are the arguments that answer a prompt, the first one of a session and a
	// later one, each in a process of its own, like users of a host's print mode. So the work of
	// host and flame at a resume counts, too.
	first, next func(session, prompt string) []string
	// session finds the session's id in the output of the first prompt's process.
	session *regexp.Regexp
	// settle has the client ask the model and trust the project, and returns the variables that it
	// needs for that beyond those of all clients.
	settle func(p clients.Place) (env []string)
	trusts bool // it runs hooks only after a review
	// talk is ask, and answers the host's questions; nil: the host asks none.
	talk    func(ctx context.Context, m *machine, session, prompt string, dialogs map[string]string) string
	compact string // the prompt that has it compact; empty: it compacts when its window is full
}

// The model binds its thinking, and its window is so large that no host compacts.
const (
	modelName = "claude-opus-5-5"
	window    = 1_000_000
)

var hosts = []host{ofOpenCode, ofClaudeCode, ofCodex, ofGemini}

// A tongue has the host's tool for each kind of call.
type tongue map[work.Kind]func(c work.Call) (tool string, input object)

type object = map[string]any

// A speaker writes calls for a host that works in this folder: its tools take whole paths.
type speaker struct {
	tongue  tongue
	project string
}

// Tool writes a call as the host's tool takes it.
func (s speaker) Tool(c work.Call) (model.Tool, bool) {
	c.File = filepath.Join(s.project, c.File)
	say, ok := s.tongue[c.Kind]
	if !ok {
		return model.Tool{}, false
	}
	tool, input := say(c)
	return model.Tool{Name: tool, Input: input}, true
}

func prompt(c *work.Child) string { return c.Key + ": " + c.Task + "." }
