package judge

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// An ending holds what readEnding read in the moment at which a turn ended.
type ending struct {
	Moment
	facts
	text  string // the agent's last words; empty if it said nothing
	trace string // what the agent said, did and made, in lower case
	stuck int    // weight of the signs of waiting; 0 unless the agent waits for something outside
}

// Bounds on reading a moment: the number of latest calls, the number of latest items of a
// list, and the longest notice of a host in bytes.
const (
	maxCalls  = 20
	maxItems  = 100
	maxNotice = 500
)

// fullContext is the share of the window from which a context counts as full.
const fullContext = 0.8

// The shortest answer to a question, in bytes, and the shortest report, in words.
const (
	shortAnswer = 40
	shortReport = 2
)

// notices matches texts with which a host ends a turn when the agent cannot.
var notices = core.Pattern(`(?i)^\W*(API error|.{0,20}usage limit reached|(you've|you have) (hit|reached) your|.{0,20}limit reached|` +
	`prompt is too long|credit balance|request timed out|connection error|execution error|overloaded|internal server error|error: \d{3}\b|` +
	`\d{3} \{|MessageAborted|aborted|.{0,40}output token maximum|max(imum)? turns|context (window|length) (is )?exceeded|input is too long)`)

// readEnding reads a moment.
func readEnding(m Moment) *ending {
	e := &ending{Moment: m, facts: facts{known: map[string]any{}}}
	e.readText()
	e.said, e.trace = statements(e.text), m.traced(e.text)
	for _, words := range m.Failures {
		e.said = append(e.said, statements(words)...)
	}
	e.readRuns()
	e.known["met"], e.known["unmet"] = e.measured()
	e.readGoal()
	e.known["open"] = e.leftOpen()
	e.noteDone()
	e.noteSaid()
	return e
}

// readText reads how the turn ended.
func (e *ending) readText() {
	cut := ""
	if n := len(e.Recent); n > 0 {
		e.text = bounded(strings.TrimSpace(e.Recent[n-1].Text))
		switch {
		case e.Recent[n-1].Role == core.RoleUser:
			if strings.HasPrefix(e.text, "[Request interrupted") {
				cut = "the user interrupted"
			}
			e.text = ""
		case len(e.text) < maxNotice && notices().MatchString(e.text):
			cut, e.text = "an error or a limit of the model's service ended the turn", ""
		}
	}
	if lo.LastOrEmpty(e.Turn.Calls).refused() {
		cut = "the user interrupted"
	}
	e.known["cut"] = cut
}

// readRuns notes whether the very last run of a check passed, and which failed run no later run
// repaired.
func (e *ending) readRuns() {
	runs := runsOf(e.Turn.Calls)
	for i, r := range runs {
		later := slices.ContainsFunc(runs[i+1:], func(other run) bool { return other.name == r.name })
		if e.known["passed"] = r.passed; !r.passed && !later {
			e.known["red"] = r.name
		}
	}
	if e.known["runs"] = len(runs); !e.is("red") && e.is("passed") {
		e.known["green"] = runs[len(runs)-1].name
	}
}

// readGoal reads what kind of goal the frame has.
func (e *ending) readGoal() {
	goal, asked := statements(e.Frame.Goal), statements(e.Frame.Criteria)
	question := len(goal) > 0 && list("to find out").Begin(goal[0].words) > 0 || anyHas(asked, "found out") ||
		slices.ContainsFunc(goal, func(s sentence) bool { return s.asks })
	for _, s := range goal {
		e.subject = append(e.subject, s.words...)
	}
	both := slices.Concat(goal, asked)
	e.note("question", question && !anyHas(goal, "also mending"))
	e.note("asks check", anyHas(asked, "checks"))
	e.note("wants red", anyHas(both, "wanted red"))
	e.note("reached", !e.is("red") && (e.is("met") && !e.is("unmet") || e.is("passed") && anyHas(both, "failing")))
}

// noteDone notes facts about what happened.
func (e *ending) noteDone() {
	last, called := lo.Last(e.Turn.Calls)
	for name, value := range map[string]any{
		"open children": e.Frame.Open, "planned children": len(e.Frame.Planned),
		"command succeeds": last.OK && last.command() != "", "command fails": last.failed(), "calls": called,
		"changed in turn": len(e.Turn.Files),
		"made":            len(e.Frame.Artifacts) + len(e.Turn.Files), "successes": len(e.Successes), "failures": len(e.Failures),
		"has criteria": e.Frame.Criteria, "covers goal": e.covered(e.Frame.Goal) >= 0.5, "covers criteria": e.covered(e.Frame.Criteria) >= 0.6,
		"unspoken": e.unspoken(), "full": e.Turn.window() > 0 && float64(e.Turn.Tokens) > fullContext*float64(e.Turn.window()),
		"red before": anyHas(e.said, "red before") && !e.is("asks check"),
	} {
		e.known[name] = value
	}
	if e.Turn.WithoutProgress > 1 {
		e.known["turns without progress"] = e.Turn.WithoutProgress
	}
}

// noteSaid notes facts about what the agent and the user say, in addition to the lists that
// rules name.
func (e *ending) noteSaid() {
	e.known["obstacle"] = e.obstacle()
	e.stuck = e.waiting()
	for name, value := range map[string]any{
		"silent": e.text == "", "asks the user": e.asksUser(), "user confirms": e.userConfirms(), "taken back": e.takenBack(),
		"reports":  slices.ContainsFunc(e.said, func(s sentence) bool { return len(s.words) >= shortReport }),
		"answered": len(e.text) >= shortAnswer && e.says("answer") != "",
		"stuck":    e.stuck, "stuck fast": e.stuck >= 80,
		"halted": e.stuck >= 80 && (!e.is("green") || e.says("stopped") != ""),
	} {
		e.known[name] = value
	}
}

// asksUser reports whether the agent ends with a question on which the result depends, rather
// than with an offer to do more.
func (e *ending) asksUser() bool {
	return slices.ContainsFunc(latest(e.said, 2), func(s sentence) bool { return s.asks && !s.has("offering") })
}

// leftOpen returns the part of the goal that the last words leave open; empty if there is none.
func (e *ending) leftOpen() string {
	for _, found := range []string{
		e.says("still"), e.says("ahead", "ahead of another"), e.says("lacking", "none left"), e.says("running"), e.atWork(), e.rehearsed(),
	} {
		if found != "" {
			return found
		}
	}
	for _, c := range latest(e.Turn.Calls, maxCalls) {
		if output := bounded(c.Output); strings.Contains(output, "running in background") || strings.Contains(output, "running in the background") {
			return "running in the background"
		}
	}
	if e.is("question") {
		return "" // the answer itself may be about parts of a whole
	}
	return partOf(e.text)
}

// atWork returns the beginning of the last sentence if that sentence says what the agent does
// now, as in "Adding this to the factory."; otherwise it returns "".
func (e *ending) atWork() string {
	if len(e.said) == 0 {
		return ""
	}
	words := e.said[len(e.said)-1].words
	if len(words) < 3 || !strings.HasSuffix(words[0], "ing") || list("determiners").Begin(words[1:]) == 0 || list("ends").Begin(words) > 0 {
		return ""
	}
	return strings.Join(words[:2], " ")
}

// rehearsed returns "dry run" if the last command only rehearsed what the goal asks for, and
// "" otherwise.
func (e *ending) rehearsed() string {
	c := lo.LastOrEmpty(e.Turn.Calls)
	line := c.command()
	if !strings.Contains(line, "--dry-run") && !strings.Contains(line, "--dryrun") || !anyHas(e.said, "dry") ||
		strings.Contains(strings.ToLower(e.Frame.Goal+e.Frame.Criteria), "dry") {
		return ""
	}
	return "dry run"
}

// measured compares the figures in the last words and in outputs with those of the criteria.
// It returns how many are met, and the first that is not.
func (e *ending) measured() (met int, unmet string) {
	asked := e.Frame.Criteria
	if asked == "" {
		asked = e.Frame.Goal
	}
	texts := []string{e.text}
	for _, c := range slices.Backward(e.Turn.Calls) {
		texts = append(texts, bounded(c.Output))
	}
	for _, b := range boundsOf(bounded(asked)) {
		reached, missed := b.held(texts)
		if reached {
			met++
		}
		if missed && unmet == "" {
			unmet = b.text
		}
	}
	return met, unmet
}

// covered returns the share of a text's words that occur in what the agent said, did and made.
func (e *ending) covered(text string) float64 { return shareIn(e.trace, text) }

// shareIn returns the share of a text's words that occur in a trace, which is in lower case; 0
// if the text has no words. It looks for the first five bytes of a word, because the end
// depends on the grammar, and at any place, because some languages write no spaces: so it does
// not compare stems.
func shareIn(trace, text string) float64 {
	words := core.Keywords(bounded(text))
	if len(words) == 0 {
		return 0
	}
	found := lo.CountBy(words, func(word string) bool {
		return strings.Contains(trace, strings.ToValidUTF8(word[:min(len(word), 5)], ""))
	})
	return float64(found) / float64(len(words))
}

// traced returns what the agent said, did and made, in lower case.
func (m Moment) traced(said string) string {
	parts := []string{said}
	for _, c := range latest(m.Turn.Calls, maxCalls) {
		parts = append(parts, bounded(c.Input), bounded(c.Output))
	}
	for _, list := range [][]string{m.Frame.Artifacts, m.Turn.Files, m.Frame.Decisions, m.Successes} {
		for _, item := range latest(list, maxItems) {
			parts = append(parts, bounded(item))
		}
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

// criteria splits success criteria at line ends, semicolons and commas.
func criteria(text string) (list []string) {
	for part := range strings.FieldsFuncSeq(bounded(text), func(r rune) bool { return r == '\n' || r == ';' || r == ',' }) {
		if len(core.Keywords(part)) > 0 || len(boundsOf(part)) > 0 {
			list = append(list, strings.TrimSpace(part))
		}
	}
	return list
}

// unspoken returns the first criterion without any trace in what the agent said and did; empty
// if there is none. Criteria that forbid something and criteria that name checks need no trace.
func (e *ending) unspoken() string {
	if e.text == "" || e.is("question") {
		return ""
	}
	for _, item := range criteria(e.Frame.Criteria) {
		said := statements(item)
		if (len(said) == 0 || list("negative").Begin(said[0].words) == 0) && !anyHas(said, "checks") && e.covered(item) == 0 && !e.shown(item) {
			return item
		}
	}
	return ""
}

// shown reports whether a criterion has figures, and the last words or the output of tests
// show that all of them are reached.
func (e *ending) shown(item string) bool {
	said := []string{e.text}
	for _, c := range e.Turn.Calls {
		if c.proves() {
			said = append(said, bounded(c.Output))
		}
	}
	bounds := boundsOf(item)
	return len(bounds) > 0 && !slices.ContainsFunc(bounds, func(b bound) bool {
		met, _ := b.held(said)
		return !met
	})
}

// userConfirms reports whether the user's last message says that the result works.
func (e *ending) userConfirms() bool {
	n := len(e.Recent)
	if n < 2 || e.Recent[n-2].Role != core.RoleUser {
		return false
	}
	text := e.Recent[n-2].Text
	return len(text) < maxNotice && !strings.Contains(text, "?") && (&facts{said: statements(text)}).says("confirmed", "unconfirmed") != ""
}

// takenBack returns the words or the command that took the work back; empty if there is none.
func (e *ending) takenBack() string {
	if words := e.says("undone"); words != "" {
		return words
	}
	for _, c := range e.Turn.Calls {
		for _, words := range programs(c.command()) {
			if list("takes back").Begin(words) > 0 {
				return strings.Join(words[:min(2, len(words))], " ")
			}
		}
	}
	return ""
}

// obstacle returns the obstacle that the agent names, or that the output of a failed call
// names; empty if there is none.
func (e *ending) obstacle() string {
	if words := e.says("obstacles"); words != "" {
		return words
	}
	for _, c := range latest(e.Turn.Calls, maxCalls) {
		if found := (&facts{said: statements(c.Output)}).says("refusals"); found != "" && !c.OK {
			return found
		}
	}
	return ""
}

// waiting returns the weight of the signs of waiting. It is 0 unless the agent names something
// to wait for and says that it waits or has stopped.
func (e *ending) waiting() (points int) {
	if e.says("outsiders") == "" && !e.is("obstacle") || e.says("waits") == "" && e.says("stopped") == "" {
		return 0
	}
	for _, s := range weigh(rules("waiting"), &e.facts) {
		points += s.Points
	}
	return points
}
