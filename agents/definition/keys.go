package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"flame/core"
)

// A reader makes a definition out of fields and notes what is wrong.
type reader struct {
	file     string
	def      Definition
	limited  bool      // the key tools is there
	listed   *[]string // its list; "*" where it is a map
	switched []rule    // its map
	rules    []rule    // permission
	findings []Finding
	more     int // findings that are not told one by one
}

// A setter puts the value of one key into the definition.
type setter func(r *reader, n *yaml.Node) error

// keys are those of Claude Code, OpenCode and Wave (spec: agents §1). A value
// that cannot be read fails the definition: what it was to limit would be open.
var keys = map[string]setter{
	"name":            text(func(d *Definition) *string { return &d.Name }),
	"description":     text(func(d *Definition) *string { return &d.Description }),
	"prompt":          text(func(d *Definition) *string { return &d.Prompt }),
	"effort":          text(func(d *Definition) *string { return &d.Effort }),
	"model":           setModel,
	"mode":            setRole,
	"isolation":       oneOf(func(d *Definition) *string { return (*string)(&d.Isolation) }, Isolation("").Values()...), // what asks for more than a worktree must not get less
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

// hostKeys are those that only their host understands; they are kept as they
// stand. "observer" and its kin are a family of keys.
var hostKeys = []string{
	"mcpServers", "hooks", "autoCompactWindow", "skills", "initialPrompt", "memory", "omitClaudeMd", // Claude Code
	"temperature", "top_p", "variant", "options", // OpenCode
	"color", "tags", // for lists of agents
}

// flameKeys are those of the map that is flame's own.
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

// fields puts each field of a map to where its key belongs.
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
		case path == "" && (slices.Contains(hostKeys, key.Value) || strings.HasPrefix(key.Value, "observer")):
			if err := r.keep(key.Value, value); err != nil {
				r.fail(key.Line, "%s: %v", key.Value, err)
			}
		default:
			r.unknown(key, path)
		}
	}
	return nil
}

// unknown notes a key that nobody knows. One that sounds as if it limited the
// agent must not be passed over, unless tools does that already.
func (r *reader) unknown(key *yaml.Node, path string) {
	name := strings.ToLower(key.Value)
	if (strings.Contains(name, "tool") || strings.Contains(name, "permission")) && !r.limited {
		r.fail(key.Line, "%s%s: is not a key, and may be meant to limit the agent: write tools, disallowedTools, permissionMode or permission",
			path, brief(key.Value))
		return
	}
	r.warn(key.Line, "%s%s: is not a known key", path, brief(key.Value))
}

// keep stores what is to be handed on to a host.
func (r *reader) keep(key string, n *yaml.Node) error {
	var value bytes.Buffer
	if err := toJSON(&value, n); err != nil {
		return errors.New("holds what JSON cannot")
	}
	if r.def.HostKeys == nil {
		r.def.HostKeys = map[string]json.RawMessage{}
	}
	r.def.HostKeys[key] = value.Bytes()
	return nil
}

// finish checks the whole and returns the definition, one that may do nothing if
// anything is fatal.
func (r *reader) finish() (Definition, []Finding) {
	r.limitTools()
	if !validName(r.def.Name) {
		r.fail(1, "the name %q must begin with a letter and go on with letters, digits and hyphens; plugin:name is one too", brief(r.def.Name))
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

// refuse returns up with one fatal finding.
func (r *reader) refuse(err error) (Definition, []Finding) {
	var at lineError
	errors.As(err, &at)
	r.fail(at.line, "%v", err)
	return r.result()
}

func (r *reader) result() (Definition, []Finding) {
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	if r.more > 0 {
		r.findings = append(r.findings, Finding{File: r.file, Reason: fmt.Sprintf("and %d findings more", r.more)})
	}
	for i := range r.findings {
		r.findings[i].Agent = core.OneLine(r.def.Name, maxName)
	}
	if slices.ContainsFunc(r.findings, isFatal) {
		return Definition{Name: r.def.Name, Tools: &[]string{}, Source: r.def.Source}, r.findings
	}
	return r.def, r.findings
}

// What is said of one file: a hostile one may hold thousands of mistakes, and texts of
// any length in each.
const (
	mostFindings = 20
	maxReason    = 300 // characters
	maxName      = 200 // characters of an agent's name
)

func (r *reader) fail(line int, format string, args ...any) {
	r.find(Finding{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...), Fatal: true})
}

func (r *reader) warn(line int, format string, args ...any) {
	r.find(Finding{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// find notes a finding. Of too many the first ones stay, and the first that is fatal.
func (r *reader) find(f Finding) {
	f.Reason = core.OneLine(f.Reason, maxReason)
	if len(r.findings) < mostFindings || f.Fatal && !slices.ContainsFunc(r.findings, isFatal) {
		r.findings = append(r.findings, f)
	} else {
		r.more++
	}
}

// brief is as much of a name as is told of one that is wrong.
func brief(name string) string { return core.Cut(name, 60) }

func isFatal(f Finding) bool { return f.Fatal }

// validName follows Wave's rule. A plugin's agents are plugin:name, those in
// subfolders of OpenCode's are folder/name.
func validName(name string) bool {
	if len(name) > maxName {
		return false
	}
	for _, part := range strings.Split(strings.ReplaceAll(name, ":", "/"), "/") {
		if part == "" || !isLetter(rune(part[0])) || strings.ContainsFunc(part, func(c rune) bool {
			return !isLetter(c) && !isDigit(c) && c != '-'
		}) {
			return false
		}
	}
	return true
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c rune) bool  { return '0' <= c && c <= '9' }
