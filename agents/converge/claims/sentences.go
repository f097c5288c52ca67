package claims

import (
	"slices"
	"strings"
	"unicode"

	"flame/agents/converge/notation"
)

// paragraph reads the sentences of the paragraph that has ended. One that ends with a
// colon says what the lines below it are about.
func (r *reader) paragraph() {
	text := strings.Join(r.text, " ")
	if len(r.text) == 0 {
		return
	}
	r.text = nil
	r.list()
	r.lead = title{}
	if strings.HasSuffix(text, ":") {
		at := strings.LastIndex(strings.TrimRight(text, ":"), ". ")
		r.lead = titled(text[at+1:])
		text = text[:at+1]
	}
	if text != "" {
		r.sentences(text)
	}
}

// sentences reads running text.
func (r *reader) sentences(text string) {
	text = strings.NewReplacer("**", "", "__", "").Replace(text)
	from := 0
	for i := 0; i < len(text); i++ {
		if !strings.ContainsRune(".!?;", rune(text[i])) || i+1 < len(text) && text[i+1] != ' ' {
			continue
		}
		r.sentence(strings.TrimSpace(text[from:i]))
		from = i + 1
	}
	r.sentence(strings.TrimSpace(text[from:]))
}

// maxSentence is how many words a sentence has at most that is read.
const maxSentence = 60

// sentence reads one sentence.
func (r *reader) sentence(s string) {
	aside := r.section.aside || r.lead.aside && len(r.items) > 0
	if s == "" || aside {
		return
	}
	if !r.first {
		r.first = true
		s = r.opening(s)
	}
	if key, value, ok := keyValue(s); ok && strings.Count(key, " ") < 3 {
		r.pair(key, value, s)
		return
	}
	list := notation.Lex(s)
	if len(list) == 0 || ownWork(list) {
		return
	}
	if len(list) > maxSentence {
		r.reading.Unread++
		return
	}
	if one, ok := moved(s); ok {
		r.pair(one.key, one.value, s)
		return
	}
	before := len(r.reading.Claims)
	r.units++
	unit := r.units
	if c, ok := choice(s); ok {
		r.reading.Claims = append(r.reading.Claims, c)
		r.unit(before, unit)
		return
	}
	r.counts(list, s)
	if !formerly(list) || r.reading.task.past {
		r.note(list, s, unit)
	}
	r.changed(list, s)
	r.statement(list, s)
	r.same(list, s)
	r.unit(before, unit)
}

// changed reads "I changed X": who finds X unchanged says otherwise.
func (r *reader) changed(list []notation.Token, s string) {
	for i, t := range list[:min(2, len(list))] {
		if t.Text == "changed" && i+1 < len(list) && (list[i+1].Form == notation.NameForm || list[i+1].Form == notation.PathForm) {
			about := notation.Opposites()[notation.Stem("changed")].About
			v := notation.Value{Kind: notation.Name, Text: s, Words: []string{about}, Yes: true, Loose: true}
			r.add(list[i+1].Text, notation.KeyWords(list[i+1].Text), v, s)
		}
	}
}

// unit makes the claims since before those of one sentence: it is understood if one of
// them is found elsewhere.
func (r *reader) unit(before, unit int) {
	if len(r.reading.Claims) == before {
		r.reading.Unread++
		return
	}
	for i := before; i < len(r.reading.Claims); i++ {
		r.reading.Claims[i].unit, r.reading.Claims[i].prose = unit, true
	}
}

// opening reads an answer's first word, if it is yes or no.
func (r *reader) opening(s string) string {
	end := strings.IndexFunc(s+" ", func(c rune) bool { return !unicode.IsLetter(c) })
	word := strings.ToLower(s[:min(end, len(s))])
	if strings.HasPrefix(strings.ToLower(s), "not yet") && boundary(s[len("not yet"):]) {
		word, end = "no", len("not yet")
	}
	if none := word == "none" || word == "nothing"; none && boundary(s[end:]) && r.reading.task.exact {
		r.units++
		r.lists = append(r.lists, Claim{Subject: "list", Text: s, Value: notation.Value{Kind: notation.Nothing, Text: word}, unit: r.units})
		return strings.TrimLeft(s[end:], ",:;- ")
	}
	if word = affirmations[word]; word == "" || word == "no" && !boundary(s[end:]) {
		return s
	}
	r.units++
	r.reading.Claims = append(r.reading.Claims, Claim{
		unit: r.units, Subject: "answer", Text: s, Value: notation.Value{Kind: notation.Truth, Text: word, Yes: word == "yes"}, Main: true,
		wide: true, key: "answer", words: []string{"answer"},
	})
	return strings.TrimLeft(s[min(end, len(s)):], ",:;- ")
}

// affirmations are words that answer a question, each with the plain one for it.
var affirmations = map[string]string{"yes": "yes", "yep": "yes", "yeah": "yes", "no": "no", "nope": "no"}

// boundary reports whether no word follows at once: the one before stands for itself.
func boundary(rest string) bool {
	return !strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, " -") || strings.HasPrefix(rest, " (")
}

// workVerbs begin sentences about how an agent found out.
var workVerbs = notation.SetOf("ran run read counted measured checked tested taken found took compared looked searched verified bisected " +
	"asked repeated used tried went " +
	"reproduced confirmed source method from according based derived computed collected benchmarked saw made expected inspected happy")

// ownWork reports whether a sentence tells of the work of the agent itself.
func ownWork(list []notation.Token) bool {
	word := func(i int) string {
		if i < len(list) {
			return list[i].Text
		}
		return ""
	}
	if slices.ContainsFunc(list, func(t notation.Token) bool { return t.Text == "that" || t.Text == ":" }) {
		return false
	}
	if (word(0) == "i" || word(0) == "we") && (workVerbs.Has(word(1)) || word(1) == "have" || word(1) == "did" || word(1) == "only" ||
		word(1) == "also" || word(1) == "can") {
		return true
	}
	if workVerbs.Has(word(0)) && len(list) > 1 && list[0].Form == notation.WordForm && word(1) != "is" && word(1) != "are" {
		return true
	}
	for i, t := range list {
		if (t.Text == "took" || t.Text == "repeated" || t.Text == "bisection") && i < 4 {
			return true
		}
	}
	return false
}

// formerly reports whether a sentence tells what was, or what is not to be.
func formerly(list []notation.Token) bool {
	for i, t := range list {
		switch t.Text {
		case "was", "were", "formerly", "previously", "until", "older", "instead", "rather", "former", "before", "originally":
			return true
		case "used":
			return i+1 < len(list) && list[i+1].Text == "to"
		}
	}
	return false
}

// note keeps the values of a sentence, for a question that asks for one of a kind.
func (r *reader) note(list []notation.Token, s string, unit int) {
	for i, t := range list {
		switch {
		case t.Form == notation.ValueForm && t.Value.Kind == notation.Number || t.Form == notation.NumberWord:
			c := Claim{Subject: s, Text: s, Value: t.Value, unit: unit}
			if i > 0 && notation.Roughly()[list[i-1].Text] != "" {
				c.Value.Quantity.About = notation.Roughly()[list[i-1].Text] == "about"
				c.Value.Quantity.Bound = notation.LookBound(notation.Roughly()[list[i-1].Text])
			}
			for _, after := range list[i+1 : min(i+4, len(list))] {
				if after.Form != notation.WordForm {
					break
				}
				c.words = append(c.words, after.Stem)
			}
			if i > 0 && list[i-1].Form == notation.WordForm {
				c.words = append(c.words, list[i-1].Stem)
			}
			r.quantities = append(r.quantities, c)
		case t.Form == notation.ValueForm || t.Form == notation.PathForm:
			r.values = append(r.values, Claim{Subject: s, Text: s, Value: t.Value, unit: unit})
		}
	}
}

// counted are the stems of words whose counts are compared wherever they stand.
var counted = notation.SetOf("pass fail skip error warn ignor problem vulnerability")

// counts reads "2 passed, 1 failed" and "41 of 43 tests pass".
func (r *reader) counts(list []notation.Token, s string) bool {
	found := false
	for i, t := range list {
		if t.Form != notation.ValueForm && t.Form != notation.NumberWord || t.Value.Kind != notation.Number ||
			t.Value.Quantity.Dimension != "" && !t.Value.Quantity.Ratio {
			continue
		}
		for _, after := range list[i+1 : min(i+4, len(list))] {
			if after.Form != notation.WordForm {
				break
			}
			if counted.Has(after.Stem) {
				r.add(after.Text, []string{after.Stem}, t.Value, s)
				found = true
				break
			}
		}
	}
	return found
}

// verbs stand between a subject and what is said of it; but for "is" that must be a value.
var verbs = notation.SetOf("is are takes take lasts costs needs holds allows expires ends uses gets weighs returns equals")

// statement reads "X is Y".
func (r *reader) statement(list []notation.Token, s string) {
	at := slices.IndexFunc(list, func(t notation.Token) bool { return t.Form == notation.WordForm && verbs.Has(t.Text) })
	if at < 1 || at > 7 || at+1 >= len(list) {
		return
	}
	var subject []string
	for i, t := range list[:at] {
		if t.Form == notation.SignForm || i == 0 && (openers.Has(t.Text) || t.Text == "this" || t.Text == "that" || t.Text == "these" || t.Text == "what") {
			if i == 0 && (t.Text == "so" || t.Text == "therefore") {
				continue
			}
			return
		}
		subject = append(subject, t.Text)
	}
	words := notation.KeyWords(strings.Join(subject, " "))
	v, ok := predicate(list[at+1:])
	if list[at].Text != "is" && list[at].Text != "are" && (v.Kind <= notation.Truth || v.Kind >= notation.Name) {
		return
	}
	if !ok || len(words) == 0 || len(words) > notation.MaxName {
		return
	}
	r.add(strings.Join(subject, " "), words, v, s)
}

// predicate returns what a sentence says that something is.
func predicate(list []notation.Token) (notation.Value, bool) {
	not := false
	var texts []string
	for _, t := range list {
		if t.Form == notation.SignForm && t.Text != "-" || t.Form == notation.WordForm && slices.Contains([]string{"because", "since", "so",
			"which", "as", "and", "but", "when", "if", "that", "unless"}, t.Text) {
			break
		}
		if len(texts) > 0 && t.Form == notation.WordForm && slices.Contains([]string{"on", "for", "at", "by", "in", "per"}, t.Text) {
			break
		}
		switch {
		case t.Form == notation.WordForm && (t.Text == "not" || t.Text == "never"):
			not = !not
			continue
		case t.Form == notation.WordForm && len(texts) == 0 && slices.Contains([]string{"now", "still", "already", "currently", "in", "at",
			"a", "an", "the", "set", "to", "always"}, t.Text):
			continue
		}
		texts = append(texts, t.Text)
	}
	if len(texts) == 0 || len(texts) > 4 {
		return notation.Value{}, false
	}
	v := notation.Parse(strings.Join(texts, " "), nil)
	if v.Kind == notation.Truth && len(texts) == 1 && not {
		v.Yes = !v.Yes
		return v, true
	}
	if v.Kind == notation.Name {
		v.Yes = v.Yes != not
		v.Loose = !slices.ContainsFunc(list, func(t notation.Token) bool { return t.Form == notation.NameForm })
		if o, ok := notation.Opposites()[notation.Stem(texts[0])]; ok && len(texts) == 1 {
			v.Words, v.Yes = []string{o.About}, v.Yes == o.Affirms
		}
	}
	return v, v.Kind != notation.Prose && (v.Kind == notation.Name || !not)
}

// auxiliaries are words that a negation may need.
var auxiliaries = notation.SetOf("do does did a an the always will would")

// labels are words whose number names a thing.
var labels = notation.SetOf("node step line section table run round phase test case issue figure item chapter node part page level")

// whole begins the keys of sentences that a line with yes or no may be about.
const whole = "~ "

var fillerStems = notation.StemsOf("a an the of for in on at to by is are was were be it its this that and or as with from")

// same makes a claim of the values in a sentence, whose subject is the rest of it:
// sentences that are equal but for their numbers say something of the same thing.
func (r *reader) same(list []notation.Token, s string) {
	v := notation.Value{Kind: notation.Atoms, Text: s, Yes: true}
	var key []string
	content := 0
	for i, t := range list {
		switch {
		case (t.Form == notation.ValueForm || t.Form == notation.PathForm || t.Form == notation.NumberWord) && !(i > 0 && i < 3 && labels.Has(list[i-1].Text)):
			if i > 0 && notation.Roughly()[list[i-1].Text] == "about" && t.Value.Kind == notation.Number {
				t.Value.Quantity.About = true
				if list[i-1].Form == notation.WordForm && len(key) > 0 {
					key = key[:len(key)-1]
				}
			}
			v.List = append(v.List, t.Value)
			key = append(key, "#")
		case t.Form == notation.SignForm || auxiliaries.Has(t.Text):
		case notation.Negations.Has(t.Text):
			v.Yes = !v.Yes
		default:
			word := t.Stem
			if o, ok := notation.Opposites()[word]; ok {
				word = o.About
				v.Yes = v.Yes == o.Affirms
			}
			if word == "" {
				word = strings.ToLower(t.Text)
			}
			if !notation.Fillers.Has(t.Text) {
				content++
			}
			key = append(key, word)
		}
	}
	if content < 2 || content < 3 && len(v.List) == 0 || len(r.reading.Claims) >= maxClaims {
		return
	}
	r.reading.Claims = append(r.reading.Claims, Claim{Subject: shortened(s), Text: s, Value: v, key: "= " + strings.Join(key, " ")})
	if len(v.List) == 0 && content <= notation.MaxName {
		words := slices.DeleteFunc(key, func(word string) bool { return fillerStems.Has(word) })
		slices.Sort(words)
		truth := notation.Value{Kind: notation.Truth, Text: s, Yes: v.Yes}
		r.reading.Claims = append(r.reading.Claims, Claim{
			Subject: shortened(s), Text: s, Value: truth, key: whole + strings.Join(words, " "), words: slices.Compact(words), extra: true,
		})
	}
}

// shortened returns the beginning of a sentence, as the name of what it is about.
func shortened(s string) string {
	words := strings.Fields(s)
	if len(words) > 8 {
		return strings.Join(words[:8], " ") + " …"
	}
	return s
}
