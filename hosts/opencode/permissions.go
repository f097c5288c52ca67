package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
)

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
	var b bytes.Buffer
	b.WriteByte('{')
	for i, entry := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(entry.tool)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(entry.effect)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object in its order, or one effect for every tool.
func (p *permissions) UnmarshalJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		*p = permissions{{"*", slices.Clone(raw)}}
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		tool, ok := name.(string)
		if !ok {
			return errors.New("the name of a permission is not text")
		}
		var effect json.RawMessage
		if err := decoder.Decode(&effect); err != nil {
			return err
		}
		*p = p.add(tool, effect)
	}
	*p = p.settled()
	return nil
}
