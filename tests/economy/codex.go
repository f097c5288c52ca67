package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"flame/tests/clients"
	"flame/tests/economy/work"
)

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
func settleCodex(p clients.Place) ([]string, error) {
	catalog := filepath.Join(p.Home, ".codex", "models.json")
	env, err := p.Settle(clients.Codex, fmt.Sprintf("model_catalog_json = %q", catalog))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(p.Bin, clients.Programs[clients.Codex].Name), "debug", "models", "--bundled")
	cmd.Env = append(clients.Environment(p.Home, p.Bin, p.URL), env...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("codex debug models: %w", err)
	}
	var known struct {
		Models []object `json:"models"`
	}
	if err := json.Unmarshal(out, &known); err != nil {
		return nil, err
	}
	known.Models = slices.DeleteFunc(known.Models, func(m object) bool { return m["slug"] != codexModel })
	if len(known.Models) != 1 {
		return nil, fmt.Errorf("codex does not know %s", codexModel)
	}
	known.Models[0]["context_window"], known.Models[0]["max_context_window"] = window, window
	known.Models[0]["supports_search_tool"] = false
	text, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	return env, os.WriteFile(catalog, text, 0o644)
}
