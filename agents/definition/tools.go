package definition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"flame/hosts"
)

// setTools accepts Claude Code's list or OpenCode's map of tools.
func setTools(r *reader, n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		return r.switches(n)
	}
	names, err := toolNames(n)
	r.listed = &names
	return err
}

func setDisallowedTools(r *reader, n *yaml.Node) error {
	names, err := toolNames(n)
	r.def.DisallowedTools = append(r.def.DisallowedTools, names...)
	return err
}

func setDelegateGrants(r *reader, n *yaml.Node) (err error) {
	r.def.DelegateGrants, err = toolNames(n)
	return err
}

// MaxTools bounds the names in one list and the rules in one map: each is
// compared with each, those of the definition and those of the agent's caller.
const MaxTools = 500

var errTooMany = fmt.Errorf("has more than %d entries", MaxTools)

// toolNames reads comma-separated names, or a list of such. Without names the
// list is empty; a missing value is a mistake.
func toolNames(n *yaml.Node) ([]string, error) {
	lines := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		lines = n.Content
	}
	names := []string{}
	for _, line := range lines {
		switch {
		case line.Kind == yaml.ScalarNode && line.Tag == "!!null":
			return nil, errors.New("has no value; write [] for none, or leave the key out")
		case line.Kind != yaml.ScalarNode || line.Tag != "!!str":
			return nil, errors.New("must be a list of tool names")
		}
		for _, name := range SplitNames(line.Value) {
			if !hosts.ValidTool(name) {
				return nil, fmt.Errorf("%q is not the name of a tool", brief(name))
			}
			if names = append(names, name); len(names) > MaxTools {
				return nil, errTooMany
			}
		}
	}
	return names, nil
}

// SplitNames splits at commas that are not part of a rule, as in "Bash(git add,
// git diff), Read".
func SplitNames(line string) (names []string) {
	depth, start := 0, 0
	for i, c := range line + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && (depth <= 0 || i == len(line)):
			if name := strings.TrimSpace(line[start:i]); name != "" {
				names = append(names, name)
			}
			start = i + 1
		}
	}
	return names
}

// A rule is one entry of OpenCode's maps. The last one that matches a call
// applies.
type rule struct {
	tool    string
	pattern string // of its arguments; "*": any
	allow   bool
	line    int
	about   []string // the tools it covers: in some hosts several share a permission
}

// String returns the rule's tool in the form used in lists of tools.
func (r rule) String() string { return r.named(r.tool) }

func (r rule) named(tool string) string {
	if r.pattern == "*" {
		return tool
	}
	return tool + "(" + r.pattern + ")"
}

// names returns the tools that the rule covers.
func (r rule) names() (names []string) {
	for _, tool := range r.about {
		names = append(names, r.named(tool))
	}
	return names
}

// switches reads OpenCode's map of tools, true or false.
func (r *reader) switches(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		allow, err := boolean(n.Content[i+1])
		if err != nil || !hosts.ValidTool(key.Value) {
			return errors.New("must be a list of tool names, or a map of them to true or false")
		}
		if r.switched = append(r.switched, rule{key.Value, "*", allow, key.Line, r.known.Sharing(key.Value)}); len(r.switched) > MaxTools {
			return errTooMany
		}
	}
	everything := []string{"*"}
	r.listed = &everything
	return nil
}

// setPermission reads OpenCode's map of permissions, or one action for all tools.
func setPermission(r *reader, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return r.permit("*", "*", n)
	}
	if n.Kind != yaml.MappingNode {
		return errors.New("must be allow, ask or deny, or a map of tools to these")
	}
	if err := r.keep("permission", n); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		tool, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind != yaml.MappingNode {
			if err := r.permit(tool, "*", value); err != nil {
				return err
			}
			continue
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			if err := r.permit(tool, value.Content[j].Value, value.Content[j+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// permit records one permission. What OpenCode would ask about is denied: there
// is nobody to answer (spec: agents §3).
func (r *reader) permit(tool, pattern string, action *yaml.Node) error {
	entry := rule{tool, pattern, action.Value == "allow", action.Line, r.known.Sharing(tool)}
	host, aside := r.known.Applies(tool)
	switch {
	case action.Kind != yaml.ScalarNode || !slices.Contains([]string{"allow", "ask", "deny"}, action.Value):
		return fmt.Errorf("%s must be allow, ask or deny", brief(tool))
	case aside:
		r.warn(action.Line, "permission: %s is about no tool; only %s can apply it", tool, host.Title)
		return nil
	case !hosts.ValidTool(entry.String()):
		return fmt.Errorf("%q is not the name of a tool", brief(entry.String()))
	case action.Value == "ask":
		r.warn(action.Line, "permission: %s would ask, and an agent has nobody to ask: it is denied", brief(entry.String()))
	}
	if r.rules = append(r.rules, entry); len(r.rules) > MaxTools {
		return errTooMany
	}
	return nil
}

// limitTools turns lists and maps into what the agent may use.
func (r *reader) limitTools() {
	allowed, denied, lost := narrow(append(r.switched, r.rules...)) // in OpenCode permission applies last, wherever it is
	for _, entry := range lost {
		r.warn(entry.line, "%s is an exception from a denial, which cannot be kept: the denial holds; begin with \"*\": deny and allow what is needed",
			brief(entry.String()))
	}
	r.def.DisallowedTools = append(r.def.DisallowedTools, denied...)
	r.def.Tools = r.listed
	switch {
	case allowed == nil:
	case r.listed == nil || slices.Equal(*r.listed, []string{"*"}):
		r.def.Tools = allowed
	default:
		r.fail(1, "tools is a list and permission denies the rest: say in one of them what is allowed")
	}
}

// narrow expresses by lists what rules express by their order: the tools that
// alone are allowed (nil: all) and those denied, which applies to whatever is
// allowed. Allowing a part of what was denied cannot be expressed; those rules
// are lost.
func narrow(rules []rule) (allowed *[]string, denied []string, lost []rule) {
	for i, entry := range slices.Backward(rules) {
		if entry.tool == "*" {
			if !entry.allow {
				allowed = &[]string{}
			}
			rules = rules[i+1:]
			break
		}
	}
	for _, entry := range rules {
		switch {
		case entry.allow && entry.meets(denied):
			lost = append(lost, entry)
		case entry.allow && allowed != nil:
			*allowed = append(*allowed, entry.names()...)
		case !entry.allow && (allowed == nil || entry.meets(*allowed)):
			for _, name := range entry.names() {
				if !slices.Contains(denied, name) {
					denied = append(denied, name)
				}
			}
		}
	}
	return allowed, denied, lost
}

// meets reports whether the rule may cover one of these tools.
func (r rule) meets(tools []string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool {
		return slices.ContainsFunc(r.names(), func(name string) bool { return hosts.Overlap(name, tool) })
	})
}
