package hosts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/tidwall/gjson"

	"flame/core"
)

// A Tool is a host's own tool. Does decides what flame must withhold from an
// agent that may only read, so every tool that changes anything needs it.
type Tool struct {
	Name      string
	Effect    Effect
	Obsolete  bool     // only older versions have it
	Canonical []string // its names in the common vocabulary; empty in the host that defines those names
}

// An Effect is what a tool does; the zero value is nothing that flame needs to
// know.
type Effect int

// What tools do to the world.
const (
	EffectRead  Effect = iota + 1 // looks at the project's files
	EffectNote                    // helps only the agent: to-do lists, skills
	EffectEdit                    // changes files
	EffectRun                     // runs commands
	EffectFetch                   // reads from the web
	EffectSpawn                   // starts other agents
)

// Tools are a host's own, as it offered them when tried.
type Tools []Tool

// Names returns the names of the tools with some effects, including those of
// older versions.
func (t Tools) Names(does ...Effect) (names []string) {
	for _, tool := range t {
		if slices.Contains(does, tool.Effect) {
			names = append(names, tool.Name)
		}
	}
	return names
}

// Current returns the tools that newer versions still have.
func (t Tools) Current() Tools {
	return slices.DeleteFunc(slices.Clone(t), func(tool Tool) bool { return tool.Obsolete })
}

// Effect returns what the tool of this name does, ignoring case, or the zero
// value if there is no such tool.
func (t Tools) Effect(name string) Effect {
	if own, found := t.find(name); found {
		return own.Effect
	}
	return 0
}

// Knows reports whether there is a tool of this name.
func (t Tools) Knows(name string) bool { _, found := t.find(name); return found }

// find returns the tool of a name, ignoring case.
func (t Tools) find(name string) (Tool, bool) {
	i := slices.IndexFunc(t, func(tool Tool) bool { return strings.EqualFold(tool.Name, name) })
	if i < 0 {
		return Tool{}, false
	}
	return t[i], true
}

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

// meet returns what two entries both allow: the narrower name, with the rule
// that one of them has. ok is false if both have different rules, since flame
// cannot intersect rules.
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

// A Dialog is what a user said in the result of a call of a tool.
type Dialog struct {
	Answer  string // to the questions of the call
	Refusal string // the reason for which the user refused the call
	// Stays says that the result may have words of the user's that nothing tells from those of a
	// tool: it stays in requests, as a result.
	Stays bool
}

// AnswersOf returns the dialog of a result that holds nothing but answers, as JSON; it has no words if
// the result does not.
func AnswersOf(result string) (d Dialog) {
	if ValidJSON(result) && gjson.Get(result, "answers").IsObject() {
		d.Answer = result
	}
	return d
}

// maxDepth bounds how deep lists and objects may be nested.
const maxDepth = 1000

// ValidJSON reports whether a text is JSON that is not nested so deep that reading it could
// exhaust the stack.
func ValidJSON[T string | []byte](text T) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	if raw, ok := any(text).([]byte); ok {
		return gjson.ValidBytes(raw)
	}
	return gjson.Valid(string(text))
}

// maxRefused is how much of the input of a refused call is named, in characters.
const maxRefused = 200

// Said returns the user's words, after the questions that they answer or the call that they refuse;
// empty without words. The answers of some hosts repeat the questions.
func (d Dialog) Said(tool string, input gjson.Result) string {
	if d.Refusal != "" {
		return fmt.Sprintf("Refused: %s %s\n%s", tool, core.OneLine(input.Raw, maxRefused), d.Refusal)
	}
	if d.Answer == "" {
		return ""
	}
	var asked []string
	for _, question := range input.Get("questions.#.question").Array() {
		if !strings.Contains(d.Answer, question.Str) {
			asked = append(asked, question.Str)
		}
	}
	return strings.Join(append(asked, d.Answer), "\n")
}
