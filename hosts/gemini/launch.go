package gemini

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
)

// approvals are Gemini CLI's names for the modes. A child has no person to ask: what it would have to
// ask for is refused.
var approvals = map[hosts.Mode]string{
	hosts.ModePlan: "plan", hosts.ModeDontAsk: "default", hosts.ModeDefault: "default", hosts.ModeAcceptEdits: "auto_edit", hosts.ModeBypass: "yolo",
}

// Launch returns the command for a child, which prints its output line by line. The user's settings
// apply to it as to its parent; our rules only take away, except for flame's own tools. These it has
// from our extension: Gemini CLI takes servers from settings files alone.
func (h Client) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	gemini, err := facts().On(h.Machine)
	if err != nil {
		return hosts.Launch{}, err
	}
	if c.Strange {
		return hosts.Launch{}, core.Invalidf("Gemini CLI starts no servers in a folder that is not trusted, and this repository's settings are not to be trusted").
			WithHint("choose another host")
	}
	rules, err := h.rules(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	files := map[string][]byte{"rules.toml": []byte(rules)}
	dir := filepath.Join(c.Dir, Name)
	args := []string{
		gemini.Path, "--output-format", "stream-json", "--approval-mode", approvals[c.Mode], "--skip-trust", "--admin-policy", filepath.Join(dir, "rules.toml"),
	}
	launch := hosts.Launch{Stdin: c.Prompt}
	if c.System != "" {
		launch.Stdin = c.System + "\n\n" + c.Prompt
	}
	if c.Model != "" {
		args = append(args, "--model="+c.Model)
	}
	switch {
	case c.Resume:
		args = append(args, "--resume="+c.Session)
	case c.Session != "":
		args = append(args, "--session-id="+c.Session)
	}
	launch.Command = args
	return launch, hosts.Apply(context.Background(), hosts.WriteFolder(dir, files), func(hosts.SetupStep) {})
}

// The priorities of our rules, the strongest first.
const (
	forbids   = 960
	ofFlame   = 950
	permits   = 940
	otherwise = 930 // for what the rules above do not permit
)

// rules returns the rules of a child.
func (h Client) rules(c hosts.LaunchSpec) (string, error) {
	p := &policy{}
	p.rule("allow", ofFlame, `mcpName = "`+extensionName+`"`, "toolName = ["+strings.Join(h.frameTools(), ", ")+"]")
	if c.Tools.Limited {
		p.rule("deny", otherwise, `toolName = "mcp_*"`)
	}
	for _, tool := range tools {
		if tool.Effect == hosts.EffectRun {
			continue
		}
		if !c.Tools.Permits(tool.Name) && tool.Name != "complete_task" {
			p.rule("deny", forbids, "toolName = "+hooks.TOML(tool.Name))
		}
	}
	for _, entry := range slices.Concat(c.Tools.Allowed, c.Tools.Denied) {
		if name, rule := hosts.SplitRule(entry); rule != "" && tools.Effect(name) != 0 && tools.Effect(name) != hosts.EffectRun {
			return "", core.Invalidf("Gemini CLI knows rules for the arguments of commands only, not as in %q", entry).
				WithHint("name the tool without a rule, or choose another host")
		}
	}
	for _, name := range ofServers(c.Tools.Allowed) {
		p.rule(decision(c, slices.Contains(ofServers(c.Trusted), name)), permits, "toolName = "+hooks.TOML(name))
	}
	for _, name := range ofServers(c.Tools.Denied) {
		p.rule("deny", forbids, "toolName = "+hooks.TOML(name))
	}
	p.commands(c)
	return p.text.String(), nil
}

// decision returns what a rule says of a call that a child may make: without trust Gemini CLI would
// ask, and as no person is there it refuses, unless the mode or the user's own rules allow it.
func decision(c hosts.LaunchSpec, trusted bool) string {
	if c.Mode == hosts.ModeBypass || trusted {
		return "allow"
	}
	return "ask_user"
}

// ofServers returns Gemini CLI's names for those of the entries that are tools of MCP servers.
func ofServers(entries []string) (names []string) {
	for _, entry := range entries {
		name, _ := hosts.SplitRule(entry)
		if rest, common := strings.CutPrefix(name, "mcp__"); common {
			name = "mcp_" + strings.Replace(rest, "__", "_", 1)
		}
		if strings.HasPrefix(name, "mcp_") {
			names = append(names, name)
		}
	}
	return names
}

// commands adds the rules for commands.
func (p *policy) commands(c hosts.LaunchSpec) {
	for _, tool := range tools.Names(hosts.EffectRun) {
		name := "toolName = " + hooks.TOML(tool)
		if !c.Tools.Permits(tool) {
			p.rule("deny", forbids, name)
			continue
		}
		for _, rule := range rulesFor(tool, c.Tools.Denied) {
			p.rule("deny", forbids, name, "commandPrefix = "+hooks.TOML(rule))
		}
		only := rulesFor(tool, c.Tools.Allowed)
		for _, rule := range only {
			p.rule(decision(c, slices.Contains(rulesFor(tool, c.Trusted), rule)), permits, name, "commandPrefix = "+hooks.TOML(rule))
		}
		if len(only) > 0 && !slices.Contains(only, "") {
			p.rule("deny", otherwise, name)
		}
	}
}

// rulesFor returns the beginnings of commands that entries name for a tool; an entry without a rule
// names none.
func rulesFor(tool string, entries []string) (beginnings []string) {
	for _, entry := range entries {
		name, rule := hosts.SplitRule(entry)
		if rule == "" || !strings.EqualFold(name, tool) {
			continue
		}
		beginning := strings.TrimSuffix(strings.TrimPrefix(rule, "("), ")")
		beginnings = append(beginnings, strings.TrimRight(strings.TrimRight(beginning, "*"), ": "))
	}
	return beginnings
}
