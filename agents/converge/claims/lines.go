package claims

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

var (
	struckOut = core.Pattern(`~~.*?~~`)
	itemForm  = core.Pattern(`^(?:[-*+•]|\d{1,3}[.)]) +(.*)$`)
)

// line reads one line outside of a block.
func (r *reader) line(raw string) {
	line := strings.TrimSpace(plain.Replace(struckOut().ReplaceAllString(raw, "")))
	if m := itemForm().FindStringSubmatch(line); m != nil {
		r.paragraph()
		r.items = append(r.items, m[1])
		return
	}
	if n := len(r.items); n > 0 && strings.HasPrefix(raw, " ") {
		r.items[n-1] += " " + line
		return
	}
	if r.outcome(line) {
		return
	}
	if v := Parse(strings.Trim(line, "`"), nil); v.Kind == File {
		r.paragraph()
		r.loose = append(r.loose, Claim{Subject: line, Text: line, Value: v, unit: r.units + 1})
		r.items = append(r.items, line)
		return
	}
	r.list()
	if n := len(r.text); n > 0 && !strings.ContainsAny(r.text[n-1][len(r.text[n-1])-1:], ".!?:") {
		r.text = append(r.text, line) // it continues the sentence of the previous line
		return
	}
	if r.task.is["ordered"] {
		if members := ranking(line); members != nil {
			r.paragraph()
			r.addList("order", line, r.set(members, r.task.is["exact"]))
			return
		}
	}
	if !r.named(line) {
		r.text = append(r.text, line)
	}
}

// named reads a line or an item of a list that names its subjects.
func (r *reader) named(line string) bool {
	if r.outcome(line) {
		return true
	}
	list := several(line)
	if one, ok := readKeyed(line, lo.Ternary(r.task.is["ordered"], signed, signed|inLine)); ok && list == nil {
		list = []keyed{one}
	}
	if list != nil {
		r.paragraph()
	}
	for _, one := range list {
		r.pair(one, line)
	}
	return list != nil
}

// outcome reads a line of a checklist, of a test runner or of a benchmark. It ignores how long
// tests took.
func (r *reader) outcome(line string) bool {
	for i, form := range outcomes {
		if m := form().FindStringSubmatch(line); m != nil {
			says, subject := m[form().SubexpIndex("says")], m[form().SubexpIndex("of")]
			words := lo.Ternary(i == 0, keyWords(subject), []string{"test " + subject})
			r.add(subject, words, Value{Kind: Truth, Text: line, Yes: meaning("outcomes", says) == "yes"}, line)
			return true
		}
	}
	if totals().MatchString(line) {
		return r.quantities(lex(strings.Trim(line, "= ")), line, false)
	}
	return line == "PASS" || line == "FAIL" || r.benchmark(strings.Fields(line), line)
}

// totals matches the lines in which test runners count outcomes.
var totals = core.Pattern(`^(?:===|test result:|Tests:)`)

// benchmark reads a line of go test -bench. It ignores the number of runs.
func (r *reader) benchmark(fields []string, line string) bool {
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return false
	}
	label, _, _ := strings.Cut(fields[0], "-")
	for i := 2; i+1 < len(fields); i += 2 {
		q, n := readSigned(fields[i], 0)
		if n == 0 || n != len(fields[i]) {
			return false
		}
		q.dimension, q.unit, q.digits = fields[i+1], fields[i+1], ""
		r.add(label+" "+fields[i+1], []string{label, fields[i+1]}, Value{Kind: Number, Text: fields[i], number: q}, line)
	}
	return true
}

// list reads the items of a complete list.
func (r *reader) list() {
	items, rest := r.items, []string(nil)
	r.items = nil
	if len(items) == 0 || r.lead.aside || r.section.aside {
		return
	}
	for _, i := range items {
		if !r.named(i) {
			rest = append(rest, i)
		}
	}
	if len(rest) > maxMembers {
		r.unread++
		return
	}
	members, ok := names(rest)
	if !ok || len(members) == 0 || len(rest) < len(items) && len(rest) < 2 {
		for _, i := range rest {
			r.sentences(i)
		}
		return
	}
	v := r.set(members, r.task.is["exact"])
	lead, before := r.lead, len(r.Claims)
	if len(lead.words) == 0 {
		lead = r.section
	}
	if len(lead.words) <= maxName {
		r.add(lead.text, lead.words, v, lead.text+": "+v.Text)
	}
	r.units -= len(r.Claims) - before // the same list with and without its title counts once
	r.addList("list", v.Text, v)
}

// set returns a list as a value; all says that it is complete.
func (r *reader) set(members []Value, all bool) Value {
	texts := lo.Map(members, func(m Value, _ int) string { return m.Text })
	return Value{Kind: Set, list: members, all: all, Ordered: r.task.is["ordered"], Text: strings.Join(texts, ", ")}
}

var nameEnd = core.Pattern(` - |: | \(|[;,] `)

// names returns the names at the beginning of items; ok is false if the items are sentences.
func names(items []string) (members []Value, ok bool) {
	for _, i := range items {
		head := i
		if at := nameEnd().FindStringIndex(head); at != nil && at[0] > 0 {
			head = head[:at[0]]
		}
		head = strings.TrimSpace(unmarked.Replace(head))
		if len(strings.Fields(head)) > 4 || strings.HasSuffix(i, ".") && len(strings.Fields(i)) > 4 {
			return nil, false
		}
		members = append(members, Parse(strings.TrimRight(strings.Trim(head, "` "), "."), nil))
	}
	return members, true
}

// ranking reads an order on one line: "a > b > c", "a, then b, then c".
func ranking(line string) []Value {
	if one, ok := readKeyed(line, signed); ok && !strings.Contains(one.key, ">") {
		line = one.value
	}
	for _, sign := range []string{" > ", " -> ", ", then "} {
		parts := strings.Split(strings.TrimRight(line, "."), sign)
		members, ok := names(parts)
		if ok && len(parts) > 2 && len(parts) <= maxMembers {
			return members
		}
	}
	return nil
}

// sentenceEnd matches the beginning of another sentence after a value.
var sentenceEnd = core.Pattern("^(..+?)\\. ([A-Z`].*)$")

// pair reads a key with its value.
func (r *reader) pair(one keyed, line string) {
	if correction := wordIn("corrections")(strings.ToLower(one.key)); correction || r.section.aside {
		r.later = correction
		r.sentences(one.value)
		return
	}
	if r.prefix != "" {
		one.key = r.prefix + "." + one.key
	}
	words, rest := keyWords(one.key), ""
	if len(words) == 1 && stemIn("withdrawn")(words[0]) {
		return
	}
	if m := sentenceEnd().FindStringSubmatch(one.value); m != nil {
		one.value, rest = m[1], m[2]
	}
	v := r.valueOf(one.value, words)
	if v.Kind == Atoms {
		words = append(words, "(dates)")
	}
	if !slices.ContainsFunc(r.Claims, func(c Claim) bool { return c.key != "" && !strings.EqualFold(c.key, one.key) }) {
		r.identify(one.key, v)
	}
	r.add(one.key, words, v, line)
	if rest != "" {
		r.sentences(rest)
	}
}

// valueOf reads the value of a key with these words.
func (r *reader) valueOf(text string, words []string) Value {
	main := text
	if at := strings.LastIndex(main, " -> "); at >= 0 { // the end of "100 -> 200"
		from, to := Parse(main[:at], nil), Parse(main[at+4:], nil)
		if from.Kind == to.Kind && to.plain() || from.Kind == Nothing {
			main = main[at+4:]
		}
	}
	v := Parse(main, words)
	if isMain(words) {
		if chosen, _, ok := choice(text); ok {
			v = chosen
		}
	}
	if dates := datesIn(main); len(dates) > 1 && (v.Kind == Name || v.Kind == Prose) {
		v = Value{Kind: Atoms, Yes: true, list: dates}
	}
	v.Text = text
	return v
}

// datesIn returns the dates of a text without other values, such as "1 May until 1 June".
func datesIn(text string) (dates []Value) {
	for _, t := range lex(text) {
		switch {
		case t.form == valueForm && t.value.Kind == Date:
			dates = append(dates, t.value)
		case t.form == valueForm && t.value.Kind != File && t.stem == "":
			return nil
		}
	}
	return dates
}

// identify records the thing that the whole text is about, if a claim names it.
func (r *reader) identify(key string, v Value) {
	words := keyWords(key)
	if len(words) != 1 || !stemIn("identities")(words[0]) || v.Kind == Set || v.Kind == Prose {
		return
	}
	if r.identity == nil {
		r.identity = map[string]Value{}
	}
	r.identity[words[0]] = v
}
