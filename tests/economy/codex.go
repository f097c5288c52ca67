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

	"github.com/samber/lo"

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
