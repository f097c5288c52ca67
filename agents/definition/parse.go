package definition

import (
	"encoding/json"
	"slices"

	"flame/core"
	"flame/hosts"
)

// parse reads a definition: Markdown with YAML front matter, in the dialect of
// Claude Code, OpenCode, Wave or flame. name applies if the file has none. If a
// finding is fatal, the definition may use no tools and only its name is of
// use.
//
// Whatever could widen what the agent may do if it were ignored is fatal: a
// value that cannot be read, a repeated key, an unknown key about tools.
func parse(known hosts.Registry, file, name string, content []byte) (Definition, []Flaw) {
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

// Inline reads a definition carried by a call: the keys of a file as JSON, the
// instructions in "prompt". Nobody would see a warning, so all findings are
// errors.
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

// Permitted returns the tools that OpenCode's permissions leave one of its
// agents. What they would ask a person about counts as denied, as an agent has
// nobody to ask; permissions that cannot be read leave nothing.
func Permitted(known hosts.Registry, permission string) Definition {
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
