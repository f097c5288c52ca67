package agents

import (
	"path"
	"slices"
	"strings"
)

// A ToolSet says which tools an agent may use, by the names its host gives them.
// The zero value is every tool. A name may be a pattern ("mcp__server__*") and
// may carry a rule for its arguments ("Bash(git *)").
type ToolSet struct {
	Limited bool     `json:"limited,omitempty"` // only those allowed
	Allowed []string `json:"allowed,omitempty"`
	Denied  []string `json:"denied,omitempty"` // whatever is allowed
}

// SpawnTools are the tools of hosts and of ours by which an agent starts others.
// All are withheld at the deepest level: missing one alias lets agents multiply
// (spec: agents §2).
var SpawnTools = []string{"Agent", "Task", "Workflow", "task", "call_omo_agent", "*spawn_agent"}

// Only gives the part of the set that these tools are, all of it where allowed is
// nil. Nothing is added: what the set lacks stays out.
func (t ToolSet) Only(allowed *[]string) ToolSet {
	if allowed == nil {
		return t
	}
	narrow := ToolSet{Limited: true, Denied: t.Denied}
	for _, name := range *allowed {
		if t.Permits(name) {
			narrow.Allowed = append(narrow.Allowed, name)
		}
	}
	for _, name := range t.Allowed {
		if !slices.Contains(narrow.Allowed, name) && slices.ContainsFunc(*allowed, func(pattern string) bool { return matches(pattern, name) }) {
			narrow.Allowed = append(narrow.Allowed, name)
		}
	}
	return narrow
}

// Without gives the set without these tools. Denials add up.
func (t ToolSet) Without(denied ...string) ToolSet {
	t.Denied = slices.Clone(t.Denied)
	for _, name := range denied {
		if !slices.Contains(t.Denied, name) {
			t.Denied = append(t.Denied, name)
		}
	}
	return t
}

// Permits reports whether the set has a tool.
func (t ToolSet) Permits(tool string) bool {
	if slices.ContainsFunc(t.Denied, func(pattern string) bool { return denies(pattern, tool) }) {
		return false
	}
	return !t.Limited || slices.ContainsFunc(t.Allowed, func(pattern string) bool { return matches(pattern, tool) })
}

// denies reports whether a denial takes the whole tool away; one with a rule for
// arguments is the host's to apply.
func denies(pattern, tool string) bool {
	return !strings.Contains(pattern, "(") && matches(pattern, tool)
}

// matches compares names, whatever their case and their rules for arguments.
func matches(pattern, tool string) bool {
	pattern, tool = base(pattern), base(tool)
	ok, err := path.Match(pattern, tool)
	return ok && err == nil || pattern == tool
}

// base is the name of a tool without its rule for arguments.
func base(tool string) string {
	name, _, _ := strings.Cut(tool, "(")
	return strings.ToLower(strings.TrimSpace(name))
}

// String lists the set for people and models.
func (t ToolSet) String() string {
	text := "all of the host's"
	if t.Limited {
		text = strings.Join(t.Allowed, ", ")
		if text == "" {
			text = "none"
		}
	}
	if len(t.Denied) > 0 {
		text += "; not " + strings.Join(t.Denied, ", ")
	}
	return text
}
