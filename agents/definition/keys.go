package definition

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// keys are those of Claude Code, OpenCode and Wave (spec: agents §1). A value
// that cannot be read fails the definition: the limit it was meant to set would
// be missing.
var keys = map[string]setter{
	"name":        text(func(d *Definition) *string { return &d.Name }),
	"description": text(func(d *Definition) *string { return &d.Description }),
	"prompt":      text(func(d *Definition) *string { return &d.Prompt }),
	"effort":      text(func(d *Definition) *string { return &d.Effort }),
	"model":       setModel,
	"mode":        setRole,
	// A request for more than a worktree must not get less.
	"isolation":       oneOf(func(d *Definition) *string { return (*string)(&d.Isolation) }, Isolation("").Values()...),
	"permissionMode":  setPermissionMode,
	"tools":           setTools,
	"disallowedTools": setDisallowedTools,
	"permission":      setPermission,
	"background":      setBackground,
	"maxTurns":        positive(func(d *Definition, n int64) { d.MaxTurns = int(n) }),
	"steps":           positive(func(d *Definition, n int64) { d.MaxTurns = int(n) }),
	"maxSteps":        positive(func(d *Definition, n int64) { d.MaxTurns = int(n) }),
	"hidden":          flag(func(d *Definition) *bool { return &d.Hidden }),
	"disable":         flag(func(d *Definition) *bool { return &d.Disabled }),
	"flame":           func(r *reader, n *yaml.Node) error { return r.fields(n, flameKeys, "flame.") },
}

// listing are keys that are for lists of agents.
var listing = []string{"color", "tags"}

// flameKeys are those of flame's own map.
var flameKeys = map[string]setter{
	"host":            setHost,
	"type":            oneOf(func(d *Definition) *string { return &d.Type }, "builder", "tester", "analyzer", "retriever"),
	"context":         oneOf(func(d *Definition) *string { return &d.Context }, "none", "goal", "frame", "full"),
	"timeout":         setTimeout,
	"retries":         atLeast0(func(d *Definition) **int { return &d.Retries }),
	"max_depth":       atLeast0(func(d *Definition) **int { return &d.MaxDepth }),
	"max_children":    atLeast0(func(d *Definition) **int { return &d.MaxChildren }),
	"budget_tokens":   positive(func(d *Definition, n int64) { d.BudgetTokens = n }),
	"budget_usd":      setBudgetUSD,
	"result_schema":   setResultSchema,
	"delegate_grants": setDelegateGrants,
}

// read takes all fields.
func (r *reader) read(n *yaml.Node) {
	r.limited = field(n, "tools") != nil
	if err := r.fields(n, keys, ""); err != nil {
		r.fail(n.Line, "%v", err)
	}
}

// fields passes each field of a map to its key's setter.
func (r *reader) fields(n *yaml.Node, known map[string]setter, path string) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("must be a map of keys to values")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		set := known[key.Value]
		switch {
		case set != nil:
			if err := set(r, value); err != nil {
				r.fail(key.Line, "%s%s: %v", path, key.Value, err)
			}
		case path == "" && r.handsOn(key.Value):
			if err := r.keep(key.Value, value); err != nil {
				r.fail(key.Line, "%s: %v", key.Value, err)
			}
		default:
			r.unknown(key, path)
		}
	}
	return nil
}

// handsOn reports whether only hosts, or lists of agents, understand a key; its
// value is kept as is. "observer" and its kin are a family of keys.
func (r *reader) handsOn(key string) bool {
	return r.known.Understands(key) || slices.Contains(listing, key) || strings.HasPrefix(key, "observer")
}

// unknown records a key that nobody knows. One that sounds as if it limited the
// agent must not be ignored, unless tools limits it already.
func (r *reader) unknown(key *yaml.Node, path string) {
	name := strings.ToLower(key.Value)
	if (strings.Contains(name, "tool") || strings.Contains(name, "permission")) && !r.limited {
		r.fail(key.Line, "%s%s: is not a key, and may be meant to limit the agent: write tools, disallowedTools, permissionMode or permission",
			path, brief(key.Value))
		return
	}
	r.warn(key.Line, "%s%s: is not a known key", path, brief(key.Value))
}

// finish checks the whole and returns the definition, which may do nothing if
// any finding is fatal.
func (r *reader) finish() (Definition, []Flaw) {
	r.limitTools()
	if !validName(r.def.Name) {
		r.fail(1, "the name %q must begin with a letter and continue with letters, digits and hyphens; plugin:name is also allowed", brief(r.def.Name))
	}
	if !r.def.Disabled {
		if r.def.Description == "" {
			r.fail(1, "description: is missing; it says when to use the agent")
		}
		if r.def.Prompt == "" {
			r.fail(1, "there are no instructions: write them below the front matter")
		}
	}
	return r.result()
}
