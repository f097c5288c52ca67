package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/samber/lo"

	"flame/tests/clients"
	"flame/tests/economy/work"
)

var ofClaudeCode = host{
	name: clients.ClaudeCode, title: "Claude Code", bytes: 8550,
	tongue: tongue{
		work.Read: func(c work.Call) (string, object) { return "Read", object{"file_path": c.File} },
		work.Run: func(c work.Call) (string, object) {
			return "Bash", object{"command": cmp.Or(c.Command, "cat "+c.File), "description": "run it"}
		},
		work.Edit: func(c work.Call) (string, object) {
			return "Edit", object{"file_path": c.File, "old_string": c.Old, "new_string": c.New}
		},
		work.Ask: func(c work.Call) (string, object) {
			options := []object{{"label": "yes", "description": "as it is"}, {"label": "no", "description": "another way"}}
			return "AskUserQuestion", object{"questions": []object{{"question": c.Text, "header": "How", "multiSelect": false, "options": options}}}
		},
		work.Refuse: func(c work.Call) (string, object) {
			return "Bash", object{"command": c.Command, "description": "clean up"}
		},
		work.List: func(c work.Call) (string, object) {
			return "TodoWrite", object{"todos": c.Todos("activeForm", "Working")}
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
	settle:  func(clients.Place) []string { return nil },
	talk:    talkToClaude, compact: "/compact",
}

// talkToClaude has the client answer a prompt, and answers what it asks: its questions, and whether a tool may
// be used.
func talkToClaude(ctx context.Context, m *machine, session, prompt string, dialogs map[string]string) string {
	args := append(m.starts[1:len(m.starts):len(m.starts)], "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default", "--model", modelName)
	if session != "" {
		args = append(args, "--resume", session)
	}
	cmd := m.Command(ctx, m.starts[0], args...)
	in := lo.Must(cmd.StdinPipe())
	out := lo.Must(cmd.StdoutPipe())
	lo.Must0(cmd.Start())
	say, lines := json.NewEncoder(in), json.NewDecoder(out)
	lo.Must0(say.Encode(object{"type": "user", "message": object{"role": "user", "content": prompt}}))
	for {
		var line claudeLine
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		lo.Must0(err)
		session = cmp.Or(line.Session, session)
		switch line.Type {
		case "control_request":
			lo.Must0(say.Encode(object{"type": "control_response", "response": object{
				"subtype": "success", "request_id": line.ID, "response": line.answer(dialogs),
			}}))
		case "result":
			lo.Must0(in.Close())
		}
	}
	lo.Must0(cmd.Wait())
	return session
}

// A claudeLine is a line of the client's output.
type claudeLine struct {
	Type    string `json:"type"`
	Session string `json:"session_id"`
	ID      string `json:"request_id"`
	Request struct {
		Input object `json:"input"`
	} `json:"request"`
}

// answer is what the user says to a request for a permission.
func (l claudeLine) answer(dialogs map[string]string) object {
	input := l.Request.Input
	command, _ := input["command"].(string)
	if reason, refused := dialogs[command]; refused {
		return object{"behavior": "deny", "message": reason}
	}
	if _, asks := input["questions"]; asks {
		answers := object{}
		for question, answer := range dialogs {
			if text, err := json.Marshal(input); err == nil && strings.Contains(string(text), question) {
				answers[question] = answer
			}
		}
		input["answers"] = answers
	}
	return object{"behavior": "allow", "updatedInput": input}
}

func claude(prompt string, more ...string) []string {
	args := []string{"-p", "--output-format", "json", "--model", modelName, "--permission-mode", "bypassPermissions"}
	return append(append(args, more...), "--", prompt)
}
