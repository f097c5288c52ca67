package claims

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// fence reads a fenced block.
func (r *reader) fence(open string) {
	from := r.at + 1
	for r.at = from; r.at < len(r.lines) && !strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), open[:3]); {
		r.at++
	}
	inside := r.lines[from:r.at]
	r.at = min(r.at+1, len(r.lines))
	items, prefix := r.items, r.prefix
	r.items, r.prefix = nil, ""
	rows, info := grid(inside, true), strings.ToLower(strings.TrimSpace(strings.Trim(open, "`~")))
	switch value, _, ok := decode(strings.TrimSpace(strings.Join(inside, "\n"))); {
	case ok:
		r.flatten(value, nil)
	case looksLikeDiff(inside):
		r.hunks(inside)
	case wordIn("programs")(info):
		r.unread++
	case rows != nil:
		r.rows(rows[0], rows[1:])
	default:
		r.code(inside)
	}
	r.items, r.prefix = items, prefix
}

// comments matches lines of settings and of output without content.
var comments = core.Pattern(`^(?:\$ |#|;|//|$)`)

// code reads lines of settings, or the output of a tool. A key without a value is the parent
// of the indented keys below it.
func (r *reader) code(inside []string) {
	understood, other, section, nest := false, false, "", []string(nil)
	for _, raw := range inside {
		line, _, _ := strings.Cut(strings.TrimSpace(plain.Replace(raw)), " #")
		nest = nest[:min((len(raw)-len(strings.TrimLeft(raw, " ")))/2, len(nest))]
		r.prefix = strings.Join(lo.Compact(append([]string{section}, nest...)), ".")
		key, above := strings.CutSuffix(line, ":")
		switch {
		case comments().MatchString(line):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = strings.Trim(line, "[]")
		case above && plainKey(key):
			nest = append(nest, key)
		case isPath(line):
			r.items = append(r.items, line)
			understood = true
		case r.quantities(lex(line), line, false), r.named(line):
			understood = true
		default:
			other = true
		}
	}
	r.list()
	if other && !understood {
		r.unread++
	}
}

// maxTries is how often the reader tries to parse JSON in a text, maxDepth how deep it reads
// JSON.
const (
	maxTries = 100
	maxDepth = 20
)

// decode parses the JSON object or list at the beginning of text; whole reports whether
// nothing else follows.
func decode(text string) (value any, used int, whole bool) {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, 0, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, 0, false
	}
	return value, int(decoder.InputOffset()), !decoder.More()
}

// json reads a JSON value that begins on this line, perhaps after a few words.
func (r *reader) json() bool {
	line := r.lines[r.at]
	start := strings.IndexAny(line, "{[")
	if start < 0 || start > 200 || line[start] == '[' && !strings.HasPrefix(strings.TrimSpace(line), "[") || r.tried >= maxTries {
		return false
	}
	r.tried++
	rest := line[start:] + "\n" + strings.Join(r.lines[r.at+1:min(len(r.lines), r.at+500)], "\n")
	value, used, _ := decode(rest)
	object, _ := value.(map[string]any)
	if list, ok := value.([]any); used == 0 || !ok && len(object) == 0 || len(list) > 0 && strings.TrimSpace(line[:start]) != "" {
		return false
	}
	r.flush()
	if before := strings.TrimSpace(line[:start]); before != "" {
		r.line(before)
		r.flush()
	}
	r.flatten(value, nil)
	r.at += strings.Count(rest[:used], "\n") + 1
	return true
}

// flatten makes a claim of each leaf of a JSON value.
func (r *reader) flatten(value any, above []string) {
	if len(above) > maxDepth || len(r.Claims) >= maxClaims {
		r.unread++
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if len(above) == 0 {
				r.field = key
			}
			r.flatten(v[key], append(slices.Clone(above), key))
		}
	case []any:
		r.jsonList(v, above)
	default:
		subject := strings.Join(above, ".")
		if words := keyWords(subject); len(words) > 0 {
			leaf := leafValue(v, words)
			r.identify(above[len(above)-1], leaf)
			r.add(subject, words, leaf, subject+": "+leaf.Text)
		}
	}
	if len(above) == 0 {
		r.field = ""
	}
}

// jsonList reads a list of objects with names, or of plain values.
func (r *reader) jsonList(list []any, above []string) {
	if len(list) > maxMembers {
		r.unread++
		return
	}
	objects := lo.FilterMap(list, func(element any, _ int) (map[string]any, bool) {
		object, ok := element.(map[string]any)
		return object, ok
	})
	for _, object := range objects {
		label := rowName(object)
		if label == "" {
			r.unread++
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if object[key] != any(label) {
				r.flatten(object[key], append(slices.Clone(above), label, key))
			}
		}
	}
	if len(objects) > 0 {
		return
	}
	v := r.set(lo.Map(list, func(element any, _ int) Value { return leafValue(element, nil) }), true)
	if len(list) == 0 {
		v.Kind = Nothing
	}
	raw, _ := json.Marshal(list)
	subject := strings.Join(above, ".")
	v.Text = subject
	if words := keyWords(subject); len(words) > 0 {
		r.add(subject, words, v, subject+": "+string(raw))
	} else {
		r.addList("list", string(raw), v)
	}
}

// rowName returns the name of an object in a list; empty if it has none.
func rowName(object map[string]any) string {
	named := lo.FilterMap(lists.Of("names").Entries(), func(key string, _ int) (string, bool) {
		text, ok := object[key].(string)
		return text, ok
	})
	return lo.FirstOrEmpty(named)
}

// leafValue returns the value of a leaf.
func leafValue(leaf any, words []string) Value {
	if text, ok := leaf.(string); ok {
		return Parse(plain.Replace(text), words)
	}
	raw, _ := json.Marshal(leaf)
	return Parse(string(raw), words)
}

// The marks of a patch, and of its removed and added lines.
var diffMark = core.Pattern(`^(?:@@ |--- |\+\+\+ |diff --git )`)

// looksLikeDiff reports whether lines are a patch.
func looksLikeDiff(lines []string) bool {
	marks, others := lo.FilterReject(lines, func(line string, _ int) bool { return diffMark().MatchString(line) })
	signs := lo.Map(others, func(line string, _ int) string { return line[:min(1, len(line))] })
	removed, added := slices.Contains(signs, "-"), slices.Contains(signs, "+")
	return len(marks) > 0 && (removed || added) || removed && added && !strings.HasPrefix(lines[0], "- ")
}

// diff reads a patch that begins on this line.
func (r *reader) diff() bool {
	line := r.lines[r.at]
	if !diffMark().MatchString(line) || line[0] == '+' ||
		line[0] == '-' && (r.at+1 == len(r.lines) || !strings.HasPrefix(r.lines[r.at+1], "+++ ")) {
		return false
	}
	from := r.at
	r.flush()
	for r.at < len(r.lines) && strings.TrimSpace(r.lines[r.at]) != "" && !strings.HasPrefix(r.lines[r.at], "```") {
		r.at++
	}
	r.hunks(r.lines[from:r.at])
	return true
}

// change matches lines that a patch removes and those that it adds in their place.
var change = core.Pattern(`(?m)((?:^-.*\n)+)((?:^\+.*\n)*)|((?:^\+.*\n)+)`)

// hunks reads the changes of a patch. The subject of a claim is the removed lines, its value
// the added lines.
func (r *reader) hunks(lines []string) {
	unmarked := lo.Map(lines, func(line string, _ int) string { return lo.Ternary(diffMark().MatchString(line), "", line) })
	bare := func(block string) (list []string) {
		for line := range strings.Lines(block) {
			list = append(list, strings.Join(strings.Fields(line[1:]), " "))
		}
		return list
	}
	for _, m := range change().FindAllStringSubmatch(strings.Join(unmarked, "\n")+"\n", -1) {
		removed, added := bare(m[1]), bare(m[2]+m[3])
		subject, text := "line "+strings.Join(removed, " / "), strings.Join(added, "\n")
		if len(removed) == 0 {
			subject = "added " + added[0]
		}
		r.add(subject, []string{subject}, Value{Kind: Exact, Text: text, name: text}, text)
	}
}
