package judge

import (
	"slices"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

// How a prompt turns to other work. The highest value in a prompt decides.
const (
	stays     = iota
	goesOver  // continues with the next thing
	first     // wants something done before the rest
	takesNext // takes the next ticket
	leaves    // leaves the current work
	turnsAway // names something as separate
)

// How much a prompt asks for.
const (
	asksNothing = iota
	asksSome    // something that may be a detail
	asksNew     // a new piece of work
)

// A reading holds what read found in a prompt.
type reading struct {
	Moment
	facts
	sentences []clause
	turn, ask int
	kind      string // of the requested work
	goal      string // for a frame of the requested work
	told      int    // number of sentences before the first request
}

// A clause is a sentence of a prompt, or a part of a sentence that asks for something by itself,
// without its introductory words.
type clause struct {
	sentence
	whole   sentence // with all words
	over    bool     // an introductory word turns to something else
	praised bool     // introductory words close the current work
	left    bool     // the clause leaves the current work
}

// maxSentences is how many sentences of a prompt flame reads at most.
const maxSentences = 24

var (
	ticketTitle = core.Pattern(`^\W*([A-Z]{2,9}-\d+|#\d+)( (then|now|next|please))?\s*[:,–—-]\s`)
	ticketName  = core.Pattern(`\b[a-zA-Z]{2,9}-\d+\b|#\d+`)

	// logLine matches a line of program output.
	logLine = core.Pattern(`^\s*(\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\d|at \S+ ?\(|File ".*", line|goroutine \d|panic:|Traceback|=> ERROR|[Ee]rror:|` +
		`(ERROR|WARN|FATAL|FAIL|FAILED)\b|--- FAIL|npm ERR|\w*(Error|Exception):|ERR_\w+|ld: |clang: |= note:|\[!\]|` +
		`\S+\.\w+:\d+|[$+>] |\t\S)`)
)

// read reads the prompt of a moment.
func read(m Moment) *reading {
	r := &reading{Moment: m, facts: facts{known: map[string]any{}}}
	prose := r.unpasted(head(m.Prompt, maxText))
	all := sentences(prose, "")
	for _, s := range all[:min(len(all), maxSentences)] {
		for _, part := range parts(s) {
			r.sentences = append(r.sentences, clauseOf(part))
		}
	}
	r.marks(prose)
	r.asks()
	r.weighWords()
	r.conclude()
	return r
}

// unpasted returns a prompt without pasted program output and fenced code.
func (r *reading) unpasted(text string) string {
	var kept []string
	fenced := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || logLine().MatchString(line) {
			r.note("pasted", true)
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}

// parts splits a sentence at commas: after a clause that leaves something, after a subordinate
// clause, and before a clause that asks.
func parts(s sentence) (list []sentence) {
	for n := 1; n < len(s.words); n++ {
		if !s.commaBefore(n) {
			continue
		}
		before := s.upTo(n)
		if before.has("leaving") || n > 1 && begins(before, "subordinate") || begins(s.from(n), "clauses") {
			return append(append(list, before), parts(s.from(n))...)
		}
	}
	return append(list, s)
}

func begins(s sentence, name string) bool { return list(name).Begin(s.words) > 0 }

// clauseOf removes the introductory words of a sentence.
func clauseOf(s sentence) clause {
	c := clause{sentence: s, whole: s, over: s.has("going over") || s.nextAtEnd()}
	c.praised = strings.ContainsFunc(s.text, func(r rune) bool { return unicode.Is(unicode.So, r) })
	for len(c.words) > 0 {
		word, n := c.words[0], 1
		switch lead := list("leads").Begin(c.words); {
		case lead > 0 && lead < len(c.words):
			n = lead
			c.over = c.over || list("over").Has(word)
		case list("over").Has(word):
			c.over = true
		case list("closing").Has(word) && !(word == "works" && list("pointing").Has(lo.NthOrEmpty(c.words, 1))):
			c.praised = true
			c.over = s.nextAtEnd() || c.from(1).has("going over")
		case !list("fillers").Has(word):
			c.left = c.has("leaving")
			return c
		}
		c.sentence = c.from(n)
	}
	return c
}

// nextAtEnd reports whether the sentence ends with "next", as in "the exporter next".
func (s sentence) nextAtEnd() bool {
	for i, word := range s.words {
		if i > 1 && word == "next" && (i == len(s.words)-1 || s.words[i+1] == "please" || strings.ContainsAny(s.text[s.at[i]:s.at[i+1]], ":,")) {
			return true
		}
	}
	return false
}

// turning returns how the clause turns to other work. A clause that stands alone does not count
// as leaving the current work.
func (c clause) turning(alone bool) int {
	whole := c.whole
	switch {
	case list("away").Has(whole.words[:min(len(whole.words), 6)]...), whole.has("apart"):
		return turnsAway
	case c.left && !alone:
		return leaves
	case whole.has("next ticket"):
		return takesNext
	case whole.has("first"):
		return first
	case c.over && len(c.words) > 0:
		return goesOver
	}
	return stays
}

// marks notes what the prompt says about the current work.
func (r *reading) marks(prose string) {
	for i, c := range r.sentences {
		r.turn = max(r.turn, c.turning(len(r.sentences) == 1))
		for _, name := range []string{"cause", "urgent"} {
			r.note(name, c.whole.has(name))
		}
		ask, _ := c.asked()
		r.note("as planned", ask > asksNothing && c.whole.has("as planned"))
		r.note("closed", i < len(r.sentences)-1 && c.whole.has("closed"))
	}
	if len(r.sentences) == 0 {
		return
	}
	start := r.sentences[0]
	r.note("goes on", start.whole.has("going on"))
	r.note("praised", start.praised)
	r.note("joined", list("joining").Has(start.whole.words[0]))
	front, rest, ok := strings.Cut(prose, ":")
	r.note("listed", ok && len(front) < 80 && strings.Count(rest, ",") >= 2 || strings.Count(prose, ",") >= 4)
	r.note("titled", titled(prose))
	if ticketTitle().MatchString(prose) {
		r.turn = max(r.turn, takesNext)
	}
}

// asks notes what the prompt asks for, and finds the goal of a frame for it.
func (r *reading) asks() {
	told, said, wanted := 0, "", 0 // number of earlier sentences, the last of them, and how much the best goal so far asks for
	for _, c := range r.sentences {
		if len(c.words) == 0 || c.left || list("leads").Begin(c.words) == len(c.words) {
			continue
		}
		ask, verb := c.asked()
		if ask > asksNothing && r.ask == asksNothing {
			r.told = told
			r.note("files", c.has("filing") && len(c.words) < 12)
		}
		if ask > r.ask {
			r.ask, r.kind = ask, kindAsked(verb)
		}
		r.note("favour", ask > asksNothing && c.whole.has("favour"))
		r.note("question", c.asks && ask == asksNothing || list("asking").Has(c.words[0]))
		r.note("detail", ask > asksNothing && c.has("details"))
		r.note("defect", c.has("defects"))
		wants := ask
		if c.over {
			wants += 2
		}
		text := strings.TrimSpace(c.text)
		if wants > wanted || r.goal == "" {
			r.goal, wanted = text, wants
			if told > 0 && (list("pointing").Has(lo.NthOrEmpty(verb, 1)) || len(stems(text)) < minGoal) {
				r.goal = said + ". " + text
			}
		}
		told, said = told+1, text
	}
}

// weighWords notes how many of the prompt's words the current work shares. It ignores verbs and
// clauses that leave the current work.
func (r *reading) weighWords() {
	var body []string
	for _, c := range r.sentences {
		if !c.left {
			body = append(body, c.text)
		}
	}
	about := slices.DeleteFunc(stems(ticketName().ReplaceAllString(strings.Join(body, ". "), " ")), stemIn("plain work"))
	weight := weightOf(about)
	r.note("short", len(about) < 5)
	r.note("many words", weight >= 4)
	if weight == 0 {
		return
	}
	part := weightOf(lo.Intersect(about, workWords(r.Moment))) / weight
	for _, fact := range []struct {
		name  string
		there bool
	}{
		{"shares none of many", part == 0 && weight >= 4}, {"shares none of some", part == 0 && weight >= 3},
		{"shares none of two", part == 0 && weight >= 2}, {"shares none", part == 0},
		{"shares hardly any", part <= 0.15}, {"shares few", part <= 0.3}, {"shares most", part > 0.45},
	} {
		if fact.there {
			r.note(fact.name, true)
			return
		}
	}
}

// conclude notes what follows from the other facts.
func (r *reading) conclude() {
	goal := kindOfGoal(r.Frame.Goal)
	for turn, name := range []string{"stays", "goes over", "first", "takes next", "leaves", "turns away"} {
		r.note(name, r.turn == turn)
	}
	r.note("asks", r.ask > asksNothing)
	r.note("asks some", r.ask == asksSome)
	r.note("asks new", r.ask == asksNew)
	r.note("reported before", r.told >= 2)
	r.note("named", r.Named)
	r.note("agent asked", answers(r.Moment))
	r.note("asks another cause", r.is("cause") && r.is("shares none of many") && goal != investigating && goal != explaining &&
		(r.turn != stays || r.is("praised") || r.is("closed")))
	if separate(r.kind, goal) || r.kind == building && goal == planning && r.ask == asksNew {
		r.known["kind differs"] = r.kind
	}
	if accompanies(r.kind, goal) {
		r.known["kind accompanies"] = r.kind
	}
}

// minGoal is how many telling words a goal needs to be clear by itself.
const minGoal = 5

// asked returns how much the clause asks for, and its words from the asking verb on.
func (c clause) asked() (most int, verb []string) {
	if len(c.words) == 0 {
		return asksNothing, nil
	}
	_, wants := list("wants new").Find(c.whole.words)
	switch {
	case c.whole.has("suggesting"):
		return asksSome, c.words
	case list("asking").Has(c.words[0]) || c.asks && list("wondering").Has(c.words[0]):
		return asksNothing, nil
	case wants > 0 && !list("comparing").Has(c.whole.words[wants:min(wants+1, len(c.whole.words))]...):
		return asksNew, c.words
	case c.whole.has("favour"), c.whole.has("polite"):
		most, verb = asksSome, c.words
	}
	for at, word := range c.words {
		after := c.words[at:]
		if most == asksNothing && list("wanting").Has(word) {
			most, verb = asksSome, after
		}
		switch {
		case at > 0 && !list("before a verb").Has(c.words[at-1]), at > 0 && list("negating").Has(c.words[at-1]):
		case list("new work").Has(word) && (len(after) > 1 || !c.praised), list("new by words").Begin(after) > 0:
			return asksNew, after
		case list("some work").Has(word) && most == asksNothing && len(after) > 1:
			most, verb = asksSome, after
		}
	}
	return most, verb
}

// titled reports whether a prompt begins with a title: a few words without a statement, followed
// by the request.
func titled(prose string) bool {
	at := titleEnd().FindStringIndex(head(prose, 70))
	if at == nil || len(strings.Fields(prose[at[1]:])) < 3 {
		return false
	}
	said := Split(prose[:at[0]])
	return len(stems(prose[:at[0]])) > 0 && len(said) <= 8 && !list("asking").Has(said[0]) && !list("joining").Has(said[0]) &&
		!slices.ContainsFunc([]string{"defects", "pointing", "closing", "telling"}, func(name string) bool { return list(name).Has(said...) })
}

// titleEnd ends a title.
var titleEnd = core.Pattern(`:\s|!!+\s`)

// answers reports whether the prompt answers a question: the agent's last message ends with one.
func answers(m Moment) bool {
	last, _, _ := lo.FindLastIndexOf(m.Recent, func(message Message) bool { return message.Role == core.RoleAssistant })
	return strings.HasSuffix(strings.TrimSpace(last.Text), "?")
}

// hosts matches the beginning of a message that a host writes itself, or of a host's command.
var hosts = core.Pattern(`^\s*(This session is being continued|\[Request interrupted|Caveat: |<[a-z][^>]*>|/[^/\s]+(\s|$))`)

// ofHost reports whether a prompt is a message that a host writes itself, or a host's command.
func ofHost(text string) bool { return hosts().MatchString(text) }

// workWords returns the stems of the words in the goal, the results, the messages and the calls
// of the current work.
func workWords(m Moment) []string {
	texts := []string{head(m.Frame.Goal, maxText), head(m.Frame.Criteria, maxText)}
	for _, list := range [][]string{m.Frame.Decisions, m.Frame.Artifacts, m.Frame.Files, m.Turn.Files} {
		for _, text := range latest(list, maxLatest) {
			texts = append(texts, head(text, 200))
		}
	}
	for _, message := range latest(m.Recent, maxLatest) {
		texts = append(texts, head(message.Text, maxText))
	}
	for _, call := range latest(m.Turn.Calls, maxLatest) {
		texts = append(texts, head(call.Input, 200))
	}
	return stems(strings.Join(texts, "\n"))
}
