package main

import (
	"cmp"
	"regexp"

	"github.com/samber/lo"

	"flame/tests/clients"
	"flame/tests/economy/work"
)

var ofGemini = host{
	name: clients.Gemini, title: "Gemini CLI", bytes: 9000,
	tongue: tongue{
		work.Read: func(c work.Call) (string, object) { return "read_file", object{"file_path": c.File} },
		work.Run: func(c work.Call) (string, object) {
			return "run_shell_command", object{"command": cmp.Or(c.Command, "cat "+c.File), "description": "run it"}
		},
		work.Edit: func(c work.Call) (string, object) {
			return "replace", object{"file_path": c.File, "instruction": "settle it", "old_string": c.Old, "new_string": c.New}
		},
		work.Delegate: func(c work.Call) (string, object) {
			return "invoke_agent", object{"agent_name": "generalist", "prompt": prompt(c.Child)}
		},
		work.Finish: func(c work.Call) (string, object) {
			return "complete_task", object{"result": object{"response": c.Text}}
		},
	},
	first:   func(_, prompt string) []string { return gemini(prompt) },
	next:    func(session, prompt string) []string { return gemini(prompt, "--resume", session) },
	session: regexp.MustCompile(`"session_id":"([0-9a-f-]+)"`),
	settle: func(p clients.Place) []string {
		lo.Must0(p.TrustFolder())
		return lo.Must(p.Settle(clients.Gemini))
	},
}

func gemini(prompt string, more ...string) []string {
	args := []string{"--prompt", prompt, "--output-format", "stream-json", "--model", "gemini-2.5-pro", "--approval-mode", "yolo"}
	return append(args, more...)
}
