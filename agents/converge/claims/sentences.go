package claims

import (
	"slices"
	"strings"

	"flame/core"
)

// paragraph reads the sentences of the paragraph that has ended. Its last sentence is the
// title of the lines below if it ends with a colon.
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
	r.sentences(text)
}

// sentences reads running text.
func (r *reader) sentences(text string) {
	for _, s := range sentenceEnds().Split(unmarked.Replace(text), -1) {
		r.sentence(strings.TrimSpace(s))
	}
}

var sentenceEnds = core.Pattern(`[.!?;](?: |$)`)

// maxSentence is the most words in a sentence; a longer one counts as not understood.
const maxSentence = 60

// sentence reads one sentence.
func (r *reader) sentence(s string) {
	if s == "" || r.section.aside {
		return
	}
	if !r.first {
		r.first = true
		s = r.opening(s)
	}
	if one, ok := readKeyed(s, signed); ok && strings.Count(one.key, " ") < 3 {
		r.pair(one, s)
		return
	}
	list := lex(s)
	switch {
	case len(list) == 0 || ownWork(s):
		return
	case len(list) > maxSentence:
		r.unread++
		return
	}
	before := len(r.Claims)
	r.units++
	unit := r.units
	if v, slot, ok := choice(s); ok {
		words := slices.Sorted(slices.Values(append(keyWords(slot), "recommend")))
		r.Claims = append(r.Claims, Claim{
			Subject: strings.TrimSpace("recommendation " + slot), Text: s, Value: v, main: true, wide: len(words) == 1,
			key: strings.Join(words, " "), words: words,
		})
	} else {
		r.quantities(list, s, !formerForm().MatchString(s) || r.task.is["past"])
		r.statement(s)
		r.same(list, s)
	}
	if len(r.Claims) == before {
		r.unread++
	}
	for i := range r.Claims[before:] { // the sentence is understood if another text has one of them
		r.Claims[before+i].unit, r.Claims[before+i].prose = unit, true
	}
}

// openings are first words that answer a question, unless they belong to the next word.
var openings = core.Pattern(`^(?i)(?:(yes|yep|yeah)\b|(?:(no|nope|not yet)|(none|nothing))(?:$| [-(]|[^ \pL]))[,:;-]* *`)

// opening reads the first word of an answer, if that is yes, no or none.
func (r *reader) opening(s string) string {
	m := openings().FindStringSubmatch(s)
	switch {
	case m == nil || m[3] != "" && !r.task.is["exact"]:
		return s
	case m[3] != "":
		r.addList("list", s, Value{Kind: Nothing})
	default:
		r.add("answer", []string{"answer"}, Value{Kind: Truth, Text: strings.ToLower(m[1] + m[2]), Yes: m[1] != ""}, s)
	}
	return s[len(m[0]):]
}

// The forms of sentences about the agent's own work, and about former or rejected things.
var (
	workForm = core.Pattern(`(?i)^(?:(?:(?:i|we) )?(?:ran|run|read|counted|measured|checked|tested|taken|found|took|compared|looked|searched|verified|bisected|` +
		`asked|repeated|used|tried|went|reproduced|confirmed|source|method|from|according|based|derived|computed|collected|benchmarked|saw|made|expected|` +
		`inspected|happy) (is |are )?|(?:i|we) (?:have|did|only|also|can) |(?:\S+ ){0,3}(?:took|repeated|bisection)\b)`)
	formerForm = core.Pattern(`(?i)\b(?:was|were|formerly|previously|until|older|instead|rather|former|before|originally|used to)\b`)
)

// ownWork reports whether a sentence is about how the agent found its answer.
func ownWork(s string) bool {
	m := workForm().FindStringSubmatch(s)
	return m != nil && m[1] == "" && !strings.Contains(s, " that ") && !strings.Contains(s, ": ")
}

// quantities reads the counts in "2 passed, 1 failed" and "41 of 43 tests pass". With keep it
// keeps all values with the words around them, for a question that asks for one.
func (r *reader) quantities(list []token, s string, keep bool) (found bool) {
	for i, t := range list {
		if t.form != valueForm {
			continue
		}
		c := Claim{Subject: s, Text: s, Value: t.value, unit: r.units}
		for _, after := range list[i+1 : min(i+4, len(list))] {
			if after.form != wordForm {
				break
			}
			c.words = append(c.words, after.stem)
		}
		at := slices.IndexFunc(c.words, wordIn("counted"))
		if at >= 0 && t.value.Kind == Number && (t.value.number.dimension == "" || t.value.number.of > 0) {
			r.add(list[i+1+at].text, c.words[at:at+1:at+1], t.value, s)
			found = true
		}
		if !keep {
			continue
		}
		if i > 0 && list[i-1].form == wordForm {
			c.words = append(c.words, list[i-1].stem)
		}
		if i > 0 && t.value.Kind == Number {
			c.Value.number = t.value.number.bounded(meaning("rough", list[i-1].text))
		}
		r.loose = append(r.loose, c)
	}
	return found
}

// The forms of "X is Y" and "I changed X", of the words before Y, and of those after it.
var (
	isForm      = core.Pattern(`^(.+?) (is|are|takes?|lasts|costs|needs|holds|allows|expires|ends|uses|gets|weighs|returns|equals) (.+)$`)
	changedForm = core.Pattern("^(?:I |We )?[Cc]hanged (`[^`]+`|\\S*[_./A-Z]\\S*)")
	leadForm    = core.Pattern(`^(?:(?:now|still|already|currently|in|at|an?|the|set|to|always|(not|never)) )*`)
	vagueForm   = core.Pattern(`(?i)^(?:so|but|if|when|while|since|because|however|then|there|not|i|we|he|she|they|it|this|that|these|what)\b`)
	restForm    = core.Pattern(`(?:[,:()]| (?:because|since|so|which|as|and|but|when|if|that|unless|on|for|at|by|in|per) ).*$`)
)

// statement reads "X is Y", and "I changed X", which contradicts "X is unchanged".
func (r *reader) statement(s string) {
	if m := changedForm().FindStringSubmatch(s); m != nil {
		about := opposites()[stem("changed")].about
		r.add(strings.Trim(m[1], "`"), keyWords(m[1]), Value{Kind: Name, Text: s, words: []string{about}, Yes: true, loose: true}, s)
	}
	m := isForm().FindStringSubmatch(s)
	if m == nil || !plainKey(m[1]) || vagueForm().MatchString(m[1]) {
		return
	}
	words, not := keyWords(m[1]), leadForm().FindStringSubmatch(m[3])[1] != ""
	v := Parse(restForm().ReplaceAllString(leadForm().ReplaceAllString(m[3], ""), ""), nil)
	denied := not && v.Kind != Name && v.Kind != Truth
	if v.Kind == Prose || denied || len(words) > maxName || len(strings.Fields(v.Text)) > 4 {
		return
	}
	v.Yes, v.loose = v.Yes != not, !slices.ContainsFunc(lex(m[3]), func(t token) bool { return t.form == nameForm })
	if m[2] == "is" || m[2] == "are" || v.Kind > Truth && v.Kind < Name {
		r.add(m[1], words, v, s)
	}
}

// whole begins the keys of whole sentences; a line with yes or no may have such a subject.
const whole = "~ "

// same adds a claim whose value is all values in a sentence and whose subject is the rest:
// sentences that differ only in their numbers are about the same thing.
func (r *reader) same(list []token, s string) {
	v := Value{Kind: Atoms, Text: s, Yes: true}
	var key []string
	content := 0
	for i, t := range list {
		switch {
		case t.form == valueForm && !(i > 0 && i < 3 && wordIn("labels")(list[i-1].text)):
			if i > 0 && meaning("rough", list[i-1].text) == "about" && t.value.Kind == Number {
				t.value.number.about = true
				if list[i-1].form == wordForm && len(key) > 0 {
					key = key[:len(key)-1]
				}
			}
			v.list = append(v.list, t.value)
			key = append(key, "#")
		case t.form == signForm || wordIn("auxiliaries")(t.text):
		case wordIn("negations")(t.text):
			v.Yes = !v.Yes
		default:
			word := t.stem
			if o, ok := opposites()[word]; ok {
				word = o.about
				v.Yes = v.Yes == o.affirms
			}
			if word == "" {
				word = strings.ToLower(t.text)
			}
			if !wordIn("fillers")(t.text) {
				content++
			}
			key = append(key, word)
		}
	}
	if content < 2 || content < 3 && len(v.list) == 0 || len(r.Claims) >= maxClaims {
		return
	}
	subject := strings.Fields(s)
	if len(subject) > 8 {
		subject = append(subject[:8], "…")
	}
	c := Claim{Subject: strings.Join(subject, " "), Text: s, Value: v, key: "= " + strings.Join(key, " ")}
	r.Claims = append(r.Claims, c)
	if len(v.list) == 0 && content <= maxName {
		words := slices.DeleteFunc(key, stemIn("joints"))
		slices.Sort(words)
		c.key, c.words, c.extra = whole+strings.Join(words, " "), slices.Compact(words), true
		c.Value = Value{Kind: Truth, Text: s, Yes: v.Yes}
		r.Claims = append(r.Claims, c)
	}
}

// The forms of a recommendation: with a verb, perhaps after a word that advises against it
// (group 1); without such a verb; and of the choice with its purpose.
var (
	choiceForm = core.Pattern(`(?i)^(?:(?:to |and |i |we )?|.*?[,:] |(?:.*? )?(?:i'd|i would|let's|should|would|please|better|simply|just|so|therefore) ` +
		`|(?:.*? )?(not|don't|never|wouldn't|shouldn't) )` +
		`(?:go with|stick with|stay with|stick to|opt for|settle on|decide for|switch to|move to|migrate to|use|choose|pick|recommend using|` +
		`recommend|prefer|adopt|take|suggest) (.+)$|^.* i (?:recommend using|recommend|prefer|suggest) (.+)$`)
	shallForm  = core.Pattern(`^(.+?) (?:it should be|it is|it shall be)$|^.* should be (?:in |on |at )?(.+)$`)
	chosenForm = core.Pattern(`(?i)^(?:the |an? )?([^\s,:;()]+(?: [^\s,:;()]+){0,3}?)\.?(?:[,:;(].*| for ([^\s,:;.()]+(?: [^\s,:;.()]+){0,5}?)(?:[,:;.()].*| ` +
		`(?:because|since|as|and|which|that|it|if|when)\b.*)?| (?:for|because|since|as|with|over|instead|rather|in|on|and|to|until|when|if|from|at|` +
		`which|that|so|but|here|\().*)?$`)
)

// choice reads a recommendation: "use X for Y", "I'd go with X".
func choice(s string) (v Value, slot string, ok bool) {
	what, not := "", false
	if m := choiceForm().FindStringSubmatch(s); m != nil {
		not = m[1] != ""
		if m = chosenForm().FindStringSubmatch(m[2] + m[3]); m != nil {
			what, slot = m[1], m[2]
		}
	} else if m := shallForm().FindStringSubmatch(s); m != nil {
		if m = chosenForm().FindStringSubmatch(m[1] + m[2]); m != nil && m[1] != strings.ToLower(m[1]) {
			what = m[1]
		}
	}
	v = nameValue(what)
	v.Yes = v.Yes != not
	return v, slot, v.Kind == Name
}
