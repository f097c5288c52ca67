package claims

import (
	"encoding/json"
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// maxTries bounds how often JSON is looked for in a text.
const maxTries = 100

// json reads a JSON value that begins on this line, perhaps behind a few words.
func (r *reader) json() bool {
	line := r.lines[r.at]
	start := strings.IndexAny(line, "{[")
	if start < 0 || start > 200 || line[start] == '[' && !strings.HasPrefix(strings.TrimSpace(line), "[") {
		return false
	}
	if r.tried++; r.tried > maxTries {
		return false
	}
	rest := line[start:] + "\n" + strings.Join(r.lines[r.at+1:min(len(r.lines), r.at+500)], "\n")
	decoder := json.NewDecoder(strings.NewReader(rest))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return false
	}
	if list, ok := value.([]any); ok && len(list) > 0 && strings.TrimSpace(line[:start]) != "" {
		return false
	}
	if object, ok := value.(map[string]any); ok && len(object) == 0 {
		return false
	}
	used := int(decoder.InputOffset())
	r.flush()
	if before := strings.TrimSpace(line[:start]); before != "" {
		r.line(before)
		r.flush()
	}
	r.flatten(value, nil)
	r.field = ""
	r.at += strings.Count(rest[:used], "\n") + 1
	return true
}

// value reads text that is JSON and nothing else.
func (r *reader) value(text string) bool {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return false
	}
	r.flatten(value, nil)
	r.field = ""
	return true
}

// maxDepth is how deep JSON is read.
const maxDepth = 20

// flatten makes a claim of each leaf of a JSON value.
func (r *reader) flatten(value any, above []string) {
	if len(above) > maxDepth || len(r.reading.Claims) >= maxClaims {
		r.reading.Unread++
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if len(above) == 0 {
				r.field = key
			}
			r.flatten(v[key], append(slices.Clone(above), key))
		}
	case []any:
		r.jsonList(v, above)
	default:
		subject := strings.Join(above, ".")
		words := notation.KeyWords(subject)
		if len(words) == 0 {
			return
		}
		r.identify(lastOf(above), scalar(v, words))
		r.add(subject, words, scalar(v, words), subject+": "+plainJSON(v))
	}
}

// jsonList reads a list: of objects with a name, of rows, or of plain values.
func (r *reader) jsonList(list []any, above []string) {
	if len(list) > maxMembers {
		r.reading.Unread++
		return
	}
	var members []notation.Value
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			members = append(members, scalar(element, nil))
			continue
		}
		label := rowName(object)
		if label == "" {
			r.reading.Unread++
			continue
		}
		for _, key := range sortedKeys(object) {
			if text, ok := object[key].(string); !ok || text != label {
				r.flatten(object[key], append(slices.Clone(above), label, key))
			}
		}
	}
	subject := strings.Join(above, ".")
	if len(members) == len(list) {
		v := notation.Value{Kind: notation.Set, Text: subject, List: members, Exact: true, Ordered: r.reading.task.ordered}
		if len(list) == 0 {
			v.Kind = notation.Nothing
		}
		raw, _ := json.Marshal(list)
		words := notation.KeyWords(subject)
		if len(words) == 0 {
			r.units++
			r.lists = append(r.lists, Claim{Subject: "list", Text: string(raw), Value: v, unit: r.units})
			return
		}
		r.add(subject, words, v, subject+": "+string(raw))
	}
}

// rowName returns the name of an object in a list; empty if it has none.
func rowName(object map[string]any) string {
	for _, key := range []string{"name", "id", "key", "title", "path", "file", "module", "package", "test", "host", "service"} {
		if text, ok := object[key].(string); ok {
			return text
		}
	}
	return ""
}

// scalar returns the value of a leaf.
func scalar(leaf any, words []string) notation.Value {
	switch v := leaf.(type) {
	case nil:
		return notation.Value{Kind: notation.Nothing, Text: "null"}
	case bool:
		return notation.Value{Kind: notation.Truth, Text: plainJSON(v), Yes: v}
	case json.Number:
		value := notation.Parse(v.String(), words)
		value.Text = v.String()
		return value
	case string:
		return notation.Parse(notation.Plain.Replace(v), words)
	}
	raw := plainJSON(leaf)
	return notation.Value{Kind: notation.Prose, Text: raw, Name: raw}
}

func plainJSON(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
