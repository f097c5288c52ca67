package judge

import (
	"slices"
	"strings"
	"unicode"
)

// A turn is what a prompt says of turning to something else.
type turn int

const (
	stays     turn = iota
	goesOver       // to what comes next
	first          // something is to be done before the rest
	takesNext      // ticket
	leaves         // the work at hand
	turnsAway      // to something that is called another
)

// An ask is how much a prompt asks for.
type ask int

const (
	asksNothing ask = iota
	asksSome        // it may be a detail
	asksNew         // a piece of work
)

// A reading is what was read in a prompt.
type reading struct {
	sentences []sentence
	body      string // what is left without what is said of the former work and without pasted output
	turn      turn
	ask       ask
	kind      kind
	urgent    bool
	closed    bool // the user says that the former is done
	praised   bool // it begins with praise
	favour    bool // it asks the agent politely to do something
	listed    bool // what is wanted comes as a list
	titled    bool // what is wanted has a title
	aside     bool // the user has only just thought of it
	planned   bool // what was planned is asked for without a name of it
	cause     bool // it asks for a cause
	detail    bool // it is of a part of something
	ofThat    bool // what is to be done is to be done to something that is there
	pasted    int  // lines of output
	defect    bool
	question  bool
	goesOn    bool     // it begins with words of going on
	joined    bool     // it begins with a word that adds to what was said
	pointing  bool     // what is asked for is called "it"
	files     bool     // a commit, a pull request and the like is asked for
	told      int      // sentences before the first one that asks
	about     []string // stems of what it is about, without those of the verbs
	ticket    string   // the name of the first one
	goal      string   // of a frame for it
}

// A sentence of a prompt, without the words before what it says.
type sentence struct {
	said    string   // as it was written
	text    string   // its words
	whole   string   // all words
	left    bool     // it leaves the work at hand
	words   []string // in lower case
	raw     []string // all words
	over    bool     // a word that leads over came before
	praised bool     // closing words came before
	asks    bool     // it ends with a question mark
}

// read reads a prompt.
func read(text string) reading {
	prose, pasted := unpasted(text)
	prose = clauses(prose) + "\n"
	r := reading{pasted: pasted}
	from := 0
	for _, end := range sentenceEnd.FindAllStringIndex(prose, maxSentences) {
		if s := sentenceOf(prose[from:end[0]], strings.Contains(prose[end[0]:end[1]], "?")); len(s.raw) > 0 {
			r.sentences = append(r.sentences, s)
		}
		from = end[1]
	}
	r.marks(prose)
	r.asks()
	r.about = slices.DeleteFunc(stems(ticketName.ReplaceAllString(r.body, " ")), func(stem string) bool { return plainWork.has(stem) })
	return r
}

// clauses makes sentences of the clauses that leave something or ask for something.
func clauses(prose string) string {
	prose = leaveComma.ReplaceAllString(prose, "$1. ")
	prose = clauseComma.ReplaceAllString(prose, ". $1 ")
	return verbComma.ReplaceAllString(subordinate.ReplaceAllString(prose, "$1. "), ". $1")
}

// maxSentences bounds how many sentences of a prompt are read.
const maxSentences = 24

// unpasted returns a prompt without the lines that are output of a program, and their
// number.
func unpasted(text string) (prose string, pasted int) {
	var kept []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			pasted++
			continue
		}
		if fenced || logLine.MatchString(line) {
			pasted++
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, ""), pasted
}

// sentenceOf takes the words off that come before what a sentence says.
func sentenceOf(text string, asks bool) sentence {
	s := sentence{raw: wordsOf(text), asks: asks, said: leadText.ReplaceAllString(strings.TrimSpace(text), "")}
	s.words, s.whole = wordsOf(s.said), strings.Join(s.raw, " ")
	s.over = nextText.MatchString(text) || overText.MatchString(s.whole)
	s.praised = strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.So, r) })
	for len(s.words) > 0 {
		word := s.words[0]
		switch {
		case overWords.has(word):
			s.over = true
		case closing.has(word) && !(len(s.words) > 1 && pointing.has(s.words[1]) && word == "works"):
			s.over = nextText.MatchString(text) || overText.MatchString(strings.Join(s.words[1:], " "))
			s.praised = true
		case !fillers.has(word):
			s.text = strings.Join(s.words, " ")
			s.left = leaveText.MatchString(s.text)
			return s
		}
		s.said = after(s.said, word)
		s.words = s.words[1:]
	}
	return s
}

// after returns what comes after the first word of a text, without what joins them.
func after(text, word string) string {
	at := strings.Index(strings.ToLower(text), word)
	if at < 0 || at+len(word) > len(text) {
		return text
	}
	return strings.TrimLeft(strings.ToValidUTF8(text[at+len(word):], ""), " ,:;.!–—-\t")
}

// marks reads what is said of the work at hand, and sets the body to the rest.
func (r *reading) marks(prose string) {
	var body []string
	for i, s := range r.sentences {
		away := awayText.MatchString(head(s.whole, 30)) || apartText.MatchString(s.whole)
		switch {
		case s.left && len(r.sentences) > 1:
			r.turn = max(r.turn, leaves)
		case away:
			r.turn = max(r.turn, turnsAway)
		case ticketText.MatchString(s.whole), i == 0 && ticketTitle.MatchString(prose):
			r.turn = max(r.turn, takesNext)
		case firstText.MatchString(s.whole), beforeText.MatchString(s.whole) && s.asksFor():
			r.turn = max(r.turn, first)
		case s.over && len(s.words) > 0:
			r.turn = max(r.turn, goesOver)
		}
		r.aside = r.aside || asideText.MatchString(s.whole)
		r.cause = r.cause || causeText.MatchString(s.whole)
		r.planned = r.planned || planText.MatchString(s.whole) && s.asksFor()
		r.urgent = r.urgent || urgentText.MatchString(s.whole)
		r.closed = r.closed || i < len(r.sentences)-1 && closedText.MatchString(s.whole)
		if !s.left && len(s.words) > 0 {
			body = append(body, s.said)
		}
	}
	r.body = strings.Join(body, ". ")
	if len(r.sentences) == 0 {
		return
	}
	start := r.sentences[0]
	r.goesOn = goOnText.MatchString(start.whole)
	r.joined = joining.has(start.raw[0])
	r.praised = start.praised
	front, rest, ok := strings.Cut(prose, ":")
	r.listed = ok && len(front) < 80 && strings.Count(rest, ",") >= 2 || strings.Count(prose, ",") >= 4
	r.titled = titled(prose)
	r.ticket = ticketName.FindString(prose)
}

// asks reads what is asked for.
func (r *reading) asks() {
	told, said, wanted := 0, "", 0 // sentences before, the last of them, and how much the goal so far asks for
	for _, s := range r.sentences {
		if len(s.words) == 0 || s.left {
			continue
		}
		a, verb := s.ask()
		if a > asksNothing && r.ask == asksNothing {
			r.told, r.pointing = told, told == 0 && len(verb) == len(s.words) && pointing.has(next(verb))
			r.ofThat = told == 0 && definite.has(next(verb))
			r.files = filesText.MatchString(s.text) && len(s.words) < 12
		}
		if a > r.ask {
			r.kind = kindAsked(verb)
		}
		r.ask = max(r.ask, a)
		r.favour = r.favour || a > asksNothing && favourText.MatchString(s.whole)
		r.question = r.question || s.asks && a == asksNothing || asking.has(s.words[0])
		r.detail = r.detail || a > asksNothing && slices.ContainsFunc(s.words, func(w string) bool { return detailWords.has(w) })
		r.defect = r.defect || slices.ContainsFunc(s.words, func(w string) bool { return defectWords.has(w) })
		if wants := s.wants(a); wants > wanted || r.goal == "" {
			r.goal, wanted = s.said, wants
			if told > 0 && (pointing.has(next(verb)) || len(stems(s.said)) < minGoal) {
				r.goal = said + ". " + s.said
			}
		}
		told, said = told+1, s.said
	}
}

// minGoal is how many telling words make a goal that says by itself what it is about.
const minGoal = 5

// wants says how likely it is that the sentence names what is wanted.
func (s sentence) wants(a ask) int {
	if s.over {
		return 2 + int(a)
	}
	return int(a)
}

// next returns the second of the words; empty without one.
func next(words []string) string {
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// last returns the last clause of the sentence, as a sentence.
func (s sentence) last() sentence {
	if at := strings.LastIndex(s.said, ", "); at > 0 {
		return sentenceOf(s.said[at+2:], s.asks)
	}
	return s
}

// asksFor reports whether the sentence asks for anything.
func (s sentence) asksFor() bool {
	if len(s.words) == 0 {
		return false
	}
	a, _ := s.ask()
	return a > asksNothing
}

// wantsNew reports whether a thing is wanted that is not there yet.
func (s sentence) wantsNew() bool {
	at := wantText.FindStringIndex(s.whole)
	if at == nil {
		return false
	}
	next, _, _ := strings.Cut(s.whole[at[1]:], " ")
	return !comparing.has(next)
}

// ask returns how much the sentence asks for, and its words from the verb on that says so.
func (s sentence) ask() (most ask, verb []string) {
	switch {
	case suggestText.MatchString(s.whole):
		return asksSome, s.words
	case asking.has(s.words[0]) || s.asks && wondering.has(s.words[0]):
		return asksNothing, nil
	case s.wantsNew():
		return asksNew, s.words
	}
	if favourText.MatchString(s.whole) || pleaseText.MatchString(s.whole) || shouldText.MatchString(s.whole) {
		most, verb = asksSome, s.words
	}
	for at, word := range s.words {
		if wanting.has(word) && most == asksNothing {
			most, verb = asksSome, s.words[at:]
		}
		if at > 0 && !beforeVerb.has(s.words[at-1]) {
			continue
		}
		after := strings.Join(s.words[at:], " ")
		switch {
		case negated(s.words[:at]):
		case newWork.has(word) && (at < len(s.words)-1 || !s.praised), newText.MatchString(after):
			return asksNew, s.words[at:]
		case someWork.has(word) && most == asksNothing && at < len(s.words)-1:
			most, verb = asksSome, s.words[at:]
		}
	}
	return most, verb
}

// titled reports whether a prompt begins with a title: a few words that tell nothing
// yet, and what is wanted after it.
func titled(prose string) bool {
	at := titleEnd.FindStringIndex(head(prose, maxTitle))
	if at == nil || len(strings.Fields(prose[at[1]:])) < 3 {
		return false
	}
	words := wordsOf(prose[:at[0]])
	telling := len(stems(prose[:at[0]])) > 0 && !asking.has(words[0]) && !joining.has(words[0])
	return telling && len(words) <= 8 && !slices.ContainsFunc(words, func(w string) bool {
		return defectWords.has(w) || pointing.has(w) || closing.has(w) || tellingWords.has(w)
	})
}

// maxTitle bounds a title, in bytes.
const maxTitle = 70

// negated reports whether the last of the words turns what follows into its contrary.
func negated(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{"don't", "not", "never", "to"}, words[len(words)-1])
}
