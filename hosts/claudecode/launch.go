package claudecode

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/hosts"
)

// Launch returns the command for a child: print mode, which never prompts, with
// its output line by line. The user's settings apply to it as to its parent, so
// that their denials bind; ours only take away.
func (h Client) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	program, err := facts().Find(h.Machine)
	if err != nil {
		return hosts.Launch{}, err
	}
	servers, err := h.servers(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	hooks, err := settings(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	permissions, err := h.permissions(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	args := append([]string{program, "-p", "--output-format", "stream-json", "--verbose"}, session(c)...)
	args = append(append(args, permissions...), servers...)
	for _, option := range []struct{ name, value string }{
		{"--settings", hooks}, {"--append-system-prompt", c.System}, {"--model", c.Model}, {"--effort", c.Effort},
		{"--max-turns", positive(float64(c.MaxTurns))}, {"--max-budget-usd", positive(c.CostUSD)},
	} {
		if option.value != "" {
			args = append(args, option.name+"="+option.value) // a value may begin with a hyphen
		}
	}
	return hosts.Launch{Command: args, Stdin: prompt(c)}, nil
}

// session returns the option that sets the child's session.
func session(c hosts.LaunchSpec) []string {
	if c.Resume {
		return []string{"--resume=" + c.Session}
	}
	return []string{"--session-id=" + c.Session}
}

// prompt returns what the child reads first.
func prompt(c hosts.LaunchSpec) string {
	if first := text(c.HostKeys["initialPrompt"]); first != "" && !c.Resume {
		return first + "\n\n" + c.Prompt
	}
	return c.Prompt
}

// settings returns the hooks of the child's definition as settings of its own,
// or "" if it has none.
func settings(c hosts.LaunchSpec) (string, error) {
	hooks, given := c.HostKeys["hooks"]
	if !given {
		return "", nil
	}
	all, err := json.Marshal(map[string]any{"hooks": hooks})
	return string(all), err
}

// servers returns the options for the child's MCP servers. They are part of the
// command itself: the child could change a file before it resumes.
func (h Client) servers(c hosts.LaunchSpec) (options []string, err error) {
	if c.Strange || c.Tools.Limited || !h.hasFlame() || c.HostKeys["mcpServers"] != nil {
		config, err := h.mcpConfig(c)
		if err != nil {
			return nil, err
		}
		options = []string{"--mcp-config", string(config)}
	}
	if c.Strange || c.Tools.Limited && !slices.ContainsFunc(c.Tools.Allowed, isForeign) {
		options = append(options, "--strict-mcp-config")
	}
	if c.Strange {
		options = append(options, "--setting-sources", "user")
	}
	return options, nil
}

// permissions returns the options for mode and tools. Claude Code's own plan
// mode refuses every tool that writes, flame's among them, and hands shell
// commands to a check that headless runs fail (observed). So a read-only child
// is one for which everything not allowed is denied, and what changes things is
// removed, except for commands that a person has allowed. MCP tools are asked
// for one by one.
func (h Client) permissions(c hosts.LaunchSpec) ([]string, error) {
	projects, err := h.denials()
	if err != nil {
		return nil, err
	}
	denied := concrete(c.Tools.Denied)
	mode, allowed := c.Mode, []string{}
	for _, server := range servers {
		allowed = append(allowed, strings.TrimSuffix(server.prefix, "__")) // all its tools
	}
	ruled := func(tool string) bool {
		return slices.ContainsFunc(c.Trusted, func(rule string) bool { return strings.HasPrefix(rule, tool+"(") })
	}
	if mode == hosts.ModePlan {
		mode = hosts.ModeDontAsk
		denied = append(denied, slices.DeleteFunc(tools.Names(hosts.EffectEdit, hosts.EffectRun), ruled)...)
	}
	if mode == hosts.ModeBypass && slices.ContainsFunc(c.Tools.Allowed, isRuled) {
		mode = hosts.ModeAcceptEdits // it obeys the rules
		allowed = append(allowed, slices.DeleteFunc(slices.Clone(c.Tools.Allowed), func(tool string) bool { return !isRuled(tool) })...)
	}
	args := []string{"--permission-mode", string(mode)}
	if c.Tools.Limited {
		args = append(args, "--tools", strings.Join(builtins(c.Tools.Allowed), ","))
	}
	for _, rule := range c.Trusted {
		if isRuled(rule) || isForeign(rule) {
			allowed = append(allowed, rule)
		}
	}
	if denied = append(denied, projects...); len(denied) > 0 {
		args = append(args, "--disallowedTools", strings.Join(denied, ","))
	}
	return append(args, "--allowedTools", strings.Join(allowed, ",")), nil
}

func isRuled(tool string) bool { return strings.Contains(tool, "(") }

// builtins returns the names of Claude Code's own tools among those allowed.
func builtins(allowed []string) (names []string) {
	for _, rule := range allowed {
		name, _, _ := strings.Cut(rule, "(")
		if !strings.HasPrefix(name, "mcp__") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// denials returns what the project's settings deny, which Claude Code would not
// see in a subfolder or a worktree. An agent is not started if they cannot be
// read: Claude Code may follow a link that flame does not. Whatever is not a
// rule is left out, as it could absorb its neighbours.
func (h Client) denials() (denied []string, err error) {
	for _, file := range h.projectSettings() {
		var settings struct {
			Permissions struct {
				Deny []string `json:"deny"`
			} `json:"permissions"`
		}
		if err := h.read(hosts.ScopeProject, file, &settings); err != nil && !errors.Is(err, errNoJSON) {
			return nil, err
		}
		denied = append(denied, slices.DeleteFunc(settings.Permissions.Deny, func(rule string) bool { return !hosts.ValidTool(rule) })...)
	}
	return denied, nil
}

// projectSettings returns the paths of Claude Code's settings files in the
// project.
func (h Client) projectSettings() []string {
	dir := filepath.Join(h.Machine.ProjectDir, ".claude")
	return []string{filepath.Join(dir, "settings.json"), filepath.Join(dir, "settings.local.json")}
}

// concrete returns denials as Claude Code reads them: it knows no pattern
// before a tool's name.
func concrete(denied []string) (rules []string) {
	for _, rule := range denied {
		tool, pattern := strings.CutPrefix(rule, "*")
		if !pattern {
			rules = append(rules, rule)
			continue
		}
		for _, server := range servers {
			rules = append(rules, server.prefix+tool)
		}
	}
	return rules
}

// isForeign reports whether a rule is about another MCP server's tools.
func isForeign(rule string) bool {
	return strings.HasPrefix(rule, "mcp__") && ownTool(rule) == ""
}

// hasFlame reports whether Claude Code starts a flame server on its own: by our
// plugin, or by the user's entry. Two would offer every tool twice.
func (h Client) hasFlame() bool {
	if found, err := h.registrations(); err == nil && len(found) > 0 {
		return true
	}
	return h.hasPlugin()
}

// hasPlugin reports whether our plugin is on, for the user or in the project.
func (h Client) hasPlugin() bool {
	return h.enables(hosts.ScopeUser, filepath.Join(h.Machine.Home, ".claude", "settings.json")) ||
		slices.ContainsFunc(h.projectSettings(), func(file string) bool { return h.enables(hosts.ScopeProject, file) })
}

// enables reports whether a settings file switches our plugin on.
func (h Client) enables(scope hosts.Scope, file string) bool {
	var settings struct {
		Plugins map[string]any `json:"enabledPlugins"`
	}
	if h.read(scope, file, &settings) != nil {
		return false
	}
	for name, enabled := range settings.Plugins {
		if strings.HasPrefix(name, "flame@") && enabled == true {
			return true
		}
	}
	return false
}

// mcpConfig returns the servers of a child: flame's, and those of its definition. Where our
// plugin is on, its hooks run in the child too, whose server may be left out: then the
// child's own bears the name that they call.
func (h Client) mcpConfig(c hosts.LaunchSpec) ([]byte, error) {
	servers := map[string]any{}
	if own, given := c.HostKeys["mcpServers"]; given && json.Unmarshal(own, &servers) != nil {
		servers = map[string]any{} // a list names servers of the user, which are there anyway
	}
	name, args := "flame", []string{"serve"}
	if h.hasPlugin() {
		name, args = pluginServer, servesHooks()
	}
	servers[name] = map[string]any{"type": "stdio", "command": c.Flame, "args": args}
	return json.Marshal(map[string]any{"mcpServers": servers})
}

// text returns a JSON string, or "" for anything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// positive prints a number greater than 0, and "" for others.
func positive(n float64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
