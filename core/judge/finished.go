package judge

import (
	"slices"
	"strings"

	"flame/core"
)

// finished is the least weight of the signs of completion at which flame ends a frame without
// asking.
const finished = 100

// onlyChecks matches criteria that only ask for tests to pass.
var onlyChecks = core.Pattern(`(?i)^(all |the |unit |go )*(tests?|specs?|suite)( (suite|run))?( (pass(es)?|(are|is|stay|stays) green|green))?$`)

// Finished reports whether there is proof that the goal is reached with nothing left open, so
// that flame may end the frame as completed without asking. Words alone prove nothing. The
// frame must have changed something, tests must have passed after the turn's last change, and
// the last words or the artifacts must mention each criterion.
func Finished(m Moment) bool {
	e := readEnding(m)
	switch {
	case e.is("red"), !e.is("passed"), e.is("cut"), e.text == "", m.Frame.Open > 0, len(m.Frame.Planned) > 0, len(m.Failures) > 0:
		return false
	case len(m.Frame.Files)+len(m.Turn.Files)+len(m.Frame.Artifacts) == 0, !e.tested(), e.doubts(), !e.understood(), !e.proven():
		return false
	}
	sum := 0
	for _, s := range forPop(e, core.Completed) {
		sum += s.Points
	}
	return sum >= finished
}

// tested reports whether tests passed after the turn's last change, and whether each failed
// run of the turn passed later: with the same command, or with the command for all packages.
func (e *ending) tested() bool {
	last := -1
	for i, c := range e.Turn.Calls {
		switch {
		case c.proves():
			last = i
		case !c.onlyReads():
			last = -1
		}
	}
	if last < 0 {
		return false
	}
	line := strings.TrimSpace(strings.TrimSuffix(e.Turn.Calls[last].command(), "./..."))
	return !slices.ContainsFunc(e.Turn.Calls[:last], func(c Call) bool {
		return c.runner() != "" && !c.passed() && !strings.HasPrefix(c.command(), line)
	})
}

// doubts reports whether the last words mention more work, a failure or a doubt, however
// harmless it may be.
func (e *ending) doubts() bool {
	asks := slices.ContainsFunc(e.said, func(s sentence) bool { return s.asks })
	if asks || e.is("open") || partOf(e.text) != "" || e.stuck > 0 {
		return true
	}
	return slices.ContainsFunc([]string{
		"ahead", "doubtful", "tries", "running", "red", "gives up", "quits", "impossible", "defeated", "undone", "but",
	}, func(name string) bool { return e.says(name, "none left") != "" })
}

// understood reports whether the last words are short and in English: flame knows how doubts
// are expressed only there, so each sentence must contain a plain English word.
func (e *ending) understood() bool {
	return len(e.text) <= maxNotice*2 && !slices.ContainsFunc(e.said, func(s sentence) bool { return len(s.words) >= shortReport && !s.has("plain") })
}

// proven reports whether the last words or what was made cover each criterion and reach its
// figures; without criteria, the goal. Output of calls does not count: a call may just have
// read the criterion.
func (e *ending) proven() bool {
	items := criteria(e.Frame.Criteria)
	switch {
	case e.is("unmet"):
		return false
	case len(items) == 0:
		return e.says("whole") != "" && e.covered(e.Frame.Goal) >= 0.6
	}
	made := strings.ToLower(strings.Join(slices.Concat([]string{e.text}, latest(e.Frame.Artifacts, maxLatest), latest(e.Turn.Files, maxLatest)), "\n"))
	return !slices.ContainsFunc(items, func(item string) bool {
		return shareIn(made, item) < 0.5 && !e.shown(item) && !onlyChecks().MatchString(item)
	})
}
