package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// A reader goes through the lines of a text.
type reader struct {
	lines   []string
	at      int
	section title  // the heading above
	lead    title  // the line above a list or a table that ends with a colon
	prefix  string // of the keys in an INI section
	field   string // of a JSON object at the top
	units   int    // lines and sentences with claims
	tried   int    // how often JSON was looked for
	text    []string
	first   bool // the first sentence was read
	later   bool // what follows corrects what came before
	items   []item
	reading Reading

	quantities []Claim // numbers with what they count, for a question that asks how many
	values     []Claim // other values in sentences, for a question that asks which
	lists      []Claim
}

// A title says what the lines below it are about.
type title struct {
	text  string
	words []string
	aside bool // they are no claims: reasons, steps, rejected options, what was before
}

// asides are words of titles of what is not claimed.
var asides = notation.StemsOf("reason why note step alternative considered rejected background history timeline today current present " +
	"before former previous old outdated " +
	"example appendix discarded open next todo evidence method context option pro con")

func titled(text string) title {
	text = strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "#*_: "))
	t := title{text: text, words: notation.KeyWords(notation.Plain.Replace(text))}
	if all := notation.SplitWords(text); len(all) > 0 && len(t.words) <= 4 {
		t.aside = asides.Has(notation.Stem(all[0])) || len(t.words) <= 2 && slices.ContainsFunc(t.words, func(word string) bool { return asides.Has(word) })
	}
	return t
}

// add notes a claim about a subject named by words.
func (r *reader) add(subject string, words []string, v notation.Value, text string) {
	if len(words) == 0 || v.Kind == notation.Nothing && len(words) > notation.MaxName+3 || len(r.reading.Claims) >= maxClaims {
		return
	}
	if r.reading.task.work(words) {
		return
	}
	c := Claim{
		Subject: strings.TrimSpace(subject), Text: strings.TrimSpace(text), Value: v, key: strings.Join(words, " "), words: words,
		scope: r.scope(), later: r.later, Field: r.field,
	}
	c.Main = isMain(words)
	c.wide = c.Main || slices.Equal(words, []string{"answer"})
	c.prose = v.Kind == notation.Prose
	r.units++
	c.unit = r.units
	r.reading.Claims = append(r.reading.Claims, c)
}

// mains are words of a subject that name the answer itself.
var mains = notation.StemsOf("recommendation verdict conclusion answer decision result choice approval")

// isMain reports whether words name the answer itself.
func isMain(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return mains.Has(word) }) && len(words) <= 2
}

// works are words of subjects that belong to the work of one agent: how and when it
// found out, not what.
var works = notation.StemsOf("took elapsed taken method source confidence iteration sample checked check measured ran run rerun repeated " +
	"note comment evidence " +
	"generated scanned timestamp author reviewer machine seed wall detail reason background caveat remark command reference seen")

// work reports whether words name what belongs to the work of one agent, unless the
// task asks for it.
func (t task) work(words []string) bool {
	if len(words) > 3 {
		return false
	}
	own := func(word string) bool { return works.Has(word) && !slices.Contains(t.words, word) }
	if own(words[0]) && len(words) == 1 {
		return true
	}
	if len(words) == 1 {
		return whens.Has(words[0]) && !slices.Contains(t.words, words[0]) && !t.long
	}
	return slices.ContainsFunc(words, func(word string) bool { return own(word) && moments.Has(word) })
}

// scope returns the words of the headings above that say where something holds.
func (r *reader) scope() (list []string) {
	for _, word := range slices.Concat(r.section.words, r.lead.words) {
		if notation.Scopes()[word] != "" && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return list
}

// whens are subjects that alone tell only when an agent did something, or how long that
// took; moments are such with words beside them.
var (
	whens   = notation.StemsOf("duration time runtime date when at")
	moments = notation.StemsOf("checked check measured scanned generated elapsed timestamp sample iteration")
)
