package definition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"flame/core"
	"flame/hosts"
)

// keys are the keys of Claude Code, OpenCode and Wave. A value that cannot
// be read fails the definition, because the limit that it was meant to set would be missing.
func (r *reader) keys() map[string]setter {
	d := &r.def
	turns := into(&d.MaxTurns, from1[int])
	return map[string]setter{
		"name":        text(&d.Name),
		"description": text(&d.Description),
		"prompt":      text(&d.Prompt),
		"effort":      text(&d.Effort),
		"model":       into(&d.Model, model),
		"mode":        r.setRole,
		// A request for more than a worktree must not get less.
		"isolation":       into(&d.Isolation, oneOf[Isolation](Isolation("").Values()...)),
		"permissionMode":  into(&d.PermissionMode, oneOf[hosts.Mode](hosts.Mode("").Values()...)),
		"tools":           r.setTools,
		"disallowedTools": into(&d.DisallowedTools, toolNames),
		"permission":      r.setPermission,
		"background":      into(&d.Background, given(boolean)),
		"maxTurns":        turns,
		"steps":           turns,
		"maxSteps":        turns,
		"hidden":          into(&d.Hidden, boolean),
		"disable":         into(&d.Disabled, boolean),
		"flame":           func(n *yaml.Node) error { return r.fields(n, r.flameKeys(), "flame.") },
	}
}

// listing has the keys that only matter in lists of agents.
var listing = []string{"color", "tags"}

func (r *reader) flameKeys() map[string]setter {
	d := &r.def
	return map[string]setter{
		"host":            into(&d.Host, r.host),
		"type":            into(&d.Type, oneOf[string]("builder", "tester", "analyzer", "retriever")),
		"context":         into(&d.Context, oneOf[string]("none", "goal", "frame", "full")),
		"timeout":         into(&d.Timeout, duration),
		"retries":         into(&d.Retries, given(from0)),
		"max_depth":       into(&d.MaxDepth, given(from0)),
		"max_children":    into(&d.MaxChildren, given(from0)),
		"budget_tokens":   into(&d.BudgetTokens, from1[int64]),
		"budget_usd":      into(&d.BudgetUSD, amount),
		"result_schema":   into(&d.ResultSchema, schema),
		"delegate_grants": into(&d.DelegateGrants, toolNames),
	}
}

func (r *reader) read(n *yaml.Node) {
	r.limited = field(n, "tools") != nil
	if err := r.fields(n, r.keys(), ""); err != nil {
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
			if err := set(value); err != nil {
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

// unknown records an unknown key. Flame must not ignore a key that sounds like a limit of the
// agent, unless tools limits the agent already.
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
func (r *reader) finish() (Definition, []Issue) {
	r.limitTools()
	if !validName(r.def.Name) {
		r.fail(1, "the name %q must begin with a letter or a digit, and have only these, blanks and . _ - : /", brief(r.def.Name))
	}
	if !r.def.Disabled {
		if r.def.Description == "" {
			r.fail(1, "description: is missing; it says when to use the agent")
		}
		if r.def.Prompt == "" {
			r.warn(1, "there are no instructions: write them below the front matter")
		}
	}
	return r.result()
}

func field(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// word returns the text of a single value, or "" for a key without one.
func word(n *yaml.Node) (string, error) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("must be text")
	case n.Tag == "!!null":
		return "", nil
	}
	return strings.TrimSpace(n.Value), nil
}

// text keeps the field for a key without a value.
func text(field *string) setter {
	return func(n *yaml.Node) error {
		value, err := word(n)
		if value != "" {
			*field = value
		}
		return err
	}
}

// into sets a field to the result of parse, unless parse returns an error.
func into[T any](field *T, parse func(*yaml.Node) (T, error)) setter {
	return func(n *yaml.Node) error {
		value, err := parse(n)
		if err == nil {
			*field = value
		}
		return err
	}
}

// given is for fields that are nil if their key is missing.
func given[T any](parse func(*yaml.Node) (T, error)) func(*yaml.Node) (*T, error) {
	return func(n *yaml.Node) (*T, error) {
		value, err := parse(n)
		return &value, err
	}
}

func oneOf[T ~string](values ...string) func(*yaml.Node) (T, error) {
	return func(n *yaml.Node) (T, error) {
		value, err := word(n)
		if err != nil || !slices.Contains(values, value) {
			return "", fmt.Errorf("must be one of %s", strings.Join(values, ", "))
		}
		return T(value), nil
	}
}

func boolean(n *yaml.Node) (bool, error) {
	if word := strings.ToLower(n.Value); n.Kind == yaml.ScalarNode && (word == "true" || word == "false") {
		return word == "true", nil
	}
	return false, errors.New("must be true or false")
}

// setRole stores in which of OpenCode's lists the agent is. It limits nothing,
// so a value meant as a permission mode must not be accepted for it.
func (r *reader) setRole(n *yaml.Node) error {
	if _, err := oneOf[string]("primary", "subagent", "all")(n); err != nil {
		return err
	}
	return r.keep("mode", n)
}

// integer parses a whole number of at least least.
func integer[T int | int64](n *yaml.Node, least T) (T, error) {
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || value < int64(least) {
		return 0, fmt.Errorf("must be a whole number from %d", least)
	}
	return T(value), nil
}

func from0(n *yaml.Node) (int, error) { return integer(n, 0) }

func from1[T int | int64](n *yaml.Node) (T, error) { return integer[T](n, 1) }

// model returns "" for the host's choice.
func model(n *yaml.Node) (string, error) {
	name, err := word(n)
	if name == "inherit" {
		name = ""
	}
	return name, err
}

// host returns "" for the choice of flame.
func (r *reader) host(n *yaml.Node) (string, error) {
	name, err := oneOf[string](append(r.known.Names(), "auto")...)(n)
	if name == "auto" {
		name = ""
	}
	return name, err
}

// duration accepts seconds, as the settings do, or Go's notation ("5m").
func duration(n *yaml.Node) (time.Duration, error) {
	timeout, err := time.ParseDuration(n.Value)
	if seconds, numberErr := strconv.ParseFloat(n.Value, 64); numberErr == nil && seconds <= math.MaxInt32 {
		timeout, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if n.Kind != yaml.ScalarNode || err != nil || timeout <= 0 {
		return 0, errors.New("must be seconds, or a duration such as 5m")
	}
	return timeout, nil
}

func amount(n *yaml.Node) (float64, error) {
	value, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(value > 0) || math.IsInf(value, 0) {
		return 0, errors.New("must be an amount above 0, in USD")
	}
	return value, nil
}

func schema(n *yaml.Node) (json.RawMessage, error) {
	schema, err := toJSON(n)
	if n.Kind != yaml.MappingNode || err != nil {
		return nil, errors.New("must be a JSON schema: a map")
	}
	return schema, nil
}

// A reader turns fields into a definition and records findings.
type reader struct {
	known    hosts.Registry
	file     string
	def      Definition
	limited  bool      // the key tools exists
	listed   *[]string // its list; "*" where it is a map
	switched []rule    // its map
	rules    []rule    // permission
	findings []Issue
	more     int // number of findings that are not listed
}

type setter func(n *yaml.Node) error

func (r *reader) keep(key string, n *yaml.Node) error {
	value, err := toJSON(n)
	if err != nil {
		return errors.New("holds what JSON cannot")
	}
	if r.def.HostKeys == nil {
		r.def.HostKeys = map[string]json.RawMessage{}
	}
	r.def.HostKeys[key] = value
	return nil
}

func (r *reader) refuse(err error) (Definition, []Issue) {
	var at lineError
	errors.As(err, &at)
	r.fail(at.line, "%v", err)
	return r.result()
}

func (r *reader) result() (Definition, []Issue) {
	slices.SortStableFunc(r.findings, func(a, b Issue) int { return cmp.Compare(a.Line, b.Line) })
	if r.more > 0 {
		r.findings = append(r.findings, Issue{File: r.file, Reason: fmt.Sprintf("and %d more findings", r.more)})
	}
	for i := range r.findings {
		r.findings[i].Agent = core.OneLine(r.def.Name, maxName)
	}
	if slices.ContainsFunc(r.findings, isFatal) {
		return Definition{Name: r.def.Name, Tools: &[]string{}, Source: r.def.Source}, r.findings
	}
	return r.def, r.findings
}

// Limits of the findings about one file: a hostile file may contain thousands of mistakes,
// each with texts of any length.
const (
	mostFindings = 20
	maxReason    = 300 // characters
	maxName      = 200 // characters of an agent's name
)

func (r *reader) fail(line int, format string, args ...any) {
	r.find(Issue{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...), Fatal: true})
}

func (r *reader) warn(line int, format string, args ...any) {
	r.find(Issue{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// find records a finding. If there are too many, the first ones stay, and the
// first fatal one.
func (r *reader) find(f Issue) {
	f.Reason = core.OneLine(f.Reason, maxReason)
	if len(r.findings) < mostFindings || f.Fatal && !slices.ContainsFunc(r.findings, isFatal) {
		r.findings = append(r.findings, f)
	} else {
		r.more++
	}
}

func brief(name string) string { return core.Cut(name, 60) }

func isFatal(f Issue) bool { return f.Fatal }

// names matches names of agents that the hosts load, of any script. A plugin's agents are
// plugin:name, those in subfolders of OpenCode's are folder/name.
var names = core.Pattern(`^[\pL\pN_][\pL\pM\pN _.-]*([:/][\pL\pN_][\pL\pM\pN _.-]*)*$`)

func validName(name string) bool { return len(name) <= maxName && names().MatchString(name) }
