package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"

	"flame/tests/clients"
	"flame/tests/economy/work"
	"flame/tests/model"
)

// A host has the benchmark's knowledge of a client.
type host struct {
	name   string
	bytes  int // mean size of a tool's output, which gives the whole work its length
	tongue tongue
	// first and next are the arguments that answer a prompt, the first one of a session and a
	// later one, each in a process of its own, like users of a host's print mode. So the work of
	// host and flame at a resume counts, too.
	first, next func(session, prompt string) []string
	// session finds the session's id in the output of the first prompt's process.
	session *regexp.Regexp
	config  func(url string) (file, text string)
}

// The model binds its thinking, and its window is so large that no host compacts.
const (
	modelName = "claude-opus-5-5"
	window    = 1_000_000
)

var hosts = []host{
	{
		name: clients.OpenCode, bytes: 9400,
		tongue: tongue{
			work.Read: func(c work.Call) (string, object) { return "read", object{"filePath": c.File} },
			work.Run: func(c work.Call) (string, object) {
				return "bash", object{"command": "cat " + c.File, "description": "print it"}
			},
			work.Edit: func(c work.Call) (string, object) {
				return "edit", object{"filePath": c.File, "oldString": c.Old, "newString": c.New}
			},
			work.Delegate: func(c work.Call) (string, object) {
				return "task", object{"description": c.Child.Task, "prompt": prompt(c.Child), "subagent_type": "general"}
			},
		},
		first: func(_, prompt string) []string { return []string{"run", "--format", "json", prompt} },
		next: func(session, prompt string) []string {
			return []string{"run", "--format", "json", "--session", session, prompt}
		},
		session: regexp.MustCompile(`"sessionID":"(ses_\w+)"`),
		config:  openCodeConfig,
	},
	{
		name: clients.ClaudeCode, bytes: 8550,
		tongue: tongue{
			work.Read: func(c work.Call) (string, object) { return "Read", object{"file_path": c.File} },
			work.Run: func(c work.Call) (string, object) {
				return "Bash", object{"command": "cat " + c.File, "description": "print it"}
			},
			work.Edit: func(c work.Call) (string, object) {
				return "Edit", object{"file_path": c.File, "old_string": c.Old, "new_string": c.New}
			},
			work.Delegate: func(c work.Call) (string, object) {
				return "Agent", object{
					"description": c.Child.Task, "prompt": prompt(c.Child), "subagent_type": "general-purpose", "run_in_background": false,
				}
			},
		},
		first:   func(_, prompt string) []string { return claude(prompt) },
		next:    func(session, prompt string) []string { return claude(prompt, "--resume", session) },
		session: regexp.MustCompile(`"session_id":"([\w-]+)"`),
		config:  func(string) (string, string) { return ".claude/settings.json", "{}" },
	},
}

func claude(prompt string, more ...string) []string {
	args := []string{"-p", "--output-format", "json", "--model", modelName, "--permission-mode", "bypassPermissions"}
	return append(append(args, more...), "--", prompt)
}

// openCodeConfig has OpenCode use its format for a model that binds its thinking.
func openCodeConfig(url string) (file, text string) {
	config, _ := json.Marshal(object{ // it has only texts and numbers
		"model": "anthropic/" + modelName, "small_model": "anthropic/" + modelName, "permission": object{"*": "allow"},
		"subagent_depth": 3,
		"agent":          object{"general": object{"permission": object{"task": "allow"}}},
		"provider": object{"anthropic": object{
			"npm": "@ai-sdk/anthropic", "options": object{"baseURL": url + "/v1", "apiKey": "dummy"},
			"models": object{modelName: object{
				"name": "Scripted", "reasoning": true, "tool_call": true,
				"limit":   object{"context": window, "output": 32_000},
				"options": object{"thinking": object{"type": "adaptive"}},
			}},
		}},
	})
	return "opencode.json", string(config)
}

// A tongue has the host's tool for each kind of call.
type tongue map[work.Kind]func(c work.Call) (tool string, input object)

type object = map[string]any

// A speaker writes calls for a host that works in this folder: its tools take whole paths.
type speaker struct {
	tongue  tongue
	project string
}

// Tool writes a call as the host's tool takes it.
func (s speaker) Tool(c work.Call) model.Tool {
	c.File = filepath.Join(s.project, c.File)
	tool, input := s.tongue[c.Kind](c)
	return model.Tool{Name: tool, Input: input}
}

func prompt(c *work.Child) string { return c.Key + ": " + c.Task + "." }
