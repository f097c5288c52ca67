package codex

import (
	"path/filepath"
	"slices"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/hooks"
)

// hookSeconds is how long Codex waits for a hook that hangs; flame itself gives up earlier. At the
// end of a session Codex waits no longer, and tells the user so of a hook that asks for more.
const hookSeconds = 3

// offered returns the marketplace with our plugin, and the plugin's version: it ends in a digest of
// the content, so it changes with the content. Codex asks the user again about hooks of a plugin
// that changed in any file.
func (h Client) offered() (files map[string][]byte, version string) {
	binary := h.Machine.Binary()
	files = map[string][]byte{}
	add := func(name string, document any) { files[name] = hooks.Document(document) }
	server := map[string]any{"command": binary, "args": hosts.ServesLean(), "env_vars": h.passed()}
	add("plugin/.mcp.json", map[string]any{"mcpServers": map[string]any{"flame": server}})
	hook := hooks.Entry{Type: "command", Command: hooks.ShellWord(binary) + " hook " + Name, Timeout: hookSeconds}
	add("plugin/hooks/hooks.json", map[string]any{"hooks": hooks.ByEvent(rows, hook)})
	for _, c := range op.Commands {
		files["plugin/skills/"+c.Name+"/SKILL.md"] = []byte(skill(c))
		files["plugin/skills/"+c.Name+"/agents/openai.yaml"] = []byte(onlyNamed)
	}
	version = "1.0.0+" + hooks.Digest(files)
	add("plugin/"+manifest, map[string]any{
		"name": "flame", "version": version, "description": "Keeps the work of agents as a tree of frames",
		"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json",
	})
	add(".agents/plugins/marketplace.json", map[string]any{
		"name": marketplaceName, "interface": map[string]string{"displayName": "Flame"},
		"plugins": []any{map[string]any{
			"name": "flame", "source": map[string]string{"source": "local", "path": "./plugin"}, "category": "Productivity",
			"policy": map[string]string{"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
		}},
	})
	return files, version
}

// passed returns the variables that the server needs from its environment, and the agents that it
// starts: Codex passes on no others.
func (h Client) passed() []string {
	names := append(lo.Without(h.Settings(), env.HTTPToken), core.AgentVariable, env.Gateway,
		"XDG_DATA_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
	slices.Sort(names)
	return slices.Compact(names)
}

// onlyNamed is the policy of a skill that Codex does not list in each request: the user names it.
const onlyNamed = "policy:\n  allow_implicit_invocation: false\n"

// skill returns a slash command as a skill. Codex has no other form of
// commands in a plugin. The user names it as $flame:NAME and may add a line.
func skill(c op.Command) string {
	line := ""
	if c.Hint != "" {
		line = "\n\nThe line is what follows $flame:" + c.Name + " in the user's message (" + c.Hint + ")."
	}
	return "---\nname: " + c.Name + "\ndescription: " + c.Description + ".\n---\n" + c.Text + line + "\n"
}

// folder returns the marketplace's folder; it must outlast this process and any checkout.
func (h Client) folder() string { return filepath.Join(h.Machine.DataHome(), "flame", "codex") }

// A Client is Codex on a machine (a hosts.Client).
type Client struct {
	Machine  hosts.Machine
	Settings func() []string // names of the variables that flame's server reads
}
