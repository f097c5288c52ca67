package main

import (
	"regexp"

	"flame/tests/clients"
	"flame/tests/economy/work"
)

var ofClaudeCode = host{
	name: clients.ClaudeCode, title: "Claude Code", bytes: 8550,
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
	settle:  func(clients.Place) ([]string, error) { return nil, nil },
}

func claude(prompt string, more ...string) []string {
	args := []string{"-p", "--output-format", "json", "--model", modelName, "--permission-mode", "bypassPermissions"}
	return append(append(args, more...), "--", prompt)
}
