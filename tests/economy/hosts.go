package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

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

// A machine has one host with a scripted model, and flame if it is set up there.
type machine struct {
	*clients.Machine
	top    string
	host   host
	starts []string // the command that starts the host
}

func newMachine(ctx context.Context, h host, server *model.Server, files map[string]string, env []string) *machine {
	top := lo.Must(os.MkdirTemp("", "flame-economy-"))
	m := &machine{top: top, host: h}
	m.Machine = lo.Must(clients.NewMachine(ctx, top, h.name, server.URL, files))
	m.starts = []string{m.Program()}
	m.Env = append(h.settle(m.Place), env...)
	return m
}

// setUp sets flame up for the client, as its user does.
func (m *machine) setUp(ctx context.Context, flame string) {
	lo.Must(m.Run(ctx, flame, "setup", m.host.name))
	if m.host.trusts {
		lo.Must0(clients.TrustHooks(m.Command(ctx, m.Program(), "app-server"), m.Project))
	}
}

// ask has the client answer a prompt, in the given session if there is one, and returns the
// session.
func (m *machine) ask(ctx context.Context, session, prompt string) string {
	args := m.host.next
	if session == "" {
		args = m.host.first
	}
	out := lo.Must(m.Run(ctx, m.starts[0], append(m.starts[1:len(m.starts):len(m.starts)], args(session, prompt)...)...))
	found := m.host.session.FindStringSubmatch(out)
	lo.Must0(found != nil, "%s names no session: %s", m.host.name, clients.Tail([]byte(out)))
	return found[1]
}

// close removes everything. Flame may still write after a session while close tries to.
func (m *machine) close() {
	var err error
	for range 20 {
		if err = os.RemoveAll(m.top); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	lo.Must0(err)
}

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

var ofCodex = host{
	name: clients.Codex, title: "Codex CLI", bytes: 9000,
	tongue: tongue{
		work.Read: func(c work.Call) (string, object) { return shell("cat " + c.File) },
		work.Run:  func(c work.Call) (string, object) { return shell(cmp.Or(c.Command, "cat < "+c.File)) },
		work.Edit: func(c work.Call) (string, object) {
			return shell(fmt.Sprintf("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch\nEOF", c.File, c.Old, c.New))
		},
		work.Delegate: func(c work.Call) (string, object) {
			return "multi_agent_v1__spawn_agent", object{"message": prompt(c.Child)}
		},
		work.Await: func(c work.Call) (string, object) {
			return "multi_agent_v1__wait_agent", object{"targets": spawned.FindStringSubmatch(c.Text), "timeout_ms": 600_000}
		},
	},
	first:   func(_, prompt string) []string { return codex(prompt) },
	next:    func(session, prompt string) []string { return codex("resume", session, prompt) },
	session: regexp.MustCompile(`"thread_id":"([0-9a-f-]+)"`),
	settle:  settleCodex,
	trusts:  true,
}

// shell is a command in Codex's only tool for files.
func shell(command string) (string, object) { return "exec_command", object{"cmd": command} }

// spawned finds the id of a subagent that Codex has started.
var spawned = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// codex has no sandbox: it would need rights that a benchmark in a container lacks.
func codex(more ...string) []string {
	return append([]string{"exec", "--json", "--skip-git-repo-check", "--model", codexModel, "--dangerously-bypass-approvals-and-sandbox"}, more...)
}

// codexModel is the newest of Codex's models to which it offers its tools as such, not as JavaScript.
const codexModel = "gpt-5.5"

// settleCodex has Codex know the model as it does, but with a window so large that it never
// compacts, and with all tools in its requests: the scripted model cannot search for them.
func settleCodex(p clients.Place) []string {
	catalog := filepath.Join(p.Home, ".codex", "models.json")
	env := lo.Must(p.Settle(clients.Codex, fmt.Sprintf("model_catalog_json = %q", catalog)))
	cmd := exec.Command(filepath.Join(p.Bin, clients.Programs[clients.Codex].Name), "debug", "models", "--bundled")
	cmd.Env = append(clients.Environment(p.Home, p.Bin, p.URL), env...)
	out := lo.Must(cmd.Output())
	var known struct {
		Models []object `json:"models"`
	}
	lo.Must0(json.Unmarshal(out, &known))
	known.Models = slices.DeleteFunc(known.Models, func(m object) bool { return m["slug"] != codexModel })
	lo.Must0(len(known.Models) == 1, "codex does not know "+codexModel)
	known.Models[0]["context_window"], known.Models[0]["max_context_window"] = window, window
	known.Models[0]["supports_search_tool"] = false
	lo.Must0(os.WriteFile(catalog, lo.Must(json.Marshal(known)), 0o644))
	return env
}

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
