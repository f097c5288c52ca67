package hosts

import (
	"path"
	"slices"
	"strings"

	"github.com/samber/lo"
)

// A ToolSet says which tools an agent may use, by the names its host gives them.
// The zero value is every tool. A name may be a pattern ("mcp__server__*") and
// may carry a rule for its arguments ("Bash(git *)").
type ToolSet struct {
	Limited bool     `json:"limited,omitempty"` // only those allowed
	Allowed []string `json:"allowed,omitempty"`
	Denied  []string `json:"denied,omitempty"` // whatever is allowed
}

// Only returns the subset of these tools; the whole set if allowed is nil or
// names "*". It adds nothing: what the set lacks stays out, and an argument
// rule is kept.
func (t ToolSet) Only(allowed *[]string) ToolSet {
	if allowed == nil || slices.Contains(*allowed, "*") {
		return t
	}
	narrow := ToolSet{Limited: true, Denied: t.Denied}
	have := t.Allowed
	if !t.Limited {
		have = []string{"*"}
	}
	for _, asked := range *allowed {
		for _, known := range have {
			both, ok := meet(known, asked)
			if ok && t.Permits(both) && !slices.Contains(narrow.Allowed, both) {
				narrow.Allowed = append(narrow.Allowed, both)
			}
		}
	}
	return narrow
}

// With returns the set with these tools added, whatever it allows; what it
// denies stays denied.
func (t ToolSet) With(more []string) ToolSet {
	if t.Limited {
		t.Allowed = lo.Union(t.Allowed, more)
	}
	return t
}

// Within returns the intersection with another set.
func (t ToolSet) Within(other ToolSet) ToolSet {
	if other.Limited {
		t = t.Only(&other.Allowed)
	}
	return t.Without(other.Denied...)
}

// For returns the set with another host's names for its tools.
func (t ToolSet) For(known Registry, host string) ToolSet {
	t.Allowed, t.Denied = known.Translate(t.Allowed, host), known.Translate(t.Denied, host)
	return t
}

// meet returns what two entries both allow: the narrower name, with the rule
// that one of them has. ok is false if both have different rules, since nobody
// can tell what those share.
func meet(known, asked string) (string, bool) {
	knownName, knownRule := SplitRule(known)
	name, rule := SplitRule(asked)
	switch {
	case matches(knownName, name):
	case matches(name, knownName):
		name = knownName
	default:
		return "", false
	}
	if rule == "" {
		rule = knownRule
	}
	return name + rule, knownRule == "" || knownRule == rule
}

// SplitRule splits an entry into the tool's name and its rule, brackets
// included.
func SplitRule(entry string) (name, rule string) {
	if i := strings.IndexByte(entry, '('); i >= 0 {
		return strings.TrimSpace(entry[:i]), entry[i:]
	}
	return strings.TrimSpace(entry), ""
}

// Without returns the set without these tools. Denials add up.
func (t ToolSet) Without(denied ...string) ToolSet {
	t.Denied = slices.Clone(t.Denied)
	for _, name := range denied {
		if !slices.Contains(t.Denied, name) {
			t.Denied = append(t.Denied, name)
		}
	}
	return t
}

// Permits reports whether the set contains a tool.
func (t ToolSet) Permits(tool string) bool {
	if slices.ContainsFunc(t.Denied, func(pattern string) bool { return denies(pattern, tool) }) {
		return false
	}
	return !t.Limited || slices.ContainsFunc(t.Allowed, func(pattern string) bool { return matches(pattern, tool) })
}

// denies reports whether a denial removes the whole tool; one with an argument
// rule is left to the host.
func denies(pattern, tool string) bool {
	return !strings.Contains(pattern, "(") && matches(pattern, tool)
}

// matches compares names, ignoring case and argument rules.
func matches(pattern, tool string) bool {
	pattern, tool = base(pattern), base(tool)
	ok, err := path.Match(pattern, tool)
	return ok && err == nil || pattern == tool
}

// base returns a tool's name without its argument rule.
func base(tool string) string {
	name, _ := SplitRule(tool)
	return strings.ToLower(name)
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

// Overlap reports whether two entries may be about the same tool. Two patterns
// are assumed to overlap.
func Overlap(a, b string) bool {
	return matches(a, b) || matches(b, a) || strings.ContainsAny(base(a), "*?") && strings.ContainsAny(base(b), "*?")
}

// ValidTool accepts names, patterns of names, and names with an argument rule.
// A pattern with a rule would allow every tool, since rules are left to hosts.
// A host reads the names from its command line, all in one word separated by
// commas, so no name may look like an option, and no rule may leave a bracket
// open that would absorb what follows.
func ValidTool(tool string) bool {
	name, _, ruled := strings.Cut(tool, "(")
	if name == "" || name[0] == '-' || ruled && (!closed(tool) || strings.ContainsAny(name, "*?")) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') && !strings.ContainsRune("_-.:/*?", c)
	})
}

// closed reports whether each bracket is closed, the first one at the very end.
func closed(tool string) bool {
	depth := 0
	for i, c := range tool {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 || depth == 0 && i < len(tool)-1 {
				return false
			}
		}
	}
	return depth == 0
}
