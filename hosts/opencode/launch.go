package opencode

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/config/env"
	"flame/hosts"
)

// agentName is OpenCode's name for the agent that a child is; its definition
// lives in the process and affects no other.
const agentName = "flame-agent"

// Launch returns the command for a child: run, which never prompts and refuses
// what would need a prompt. Its configuration adds an agent to the user's own;
// it only takes tools and permissions away.
func (h Client) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	program, err := facts().Find(h.Machine)
	if err != nil {
		return hosts.Launch{}, err
	}
	permission, err := h.permissions(c)
	if err != nil {
		return hosts.Launch{}, err
	}
	config, err := json.Marshal(h.config(c, permission))
	if err != nil {
		return hosts.Launch{}, err
	}
	args := []string{program, "run", "--format", "json", "--agent", agentName}
	if c.Model != "" {
		args = append(args, "--model="+c.Model) // a value may begin with a hyphen
	}
	if c.Resume {
		args = append(args, "--session="+c.Session)
	} else if c.Title != "" {
		args = append(args, "--title="+c.Title)
	}
	env := []string{"OPENCODE_CONFIG_CONTENT=" + plain.Replace(string(config))}
	if c.Strange {
		env = append(env, "OPENCODE_DISABLE_PROJECT_CONFIG=1")
	}
	return hosts.Launch{Command: args, Stdin: c.Prompt, Fatal: "Falling back to default agent", Env: env}, nil
}

// plain has OpenCode take a configuration as it is written: it would put variables and files
// in the place of these words, also within a definition's text, whose author may want to read
// them.
var plain = strings.NewReplacer("{env:", `\u007benv:`, "{file:", `\u007bfile:`)

// config returns what the child's process adds to the user's configuration.
func (h Client) config(c hosts.LaunchSpec, permission permissions) map[string]any {
	agent := map[string]any{"mode": "all", "description": "an agent that flame started", "permission": permission}
	if c.System != "" {
		agent["prompt"] = c.System
	}
	if c.MaxTurns > 0 {
		agent["steps"] = c.MaxTurns
	}
	for _, key := range ownKeys {
		if value, given := c.HostKeys[key.Name]; given {
			agent[key.Name] = value
		}
	}
	config := map[string]any{"agent": map[string]any{agentName: agent}}
	if !h.hasFlame() {
		config["mcp"] = map[string]any{"flame": map[string]any{
			"type": "local", "command": []string{c.Flame, "serve"},
			"environment": map[string]string{env.Tools: cmp.Or(h.Machine.Getenv(env.Tools), hosts.LeanTools)},
		}}
	}
	return config
}

// permissions returns what the child may do. In OpenCode an agent's map
// precedes the user's own, so what it allows is copied from there.
func (h Client) permissions(c hosts.LaunchSpec) (rules permissions, err error) {
	users, err := h.usersPermissions()
	if err != nil {
		return nil, err
	}
	if allowed, limited := within(c); limited {
		rules = rules.add("*", deny)
		for _, tool := range append(allowed, "flame_*") {
			name := permissionOf(tool)
			rules = rules.add(name, narrowed(users.effect(name), rulesFor(name, allowed)))
		}
	}
	for _, tool := range beyond(c) {
		if tool == "edit" || rulesFor(tool, c.Trusted) == nil {
			rules = rules.add(tool, deny)
		}
	}
	for _, tool := range c.Tools.Denied {
		rules = rules.add(permissionOf(tool), deny)
	}
	// In a subfolder or a worktree, OpenCode may not see what the project
	// denies.
	for _, entry := range users {
		if string(entry.effect) == string(deny) && entry.tool != "*" {
			rules = rules.add(entry.tool, deny)
		}
	}
	return rules.settled(), nil
}

// within returns the tools that a child is limited to. A child from another
// host never gets all tools of OpenCode: here no host asks the user before the
// use of tools such as those of MCP servers.
func within(c hosts.LaunchSpec) (allowed []string, limited bool) {
	if c.Tools.Limited || !strict(c) {
		return c.Tools.Allowed, c.Tools.Limited
	}
	return append(tools.Names(hosts.EffectRead, hosts.EffectNote), "edit", "bash", "webfetch", "task"), true
}

// strict reports whether a child may do without asking only what its mode
// names.
func strict(c hosts.LaunchSpec) bool {
	return c.Mode != hosts.ModeBypass && (c.Foreign || c.Mode == hosts.ModeDontAsk)
}

// beyond returns the permissions outside a child's mode.
func beyond(c hosts.LaunchSpec) []string {
	switch {
	case c.Mode == hosts.ModePlan:
		return []string{"edit", "bash", "task"}
	case !strict(c):
		return nil
	case c.Mode == hosts.ModeAcceptEdits:
		return []string{"bash", "webfetch", "task", "external_directory"}
	}
	return []string{"edit", "bash", "webfetch", "task", "external_directory"}
}

// rulesFor returns the argument rules of the allowed tools of one permission,
// or nil if one of them has no rule.
func rulesFor(name string, allowed []string) (rules []string) {
	for _, tool := range allowed {
		_, rule, ruled := strings.Cut(tool, "(")
		if permissionOf(tool) != name {
			continue
		}
		if !ruled {
			return nil
		}
		rules = append(rules, strings.TrimSuffix(rule, ")"))
	}
	return rules
}

// usersPermissions returns OpenCode's defaults followed by the permissions of
// the configuration files that it merges.
func (h Client) usersPermissions() (permissions, error) {
	configs, err := h.configs()
	all := slices.Clone(byDefault)
	for _, config := range configs {
		var document struct {
			Permission permissions `json:"permission"`
		}
		if plain := hosts.PlainJSON(config.content); len(plain) > 0 && json.Unmarshal(plain, &document) == nil {
			all = append(all, document.Permission...)
		}
	}
	return all, err
}

// permissionOf returns the name of a tool's permission; all tools that write
// files share one.
func permissionOf(tool string) string {
	name, _, _ := strings.Cut(tool, "(")
	if server, found := strings.CutPrefix(name, "mcp__"); found {
		return strings.Replace(server, "__", "_", 1) // as OpenCode names the tools of MCP servers
	}
	switch name = strings.ToLower(name); {
	case edits(name):
		return "edit"
	case name == "agent":
		return "task"
	}
	return name
}

// hasFlame reports whether OpenCode starts a flame server on its own.
func (h Client) hasFlame() bool {
	if found, err := h.registrations(); err == nil && len(found) > 0 {
		return true
	}
	for range h.installed() {
		return true
	}
	return false
}

// edits reports whether a tool changes files, by any of its known names.
func edits(name string) bool {
	return slices.ContainsFunc(tools, func(t hosts.Tool) bool {
		return t.Effect == hosts.EffectEdit && (t.Name == name || slices.ContainsFunc(t.Canonical,
			func(same string) bool { return strings.EqualFold(same, name) }))
	})
}

// permissions is a map of OpenCode's from tools, or patterns of their names, to
// what may be done. Its order matters: the last entry that fits a tool applies.
type permissions []permission

// A permission is one entry. Its effect is "allow", "ask" or "deny", or an
// object of these by argument.
type permission struct {
	tool   string
	effect json.RawMessage
}

var (
	allow = json.RawMessage(`"allow"`)
	deny  = json.RawMessage(`"deny"`)
)

// byDefault are the permissions that OpenCode does not grant unless configured.
var byDefault = permissions{
	{"external_directory", json.RawMessage(`"ask"`)}, {"doom_loop", json.RawMessage(`"ask"`)},
}

// add appends an entry; settled drops earlier ones of the same name.
func (p permissions) add(tool string, effect json.RawMessage) permissions {
	return append(p, permission{tool, effect})
}

// settled returns the effective entries: the last one of each name, in its
// place.
func (p permissions) settled() (held permissions) {
	seen := map[string]bool{}
	for _, entry := range slices.Backward(p) {
		if !seen[entry.tool] {
			seen[entry.tool] = true
			held = append(held, entry)
		}
	}
	slices.Reverse(held)
	return held
}

// effect returns what applies to a tool; OpenCode allows what is not mentioned.
func (p permissions) effect(tool string) json.RawMessage {
	for _, known := range slices.Backward(p) {
		if fits, err := path.Match(known.tool, tool); fits && err == nil {
			return known.effect
		}
	}
	return allow
}

// narrowed returns an effect for calls with these arguments only, or for all if
// rules is nil. If the user has rules too, a call is allowed if both allow it.
func narrowed(users json.RawMessage, rules []string) json.RawMessage {
	if rules == nil {
		return users
	}
	var own permissions
	_ = json.Unmarshal(users, &own) // an effect for everything reads as one entry
	effects := permissions{{"*", deny}}
	for _, rule := range rules {
		effect := own.exactly(rule)
		if len(own) == 1 && own[0].tool == "*" {
			effect = own[0].effect
		}
		effects = effects.add(rule, effect)
	}
	raw, err := json.Marshal(effects.settled())
	if err != nil {
		return deny
	}
	return raw
}

// exactly returns the effect of the entry with this name; without such an entry
// it denies.
func (p permissions) exactly(name string) json.RawMessage {
	for _, known := range slices.Backward(p) {
		if known.tool == name {
			return known.effect
		}
	}
	return deny
}

// MarshalJSON writes an object with its members in order.
func (p permissions) MarshalJSON() ([]byte, error) {
	members := make([]string, len(p))
	for i, entry := range p {
		name, err := json.Marshal(entry.tool)
		if err != nil {
			return nil, err
		}
		members[i] = string(name) + ":" + string(entry.effect)
	}
	return []byte("{" + strings.Join(members, ",") + "}"), nil
}

// UnmarshalJSON reads an object in its order, or one effect for every tool.
func (p *permissions) UnmarshalJSON(raw []byte) error {
	all := gjson.ParseBytes(slices.Clone(raw))
	if !all.IsObject() {
		*p = permissions{{"*", json.RawMessage(all.Raw)}}
		return nil
	}
	all.ForEach(func(tool, effect gjson.Result) bool {
		*p = p.add(tool.Str, json.RawMessage(effect.Raw))
		return true
	})
	*p = p.settled()
	return nil
}
