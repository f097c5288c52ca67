package judge

import (
	"slices"
	"strings"

	"flame/core"
)

// An ending is what was read in a moment at the end of a turn.
type ending struct {
	Moment
	text string      // of the agent, last; empty if it said nothing
	said []statement // in it
	runs []run

	cut      string // why the agent did not come to its end; empty if it did
	question bool   // the goal is to find something out
	wantRed  bool   // a check is wanted that fails

	aboutFailure bool // failures are what the goal is about

	met   int    // figures of the criteria that are reached
	unmet string // the first that is not

	subject []string // the words that the goal is about
	trace   string   // what the agent said, did and made, in lower case
}

// readEnding reads a moment.
func readEnding(m Moment) ending {
	e := ending{Moment: m, runs: runsOf(m.Turn.Calls)}
	if n := len(m.Recent); n > 0 {
		e.text = bounded(strings.TrimSpace(m.Recent[n-1].Text))
		switch {
		case m.Recent[n-1].Role == core.RoleUser:
			if strings.HasPrefix(e.text, "[Request interrupted") {
				e.cut = "the user interrupted"
			}
			e.text = ""
		case len(e.text) < maxNotice && notices.MatchString(e.text):
			e.cut, e.text = "an error or a limit of the model's service ended the turn", ""
		}
	}
	if n := len(m.Turn.Calls); n > 0 && m.Turn.Calls[n-1].refused() {
		e.cut = "the user interrupted"
	}
	e.said, e.trace = statements(e.text), m.traced(e.text)
	for _, words := range m.Failures {
		e.said = append(e.said, statements(words)...)
	}
	goal, asked := statements(m.Frame.Goal), statements(m.Frame.Criteria)
	asks := len(goal) > 0 && toFindOut.begin(goal[0].words) || foundOut.in(asked, nil) != ""
	asks = asks || slices.ContainsFunc(goal, func(s statement) bool { return s.asks })
	e.question = asks && alsoMending.in(goal, nil) == ""
	for _, s := range goal {
		e.subject = append(e.subject, s.words...)
	}
	e.aboutFailure = failing.in(slices.Concat(goal, asked), nil) != ""
	e.met, e.unmet = e.measured()
	e.wantRed = wantedRed.in(slices.Concat(goal, asked), nil) != ""
	return e
}

// notices are the texts with which hosts end a turn in place of the agent.
var notices = expressionOf(`(?i)^\W*(API error|.{0,20}usage limit reached|(you've|you have) (hit|reached) your|.{0,20}limit reached|prompt is too long|` +
	`credit balance|request timed out|connection error|execution error|overloaded|internal server error|error: \d{3}\b|\d{3} \{|MessageAborted|aborted|` +
	`.{0,40}output token maximum|max(imum)? turns|context (window|length) (is )?exceeded|input is too long)`)

// maxNotice is the length of the longest notice of a host, in bytes.
const maxNotice = 500

// lastRun returns the last run of each program that is red, and whether the last of all
// passed.
func (e ending) lastRun() (red string, passed bool) {
	for i := len(e.runs) - 1; i >= 0; i-- {
		r := e.runs[i]
		later := slices.ContainsFunc(e.runs[i+1:], func(other run) bool { return other.name == r.name })
		if i == len(e.runs)-1 {
			passed = r.passed
		}
		if !r.passed && !later {
			return r.name, passed
		}
	}
	return "", passed
}

// says returns the first phrase that the agent uses, unless a phrase of except stands in
// the same sentence, or the phrase is one that the goal is about.
func (e ending) says(l, except *lexicon) string {
	for _, s := range e.said {
		found := l.find(s.words)
		if found != "" && (except == nil || except.find(s.words) == "") && !slices.Contains(e.subject, found) {
			return found
		}
	}
	return ""
}

// asked returns how the agent ends with a question to the user: with one that the result
// depends on, or with an offer of more.
func (e ending) asked() (question, offer bool) {
	for _, s := range e.said[max(0, len(e.said)-2):] {
		if !s.asks {
			continue
		}
		if s.has("also", "else", "additionally", "too", "anything") {
			offer = true
		} else {
			question = true
		}
	}
	return question, offer
}

// open returns what the last words leave open of the goal; empty if nothing.
func (e ending) open() string {
	if found := e.says(still, nil); found != "" {
		return found
	}
	if found := e.says(ahead, aheadOf); found != "" {
		return found
	}
	if found := e.says(lacking, noneLeft); found != "" {
		return found
	}
	if found := e.says(running, nil); found != "" {
		return found
	}
	if words := e.atWork(); words != "" {
		return words
	}
	if e.rehearsed() {
		return "dry run"
	}
	for _, c := range e.Turn.Calls[max(0, len(e.Turn.Calls)-maxCalls):] {
		if strings.Contains(bounded(c.Output), "running in background") || strings.Contains(bounded(c.Output), "running in the background") {
			return "running in the background"
		}
	}
	if e.question {
		return "" // parts of a whole are what is told of
	}
	return partOf(e.text)
}

// atWork returns the beginning of the last sentence if it says what the agent does now:
// "Adding this to the factory." Empty if it does not.
func (e ending) atWork() string {
	if len(e.said) == 0 {
		return ""
	}
	words := e.said[len(e.said)-1].words
	if len(words) < 3 || !strings.HasSuffix(words[0], "ing") || !determiners.begin(words[1:]) || ends.begin(words) {
		return ""
	}
	return strings.Join(words[:2], " ")
}

var (
	determiners = phrases("the, this, that, these, those, it, them, a, an, my, our, now, both, all, next")
	ends        = phrases("clos~, park~, paus~, stopp~, leav~, giv~, wait~, abandon~, dropp~, hold~, end~, nothing, everything, during, according")
)

// rehearsed reports whether the last command was only a rehearsal of what the goal is.
func (e ending) rehearsed() bool {
	n := len(e.Turn.Calls)
	if n == 0 || strings.Contains(strings.ToLower(e.Frame.Goal+e.Frame.Criteria), "dry") {
		return false
	}
	line := e.Turn.Calls[n-1].command()
	return (strings.Contains(line, "--dry-run") || strings.Contains(line, "--dryrun")) && dry.in(e.said, nil) != ""
}

var dry = phrases("dry run, would be, would rename, would delete, would change")

// figures says whether the figures that the criteria name are reached: how many are, and
// the first that is not.
func (e ending) figures() (met int, unmet string) { return e.met, e.unmet }

// measured holds the figures that were said and shown against the criteria.
func (e ending) measured() (met int, unmet string) {
	asked := e.Frame.Criteria
	if asked == "" {
		asked = e.Frame.Goal
	}
	outputs := make([]string, 0, len(e.Turn.Calls))
	for _, c := range slices.Backward(e.Turn.Calls) {
		outputs = append(outputs, bounded(c.Output))
	}
	for _, b := range boundsOf(bounded(asked)) {
		reached, missed := b.held(append([]string{e.text}, outputs...)...)
		if reached {
			met++
		}
		if missed && unmet == "" {
			unmet = b.text
		}
	}
	return met, unmet
}

// covered returns the share of the words of a text that stand in what the agent said, did
// and made.
func (e ending) covered(text string) float64 { return stemsIn(e.trace, text) }

// stemsIn returns the share of the words of a text whose stems stand in a trace, which is
// in lower case; 0 if it has no words.
func stemsIn(trace, text string) float64 {
	words := core.Keywords(bounded(text))
	if len(words) == 0 {
		return 0
	}
	found := 0
	for _, word := range words {
		if stem := word[:min(len(word), stemSize)]; strings.Contains(trace, strings.ToValidUTF8(stem, "")) {
			found++
		}
	}
	return float64(found) / float64(len(words))
}

// stemSize is how much of a word is looked for, in bytes: its end depends on the grammar.
const stemSize = 5

// traced returns what the agent said, did and made, in lower case.
func (m Moment) traced(said string) string {
	var b strings.Builder
	b.WriteString(said)
	for _, c := range m.Turn.Calls[max(0, len(m.Turn.Calls)-maxCalls):] {
		b.WriteString("\n" + bounded(c.Input) + "\n" + bounded(c.Output))
	}
	for _, list := range [][]string{m.Frame.Artifacts, m.Turn.Files, m.Frame.Decisions, m.Successes} {
		for _, item := range list[max(0, len(list)-maxItems):] {
			b.WriteString("\n" + bounded(item))
		}
	}
	return strings.ToLower(b.String())
}

// Bounds on what is read of a long turn.
const (
	maxCalls = 20
	maxItems = 100
)
