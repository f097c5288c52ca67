package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flame/core"
)

// forPop has, for each status that a frame may end with, the function that returns what
// speaks for and against it.
var forPop = map[core.Status]func(ending) []core.Signal{
	core.Completed: ending.completed,
	core.Failed:    ending.failed,
	core.Blocked:   ending.blocked,
}

// The heuristics that signals on pops belong to.
const (
	completion = "goal_completion"
	stagnation = "stagnation"
	overflow   = "context_overflow"
)

// veto is the weight of what rules a status out, whatever speaks for it.
const veto = -150

// A tally collects signals of one heuristic.
type tally struct {
	heuristic string
	signals   []core.Signal
}

// add notes a signal if it is there. Words of the agent in it are quoted.
func (t *tally) add(there bool, points int, because string, quoted ...any) {
	if there {
		t.signals = append(t.signals, core.Signal{Heuristic: t.heuristic, Points: points, Because: fmt.Sprintf(because, quoted...)})
	}
}

// common adds what rules out any end of the frame.
func (e ending) common(t *tally) {
	t.add(e.cut != "", veto, "%s", e.cut)
	t.add(e.Frame.Open > 0, veto, "children in progress: %d", e.Frame.Open)
	question, _ := e.asked()
	t.add(question, veto, "it ends with a question")
	words := e.says(tries, aheadOf)
	t.add(words != "", veto, "the user is asked: %q", words)
	if size := e.Turn.window(); size > 0 && float64(e.Turn.Tokens) > fullContext*float64(size) {
		t.signals = append(t.signals, core.Signal{Heuristic: overflow, Because: "a full context asks for a summary, not for an end"})
	}
}

// fullContext is the share of the window from which a context counts as full.
const fullContext = 0.8

// completed returns what speaks for and against the goal being reached.
func (e ending) completed() []core.Signal {
	t := &tally{heuristic: completion}
	e.common(t)
	e.proof(t)
	if len(e.said) > 0 {
		e.told(t)
	}
	t.add(len(e.Frame.Planned) > 0, veto, "planned children that nobody has begun: %d", len(e.Frame.Planned))
	t.add(len(e.Successes) > 0, min(80, 30*len(e.Successes)), "signs of success that the caller names: %d", len(e.Successes))
	t.add(len(e.Failures) > 0, -40*min(3, len(e.Failures)), "signs of failure that the caller names: %d", len(e.Failures))
	t.add(e.Frame.Criteria == "" && e.text != "" && e.covered(e.Frame.Goal) >= 0.5, 10, "what was said and done speaks of the goal")
	item := e.unspoken()
	t.add(item != "" && !e.question, -25, "nothing is said of %q", item)
	t.add(len(e.runs) == 0 && len(e.Turn.Files) > 0 && checked.in(statements(e.Frame.Criteria), nil) != "", -30, "the criteria ask for a check, and none was run")
	made := len(e.Frame.Artifacts) + len(e.Turn.Files)
	t.add(made > 0, 10, "files were made or changed: %d", made)
	t.add(len(e.Successes) > 0 && e.covered(e.Frame.Goal) >= 0.5, 20, "what was made and said is about the goal")
	return t.signals
}

// checked are the words with which criteria ask for checks.
var checked = phrases("test, tests, suite, green, e2e, ci, passes, pass, lint")

// unspoken returns a part of the criteria of which nothing is found in what was said and
// done; empty if there is none.
func (e ending) unspoken() string {
	for _, item := range criteria(e.Frame.Criteria) {
		if e.text != "" && !forbidden(item) && checked.in(statements(item), nil) == "" && e.covered(item) == 0 && !e.shown(item) {
			return strings.TrimSpace(item)
		}
	}
	return ""
}

// negative begins what must not be, of which nothing has to be said.
var negative = phrases("no, not, never, without, nothing")

// forbidden reports whether a part of the criteria says what must not be.
func forbidden(item string) bool {
	said := statements(item)
	return len(said) > 0 && negative.begin(said[0].words)
}

// proof adds what the calls of the turn show of the goal.
func (e ending) proof(t *tally) {
	red, passed := e.lastRun()
	switch {
	case red == "" && passed:
		t.add(true, 55, "the last run of %s passes", e.runs[len(e.runs)-1].name)
		t.add(e.text == "" && e.Frame.Criteria != "", 25, "and nothing is said to be open")
	case red != "" && e.wantRed:
		t.add(true, 50, "%s fails, as is wanted", red)
	case red != "" && e.question:
		t.add(true, 0, "%s fails, which may be the answer", red)
	case red != "" && passed:
		t.add(redElsewhere.in(e.said, nil) == "", -40, "the last run of %s fails", red)
	case red != "" && redOld.in(e.said, nil) != "" && checked.in(statements(e.Frame.Criteria), nil) == "":
		t.add(true, -20, "the last run of %s fails, which is told to be nothing new", red)
	case red != "":
		t.add(true, veto, "the last run of %s fails", red)
	}
	n := len(e.Turn.Calls)
	worked := n > 0 && e.Turn.Calls[n-1].OK && e.Turn.Calls[n-1].command() != ""
	t.add(len(e.runs) == 0 && worked, 20, "the last command succeeds")
	met, unmet := e.figures()
	t.add(met > 0 && unmet == "", 30, "the figures reach what the criteria say")
	t.add(unmet != "", veto, "the figures do not reach %q", unmet)
	t.add(met == 0 && e.Frame.Criteria != "" && e.text != "" && e.covered(e.Frame.Criteria) >= 0.6, 20, "what was said and done speaks of the criteria")
}

// told adds what the last words say of the goal.
func (e ending) told(t *tally) {
	t.add(slices.ContainsFunc(e.said, func(s statement) bool { return len(s.words) >= shortReport }), 35, "the agent reports")
	words := e.says(whole, nil)
	if e.shows() {
		t.add(words != "", 25, "it says %q", words)
	} else {
		t.add(words != "", 20, "it says %q, and nothing shows it", words)
	}
	words = e.says(settled, nil)
	t.add(words != "", 30, "there is nothing to do: %q", words)
	open := e.open()
	t.add(open != "", veto, "something is open: %q", open)
	words = e.says(doubtful, aheadOf)
	t.add(words != "", -60, "it is not sure: %q", words)
	words = e.says(red, redElsewhere)
	failing, passed := e.lastRun()
	passed = passed && failing == ""
	weight := -80
	if passed { // which outweighs the words
		weight = -30
	}
	t.add(words != "" && !e.question && !e.wantRed && !(e.aboutFailure && passed), weight, "it tells of a failure: %q", words)
	t.add(e.question && len(e.text) >= shortAnswer && e.says(givenAnswer, nil) != "", 40, "the question is answered")
	t.add(e.question && len(e.Turn.Calls) > 0, 10, "the answer rests on what was looked at")
	t.add(e.userConfirms(), 50, "the user says that it works")
	_, offer := e.asked()
	t.add(offer, -20, "more is offered")
	excused := e.reached()
	stuck := e.stuck()
	halted := stuck >= 80 && !(passed && e.says(stopped, nil) == "")
	t.add(halted, veto, "it waits for somebody")
	t.add(stuck > 0 && !halted, -35, "it may wait for somebody")
	t.add(e.says(quits, nil) != "" || e.says(givesUp, nil) != "" && !e.question && !excused, -80, "it gives up")
	t.add(!excused && e.says(defeated, redElsewhere) != "" && !e.question && !e.wantRed, weight/2, "it tells of what did not succeed")
	t.add(!excused && e.says(impossible, nil) != "" && !e.question, -60, "it speaks of what is not possible")
}

// shows reports whether anything but a word like "all" says that the goal is reached.
func (e ending) shows() bool {
	_, passed := e.lastRun()
	met, _ := e.figures()
	return passed || met > 0 || e.question || e.covered(e.Frame.Goal) >= 0.5 || e.Frame.Criteria != "" && e.covered(e.Frame.Criteria) >= 0.6
}

// The least that counts as an answer to a question, in bytes, and as a report, in words.
const (
	shortAnswer = 40
	shortReport = 2
)

// userConfirms reports whether the user's last words were that it works.
func (e ending) userConfirms() bool {
	n := len(e.Recent)
	return n > 1 && e.Recent[n-2].Role == core.RoleUser && len(e.Recent[n-2].Text) < maxNotice && !strings.Contains(e.Recent[n-2].Text, "?") &&
		confirmed.in(statements(e.Recent[n-2].Text), phrases("not, doesn't, but, still, if, make sure, now, next, then, also, please, can")) != ""
}

// reached reports that what is told to have failed does not matter to the end: the
// figures are reached by another way, or a check passes and failing is the subject.
func (e ending) reached() bool {
	red, passed := e.lastRun()
	met, unmet := e.figures()
	return met > 0 && unmet == "" && red == "" || e.aboutFailure && passed && red == ""
}

// failed returns what speaks for and against the goal being given up.
func (e ending) failed() []core.Signal {
	t := &tally{heuristic: stagnation}
	e.common(t)
	up := cmp.Or(e.says(quits, nil), e.says(givesUp, nil))
	t.add(up != "", 60, "it gives up: %q", up)
	not := e.says(impossible, nil)
	t.add(not != "", 60, "it cannot be reached: %q", not)
	lost := e.says(defeated, nil)
	t.add(lost != "", 30, "it did not succeed: %q", lost)
	t.add(times(defeated, e.said)+times(impossible, e.said) > 2, 15, "it says so several times")
	if up == "" && not == "" && lost == "" {
		return nil
	}
	back := e.takenBack()
	t.add(back != "", 35, "the work was taken back: %q", back)
	t.add(e.says(instead, nil) != "", 15, "another way is named")
	red, _ := e.lastRun()
	t.add(red != "" && !e.wantRed, 15, "the last run of %s fails", red)
	t.add(e.Turn.WithoutProgress > 1, min(20, 5*e.Turn.WithoutProgress), "turns without progress: %d", e.Turn.WithoutProgress)
	t.add(len(e.Failures) > 0, 10*min(3, len(e.Failures)), "signs of failure that the caller names: %d", len(e.Failures))
	_, unmet := e.figures()
	t.add(unmet != "", 20, "the figures do not reach %q", unmet)
	t.add(e.reached(), -80, "the goal is reached all the same")
	open := e.says(ahead, aheadOf)
	t.add(open != "", -80, "it goes on: %q", open)
	words := e.says(running, nil)
	t.add(words != "", -80, "its own work goes on: %q", words)
	t.add(e.stuck() >= 80, -40, "it waits for somebody")
	t.add(e.question && e.says(givenAnswer, nil) != "" && e.says(quits, nil) == "", -40, "a no may be the answer")
	return t.signals
}

// halted reports that the agent announces nothing, and that the turn did not end with a
// check that passes.
func (e ending) halted() bool {
	_, passed := e.lastRun()
	return !passed && e.says(ahead, aheadOf) == "" && e.says(running, nil) == ""
}

// times returns in how many sentences a phrase stands.
func times(l *lexicon, said []statement) (n int) {
	for _, s := range said {
		if l.find(s.words) != "" {
			n++
		}
	}
	return n
}

// takenBack returns how the work was taken back; empty if it was not.
func (e ending) takenBack() string {
	if words := e.says(undone, nil); words != "" {
		return words
	}
	for _, c := range e.Turn.Calls {
		for _, words := range programs(c.command()) {
			if takesBack.begin(words) {
				return strings.Join(words[:min(2, len(words))], " ")
			}
		}
	}
	return ""
}

var takesBack = phrases(`git checkout, git reset, git restore, git revert, git stash, git clean, git branch -d`)

// blocked returns what speaks for and against waiting for something outside.
func (e ending) blocked() []core.Signal {
	t := &tally{heuristic: stagnation}
	e.common(t)
	if e.stuck() == 0 {
		return nil
	}
	for _, s := range e.waiting() {
		t.add(s.words != "", s.points, s.because, s.words)
	}
	t.add(e.halted(), 10, "nothing is announced, and no check passes")
	t.add(e.question && e.says(stopped, nil) == "", -25, "it may be the answer")
	t.add(e.Turn.WithoutProgress > 0, 5, "turns without progress: %d", e.Turn.WithoutProgress)
	open := e.says(ahead, phrases("until, not before, when, once they, when they"))
	t.add(open != "", -60, "it goes on: %q", open)
	words := e.says(running, outsiders)
	t.add(words != "", -60, "its own work goes on: %q", words)
	return t.signals
}

// A sign of waiting is one of the things that together say that nothing can go on.
type sign struct {
	words   string // in which it shows; empty if it does not
	points  int
	because string
}

// waiting returns the signs of waiting for something outside.
func (e ending) waiting() []sign {
	obstacle := e.says(obstacles, nil)
	if obstacle == "" {
		obstacle = e.refusal()
	}
	return []sign{
		{e.says(outsiders, nil), 25, "somebody else has to act: %q"},
		{obstacle, 30, "something is in the way: %q"},
		{e.says(waits, nil), 30, "it waits: %q"},
		{e.says(stopped, nil), 30, "nothing can be done here: %q"},
	}
}

// stuck returns the weight of the signs of waiting; 0 unless there is something to wait
// for, and a word of waiting.
func (e ending) stuck() (points int) {
	signs := e.waiting()
	if signs[0].words+signs[1].words == "" || signs[2].words+signs[3].words == "" {
		return 0
	}
	for _, s := range signs {
		if s.words != "" {
			points += s.points
		}
	}
	return points
}

// refusal returns the words with which a call of the turn was refused from outside.
func (e ending) refusal() string {
	for _, c := range e.Turn.Calls[max(0, len(e.Turn.Calls)-maxCalls):] {
		if c.OK {
			continue
		}
		if found := refusals.in(statements(c.Output), nil); found != "" {
			return found
		}
	}
	return ""
}

var refusals = phrases(`401, 403, 407, 429, 502, 503, 504, forbidden, unauthorized, unauthorised, accessdenied, unauthorizedoperation, access denied
		permission denied, not authorized, refused, rejected, denied, quota, rate limit, licence, license, legal_hold, unavailable
		maintenance, no such device, no device, not mergeable, review required, not available, checkout failed, unable to find * device`)
