package claims

import (
	"slices"
	"strings"
	"unicode"

	"flame/agents/converge/notation"
)

// An item is one of a list.
type item struct {
	text     string
	numbered bool
}

// line reads one line outside of a block.
func (r *reader) line(raw string) {
	line := strings.TrimSpace(notation.Plain.Replace(dropFormer(raw)))
	if text, numbered, ok := bullet(line); ok {
		r.paragraph()
		r.items = append(r.items, item{text, numbered})
		return
	}
	if len(r.items) > 0 && strings.HasPrefix(raw, " ") {
		r.items[len(r.items)-1].text += " " + line
		return
	}
	continued := len(r.text) > 0 && !strings.ContainsAny(lastOf(r.text)[len(lastOf(r.text))-1:], ".!?:")
	if r.tool(line) || r.mark(line) {
		return
	}
	if v := notation.Parse(strings.Trim(line, "`"), nil); v.Kind == notation.File {
		r.paragraph()
		r.values = append(r.values, Claim{Subject: line, Text: line, Value: v, unit: r.units + 1})
		r.items = append(r.items, item{text: line})
		return
	}
	r.list()
	if members := ranking(line); members != nil && r.reading.task.ordered && !continued {
		r.paragraph()
		r.units++
		v := notation.Value{Kind: notation.Set, List: members, Exact: r.reading.task.exact, Ordered: true, Text: join(members)}
		r.lists = append(r.lists, Claim{Subject: "order", Text: line, Value: v, unit: r.units})
		return
	}
	if key, value, ok := keyValue(line); ok && !continued && several(line) == nil {
		r.paragraph()
		r.pair(key, value, line)
		return
	}
	if list := pairsIn(line); list != nil && !continued {
		r.paragraph()
		for _, one := range list {
			r.pair(one.key, one.value, line)
		}
		return
	}
	if line != "" {
		r.text = append(r.text, line)
	}
}

// dropFormer takes out what is struck through.
func dropFormer(s string) string {
	for {
		from := strings.Index(s, "~~")
		if from < 0 {
			return s
		}
		n := strings.Index(s[from+2:], "~~")
		if n < 0 {
			return s
		}
		s = s[:from] + s[from+n+4:]
	}
}

// bullet returns the text of a list item.
func bullet(line string) (text string, numbered, ok bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(rest), false, true
		}
	}
	n := 0
	for n < len(line) && n < 3 && notation.IsDigit(line[n]) {
		n++
	}
	if n > 0 && n+1 < len(line) && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ' {
		return strings.TrimSpace(line[n+2:]), true, true
	}
	return "", false, false
}

// mark reads a line of a checklist: "[x] it works", "✗ it does not".
func (r *reader) mark(line string) bool {
	for _, m := range []struct {
		sign string
		yes  bool
	}{{"[x] ", true}, {"[X] ", true}, {"[ ] ", false}, {"✓ ", true}, {"✔ ", true}, {"✅ ", true}, {"☑ ", true}, {"✗ ", false}, {"✘ ", false},
		{"❌ ", false}, {"☐ ", false}} {
		if rest, ok := strings.CutPrefix(line, m.sign); ok {
			r.add(rest, notation.KeyWords(rest), notation.Value{Kind: notation.Truth, Text: strings.TrimSpace(m.sign), Yes: m.yes}, line)
			return true
		}
	}
	return false
}

// maxMembers bounds the lists that are compared member by member.
const maxMembers = 300

// list reads the items of a list that has ended.
func (r *reader) list() {
	items := r.items
	r.items = nil
	if len(items) == 0 || r.lead.aside || r.section.aside {
		return
	}
	var rest []item
	for _, i := range items {
		if r.mark(i.text) || r.tool(i.text) {
			continue
		}
		if key, value, ok := keyValue(i.text); ok {
			r.pair(key, value, i.text)
			continue
		}
		if list := pairsIn(i.text); len(list) == 1 && !r.reading.task.ordered {
			r.pair(list[0].key, list[0].value, i.text)
			continue
		}
		rest = append(rest, i)
	}
	if len(rest) > maxMembers {
		r.reading.Unread++
		return
	}
	members, ok := names(rest)
	if !ok || len(members) == 0 || len(rest) < len(items) && len(rest) < 2 {
		for _, i := range rest {
			r.sentences(i.text)
		}
		return
	}
	t := r.reading.task
	v := notation.Value{Kind: notation.Set, List: members, Exact: t.exact, Ordered: t.ordered && (items[0].numbered || t.ordered), Text: join(members)}
	lead := r.lead
	if len(lead.words) == 0 {
		lead = r.section
	}
	before := len(r.reading.Claims)
	if len(lead.words) > 0 && len(lead.words) <= notation.MaxName {
		r.add(lead.text, lead.words, v, lead.text+": "+v.Text)
	}
	if len(r.reading.Claims) == before {
		r.units++
	}
	r.lists = append(r.lists, Claim{Subject: "list", Text: v.Text, Value: v, unit: r.units})
}

// ranking reads an order on one line: "a > b > c", "a, then b, then c".
func ranking(line string) []notation.Value {
	if key, value, ok := keyValue(line); ok && !strings.Contains(key, ">") {
		line = value
	}
	for _, sign := range []string{" > ", " -> ", " < ", ", then "} {
		parts := strings.Split(strings.TrimRight(line, "."), sign)
		if len(parts) < 3 || len(parts) > maxMembers {
			continue
		}
		if sign == " < " {
			slices.Reverse(parts)
		}
		list := make([]item, len(parts))
		for i, part := range parts {
			list[i] = item{strings.TrimSuffix(strings.TrimSuffix(part, " first"), " last"), true}
		}
		if members, ok := names(list); ok {
			return members
		}
	}
	return nil
}

func join(members []notation.Value) string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = m.Text
	}
	return strings.Join(texts, ", ")
}

// names returns the names that items begin with; ok is false if they are sentences.
func names(items []item) (members []notation.Value, ok bool) {
	for _, i := range items {
		head := i.text
		for _, sign := range []string{" - ", ": ", " (", "; ", ", "} {
			if at := strings.Index(head, sign); at > 0 {
				head = head[:at]
			}
		}
		head = strings.TrimSpace(strings.NewReplacer("**", "", "__", "").Replace(head))
		if len(strings.Fields(head)) > 4 || strings.HasSuffix(i.text, ".") && len(strings.Fields(i.text)) > 4 {
			return nil, false
		}
		members = append(members, notation.Parse(strings.TrimRight(strings.Trim(head, "` "), "."), nil))
	}
	return members, true
}

// maxKey is how long a key is at most, in bytes.
const maxKey = 60

// keyValue splits "key: value" and "key = value".
func keyValue(line string) (key, value string, ok bool) {
	line = strings.ReplaceAll(strings.ReplaceAll(line, "**", ""), "__", "")
	at, n := strings.Index(line, ": "), 2
	if equals := strings.Index(line, "="); equals > 0 && (at < 0 || equals < at) && !strings.HasPrefix(line[equals:], "==") &&
		!strings.ContainsRune("<>!+-:", rune(line[equals-1])) {
		if strings.HasPrefix(line[equals:], "= ") || !strings.Contains(line[:equals], " ") {
			at, n = equals, 1
		}
	}
	if at <= 0 {
		return "", "", false
	}
	key, value = strings.Trim(strings.TrimSpace(line[:at]), "`\"*_"), strings.TrimSpace(line[at+n:])
	return key, value, plainKey(key) && value != ""
}

// openers begin sentences rather than keys.
var openers = notation.SetOf("so but if when while since because note therefore thus hence however also then first second finally besides " +
	"though although i we he she they it there not")

// plainKey reports whether text may name what a value is of.
func plainKey(key string) bool {
	fields := strings.Fields(key)
	if len(key) > maxKey || len(fields) == 0 || len(fields) > 8 || strings.ContainsAny(key, "!?,;|") || strings.Contains(key, ". ") ||
		strings.HasSuffix(key, "http") || strings.HasSuffix(key, "https") {
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 &&
		!(openers.Has(strings.ToLower(fields[0])) && len(fields) > 1)
}

// corrections are keys and beginnings of what takes something back.
var corrections = []string{"correction", "corrected", "update", "edit", "erratum", "sorry", "actually"}

// withdrawn are keys of what is not claimed.
var withdrawn = notation.StemsOf("before former formerly previous previously old was alternative rejected considered discarded today currently")

// pair reads a key with its value.
func (r *reader) pair(key, value, line string) {
	if r.section.aside || slices.Contains(corrections, strings.ToLower(key)) {
		r.later = slices.Contains(corrections, strings.ToLower(key))
		r.sentences(value)
		return
	}
	if r.prefix != "" {
		key = r.prefix + "." + key
	}
	words := notation.KeyWords(key)
	if len(words) == 1 && withdrawn.Has(words[0]) {
		return
	}
	value, rest := firstSentence(value)
	main := value
	if at := strings.Index(main, " ("); at > 0 && strings.HasSuffix(main, ")") {
		main = main[:at]
	}
	main = arrived(main)
	v := notation.Parse(main, words)
	if isMain(words) || len(words) == 1 && words[0] == "us" {
		if c, ok := choice(value); ok {
			v = c.Value
		}
	}
	if list, ok := valuesIn(main); ok && (v.Kind == notation.Name || v.Kind == notation.Prose) {
		v = list
	}
	v.Text = value
	if v.Kind == notation.Atoms {
		words = append(words, "(dates)")
	}
	if begins(r.reading.Claims, key) {
		r.identify(key, v)
	}
	r.add(key, words, v, line)
	if rest != "" {
		r.sentences(rest)
	}
}

// firstSentence cuts off what follows the first sentence.
func firstSentence(text string) (sentence, rest string) {
	for i := 0; i+2 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' && (unicode.IsUpper(rune(text[i+2])) || text[i+2] == '`') && i > 1 {
			return text[:i], text[i+2:]
		}
	}
	return text, ""
}

// valuesIn returns a value that consists of several dates, as "1 May until 1 June" does.
func valuesIn(text string) (notation.Value, bool) {
	v := notation.Value{Kind: notation.Atoms, Text: text, Yes: true}
	for _, t := range notation.Lex(text) {
		switch {
		case t.Form == notation.ValueForm && t.Value.Kind == notation.Date:
			v.List = append(v.List, t.Value)
		case t.Form == notation.ValueForm:
			return v, false
		}
	}
	return v, len(v.List) > 1
}

// flush ends a paragraph and a list.
func (r *reader) flush() {
	r.paragraph()
	r.list()
}
