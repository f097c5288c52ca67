package codex

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
)

// Launch returns the command for a child: exec, which never asks, with its output line by line. Its
// sandbox follows from its mode. The user's settings apply to it as to its parent; ours come later
// and only take away.
func (h Client) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	codex, err := facts().On(h.Machine)
	if err != nil {
		return hosts.Launch{}, err
	}
	sandbox, err := sandboxOf(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	servers, err := h.servers(context.Background(), codex, c)
	if err != nil {
		return hosts.Launch{}, err
	}
	args := []string{codex.Path, "exec", "--json", "--skip-git-repo-check"}
	if c.Resume {
		args = []string{codex.Path, "exec", "resume", "--json", "--skip-git-repo-check"}
	}
	settings := append([][2]string{{"approval_policy", "never"}, {"sandbox_mode", sandbox}}, forbidden(c)...)
	for _, option := range [][2]string{{"developer_instructions", c.System}, {"model", c.Model}, {"model_reasoning_effort", c.Effort}} {
		if option[1] != "" {
			settings = append(settings, option)
		}
	}
	for _, s := range settings {
		args = append(args, "-c", s[0]+"="+literal(s[1]))
	}
	for _, s := range servers {
		args = append(args, "-c", s)
	}
	if c.Resume {
		args = append(args, c.Session)
	}
	return hosts.Launch{Command: append(args, "-"), Stdin: c.Prompt}, nil
}

// literal returns a text as a value of TOML: true and false are what they are.
func literal(text string) string {
	if text == "true" || text == "false" {
		return text
	}
	return hooks.TOML(text)
}

// list returns texts as a value of TOML.
func list(texts []string) string {
	return "[" + strings.Join(lo.Map(texts, func(text string, _ int) string { return hooks.TOML(text) }), ",") + "]"
}

// The names of Codex's sandboxes for commands and patches.
const (
	readOnly = "read-only"
	writes   = "workspace-write"
	all      = "danger-full-access"
)

// sandboxOf returns the sandbox of a child. A child has no person to ask, so in a mode that asks it
// only reads, as does a child that lacks the tools that change anything: Codex reads files by commands, and its
// sandbox keeps these from writing and from the network.
func sandboxOf(c hosts.LaunchSpec) (string, error) {
	for _, rule := range slices.Concat(c.Tools.Allowed, c.Tools.Denied) {
		if name, arguments := hosts.SplitRule(rule); arguments != "" && tools.Effect(name) != 0 {
			return "", core.Invalidf("Codex CLI knows no rules for the arguments of tools, as in %q", rule).
				WithHint("name the tool without a rule, or choose another host")
		}
	}
	permits := func(effect hosts.Effect) bool {
		return slices.ContainsFunc(tools.Names(effect), c.Tools.Permits)
	}
	switch {
	case !permits(hosts.EffectEdit) || !permits(hosts.EffectRun) || slices.Contains(c.Tools.Denied, "Write"): // a patch also makes files
		return readOnly, nil
	case c.Mode == hosts.ModeBypass:
		return all, nil
	case c.Mode == hosts.ModeAcceptEdits:
		return writes, nil
	}
	return readOnly, nil
}

// forbidden returns the settings that take tools away.
func forbidden(c hosts.LaunchSpec) (settings [][2]string) {
	if !c.Tools.Permits(spawnTool) {
		settings = append(settings, [2]string{"features.multi_agent", "false"}, [2]string{"features.multi_agent_v2", "false"})
	}
	narrow := c.Mode != hosts.ModeBypass && c.Mode != hosts.ModeAcceptEdits
	if narrow || !c.Tools.Permits("web_search") {
		settings = append(settings, [2]string{"web_search", "disabled"})
	}
	return settings
}

// without returns the setting with which Codex does not start a server. Which one it is depends on
// whether a plugin brings the server, which Codex does not say, so Codex is asked what it makes of
// each.
func without(ctx context.Context, codex hosts.Program, name string) (string, error) {
	for _, form := range []string{"mcp_servers.%s.enabled=false", `mcp_servers.%s={command="true",enabled=false}`} {
		setting := fmt.Sprintf(form, name)
		var list []listedServer
		if codex.RunJSON(ctx, &list, "mcp", "list", "--json", "-c", setting) != nil {
			continue
		}
		if slices.ContainsFunc(list, func(s listedServer) bool { return s.Name == name && !s.Enabled }) {
			return setting, nil
		}
	}
	return "", core.Invalidf("Codex CLI cannot leave out the MCP server %q, whose tools the agent may not use", name).
		WithHint("allow mcp__%s__* among its tools, or choose another host", name)
}

// servers returns the settings of the child's MCP servers: flame's, if Codex has none, and none of
// the user's whose tools the child may not use.
func (h Client) servers(ctx context.Context, codex hosts.Program, c hosts.LaunchSpec) (settings []string, err error) {
	var known []listedServer
	if err := codex.RunJSON(ctx, &known, "mcp", "list", "--json"); err != nil {
		return nil, err
	}
	has := false
	for _, s := range known {
		own := hosts.IsFlame(s.Name, s.Transport.Command)
		has = has || own && s.Enabled
		if (c.Strange || !c.Tools.Permits("mcp__"+s.Name+"__any")) && !own && s.Enabled {
			off, err := without(ctx, codex, s.Name)
			if err != nil {
				return nil, err
			}
			settings = append(settings, off)
		}
	}
	if has {
		return settings, nil
	}
	return append(settings, "mcp_servers.flame.command="+literal(c.Flame), "mcp_servers.flame.args="+list(hosts.ServesLean()),
		"mcp_servers.flame.env_vars="+list(h.passed())), nil
}
