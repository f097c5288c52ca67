package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"flame/core"
	"flame/hosts"
)

// parse reads a definition: Markdown with YAML front matter, in the dialect of
// Claude Code, OpenCode, Wave or flame. name applies if the file has none. If a
// finding is fatal, the definition may use no tools and only its name is of
// use.
//
// A finding is fatal if ignoring it could widen the agent's permissions: a value that cannot
// be read, a repeated key, an unknown key about tools.
func parse(known hosts.Registry, file, name string, content []byte) (Definition, []Issue) {
	r := reader{known: known, file: file, def: Definition{Name: name, Source: Source{File: file}}}
	front, body, err := split(content)
	if err != nil {
		return r.refuse(err)
	}
	fields, sloppy, err := frontMatter(front)
	if err != nil {
		return r.refuse(err)
	}
	if sloppy > 0 {
		r.warn(sloppy, "description: is not valid YAML and was taken literally; quote it")
	}
	if body != "" {
		if prompt := field(fields, "prompt"); prompt != nil {
			r.warn(prompt.Line, "prompt: is not used, the text below the front matter is")
		}
	}
	r.read(fields)
	if body != "" {
		r.def.Prompt = body
	}
	return r.finish()
}

// Inline reads a definition carried by a call: the keys of a file as JSON, the instructions in
// "prompt". No person would see a warning, so all findings are errors.
func Inline(known hosts.Registry, raw json.RawMessage) (Definition, error) {
	r := reader{known: known, def: Definition{Name: "inline"}}
	if len(raw) > largest {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call is larger than %d KB", largest>>10).
			WithHint("put long text into a file and name that in the prompt")
	}
	fields, err := jsonFields(raw)
	if err != nil {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call: %v", err)
	}
	r.read(fields)
	def, findings := r.finish()
	if len(findings) > 0 {
		return Definition{Tools: &[]string{}}, core.Invalidf("the definition in the call: %s", findings[0].Reason).
			WithHint("it takes the keys of an agent's file: description and prompt, then tools, model, permissionMode and others, and a map flame")
	}
	def.Source = Source{Kind: Call}
	return def, nil
}

// AllowedTools returns the tools that OpenCode's permissions leave one of its agents. It denies
// what they would ask a person about, since an agent has no person to ask. If it cannot read
// the permissions, it returns no tools.
func AllowedTools(known hosts.Registry, permission string) Definition {
	r := reader{known: known}
	fields, err := jsonFields(json.RawMessage(`{"permission":` + permission + `}`))
	if err != nil {
		return Definition{Tools: &[]string{}}
	}
	r.read(fields)
	r.limitTools()
	if slices.ContainsFunc(r.findings, isFatal) {
		return Definition{Tools: &[]string{}}
	}
	return r.def
}

// largestFront is the size of a front matter, in bytes, above which it is not
// parsed; it bounds the cost of a hostile one.
const largestFront = 64 << 10

type lineError struct {
	line   int
	reason string
}

func (e lineError) Error() string { return e.reason }

func errorAt(line int, format string, args ...any) error {
	return lineError{line, fmt.Sprintf(format, args...)}
}

// split splits a file into its front matter, including the opening line so that
// lines keep their numbers, and the text below.
func split(content []byte) (front, body string, err error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		return "", "", errors.New("the file is empty")
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return "", "", errors.New("the file is not text in UTF-8")
	}
	text := strings.ReplaceAll(string(content), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		return "", "", errorAt(1, "no front matter: the first line must be ---")
	}
	var lines strings.Builder
	lines.WriteString("---\n")
	for line := range strings.Lines(rest) {
		if isFence(strings.TrimSuffix(line, "\n")) {
			return lines.String(), strings.TrimSpace(rest[lines.Len()-len("---\n")+len(line):]), nil
		}
		if lines.WriteString(line); lines.Len() > largestFront {
			return "", "", errorAt(1, "the front matter is larger than %d KB", largestFront>>10)
		}
	}
	return "", "", errorAt(1, "the front matter has no end: a line --- must follow it")
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// allTools matches what Claude Code takes for all tools, and YAML for an alias.
var allTools = core.Pattern(`(?m)^tools:[ \t]*\*[ \t]*$`)

// frontMatter returns the fields of a file. Claude Code's own wizard writes descriptions with
// colons in them and quotes nothing, which it and OpenCode accept as text. frontMatter does so
// too, and returns the line of such a description as sloppy, otherwise 0.
func frontMatter(front string) (fields *yaml.Node, sloppy int, err error) {
	front = allTools().ReplaceAllString(front, `tools: "*"`)
	fields, err = yamlFields(front)
	if err == nil {
		return fields, 0, nil
	}
	quoted, line := quoteDescription(front)
	if line == 0 {
		return nil, 0, err
	}
	again, retryErr := yamlFields(quoted)
	if retryErr != nil {
		return nil, 0, err
	}
	return again, line, nil
}

// quoteDescription quotes an unquoted description on one line, and returns its
// line, or 0 if there is none.
func quoteDescription(front string) (string, int) {
	lines := strings.Split(front, "\n")
	for i, line := range lines {
		value, found := strings.CutPrefix(line, "description:")
		if value = strings.TrimSpace(value); !found || value == "" || strings.ContainsAny(value[:1], "\"'|>[{") {
			continue
		}
		lines[i] = "description: '" + strings.ReplaceAll(value, "'", "''") + "'"
		return strings.Join(lines, "\n"), i + 1
	}
	return front, 0
}

// yamlFields parses one YAML document that is a map.
func yamlFields(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Load([]byte(text), &document); err != nil {
		var at *yaml.LoadError
		if errors.As(err, &at) {
			return nil, errorAt(at.Mark.Line, "not valid YAML: %s", strings.TrimPrefix(at.Message, "yaml: "))
		}
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errorAt(1, "the front matter must be a map of keys to values")
	}
	return document.Content[0], plain(document.Content[0])
}

// plain checks that a value is unambiguous: no aliases and merges, whose
// expansion is unbounded, and no repeated keys, of which readers take either
// one.
func plain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		return errorAt(n.Line, "aliases (*%s) are not read", brief(n.Value))
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if err := plain(child); err != nil {
			return err
		}
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			continue
		}
		if child.Kind != yaml.ScalarNode || child.Tag == "!!merge" {
			return errorAt(child.Line, "a key must be a word")
		}
		if seen[child.Value] {
			return errorAt(child.Line, "%s: appears twice", brief(child.Value))
		}
		seen[child.Value] = true
	}
	return nil
}

// jsonFields parses a JSON object into what YAML gives for the same.
func jsonFields(raw json.RawMessage) (*yaml.Node, error) {
	if !json.Valid(raw) {
		return nil, errors.New("it is not valid JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	n, err := jsonNode(decoder)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("it must be a JSON object")
	}
	return n, plain(n)
}

func jsonNode(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for decoder.More() {
			child, err := jsonNode(decoder)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = decoder.Token()
		return n, err
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(v.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

// toJSON returns a value as JSON; objects keep their order.
func toJSON(n *yaml.Node) ([]byte, error) {
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
		var value any
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}
	parts, opening, closing := make([][]byte, len(n.Content)), "[", "]"
	for i, child := range n.Content {
		var err error
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			parts[i], err = json.Marshal(child.Value)
		} else {
			parts[i], err = toJSON(child)
		}
		if err != nil {
			return nil, err
		}
	}
	if n.Kind == yaml.MappingNode {
		opening, closing = "{", "}"
		for i := 0; i+1 < len(parts); i += 2 {
			parts[i/2] = slices.Concat(parts[i], []byte(":"), parts[i+1])
		}
		parts = parts[:len(parts)/2]
	}
	return slices.Concat([]byte(opening), bytes.Join(parts, []byte(",")), []byte(closing)), nil
}
