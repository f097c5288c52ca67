package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"

	"github.com/samber/lo"

	"flame/tests/clients"
	"flame/tests/economy/work"
)

var ofOpenCode = host{
	name: clients.OpenCode, title: "OpenCode", bytes: 9400,
	tongue: tongue{
		work.Read: func(c work.Call) (string, object) { return "read", object{"filePath": c.File} },
		work.Run: func(c work.Call) (string, object) {
			return "bash", object{"command": cmp.Or(c.Command, "cat "+c.File), "description": "run it"}
		},
		work.Edit: func(c work.Call) (string, object) {
			return "edit", object{"filePath": c.File, "oldString": c.Old, "newString": c.New}
		},
		work.List: func(c work.Call) (string, object) { return "todowrite", object{"todos": c.Todos("priority", "high")} },
		work.Delegate: func(c work.Call) (string, object) {
			return "task", object{"description": c.Child.Task, "prompt": prompt(c.Child), "subagent_type": "general"}
		},
	},
	first: func(_, prompt string) []string { return []string{"run", "--format", "json", prompt} },
	next: func(session, prompt string) []string {
		return []string{"run", "--format", "json", "--session", session, prompt}
	},
	session: regexp.MustCompile(`"sessionID":"(ses_\w+)"`),
	settle:  settleOpenCode,
}

// settleOpenCode has OpenCode use its format for a model that binds its thinking.
func settleOpenCode(p clients.Place) []string {
	config := lo.Must(json.Marshal(object{
		"model": "anthropic/" + modelName, "small_model": "anthropic/" + modelName, "permission": object{"*": "allow"},
		"subagent_depth": 3, "snapshot": false, // of all files before and after each answer
		"agent": object{"general": object{"permission": object{"task": "allow"}}},
		"provider": object{"anthropic": object{
			"npm": "@ai-sdk/anthropic", "options": object{"baseURL": p.URL + "/v1", "apiKey": "dummy"},
			"models": object{modelName: object{
				"name": "Scripted", "reasoning": true, "tool_call": true,
				"limit":   object{"context": window, "output": 32_000},
				"options": object{"thinking": object{"type": "adaptive"}},
			}},
		}},
	}))
	lo.Must0(os.WriteFile(filepath.Join(p.Project, "opencode.json"), config, 0o644))
	return nil
}
