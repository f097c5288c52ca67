package judge

import (
	"slices"
	"strings"

	"flame/core"
)

// Finished reports whether there is proof that the goal is reached and nothing of it is
// open, so that the frame may be ended as completed without asking anybody. Words alone
// are no proof: something was changed in the frame, tests passed in the turn after all that
// was changed in it, and what the criteria ask for is found in what was said last and made.
func Finished(m Moment) bool {
	e := readEnding(m)
	red, passed := e.lastRun()
	switch {
	case red != "" || !passed, e.cut != "", e.text == "", m.Frame.Open > 0, len(m.Frame.Planned) > 0, len(m.Failures) > 0:
		return false
	case len(m.Frame.Files)+len(m.Turn.Files)+len(m.Frame.Artifacts) == 0, !e.tested(), e.doubts(), !e.understood(), !e.proven():
		return false
	}
	sum := 0
	for _, s := range e.completed() {
		sum += s.Points
	}
	return sum >= finished
}

// finished is the weight that the signs of completion must have.
const finished = 100

// tested reports whether the tests passed after all that was changed in the turn, and
// whether each run of it that failed was mended.
func (e ending) tested() bool {
	last := -1
	for i, c := range e.Turn.Calls {
		switch {
		case c.runner() != "" && c.proves():
			last = i
		case !c.onlyReads():
			last = -1
		}
	}
	if last < 0 {
		return false
	}
	line := broadest(e.Turn.Calls[last].command())
	return !slices.ContainsFunc(e.Turn.Calls[:last], func(c Call) bool {
		return c.runner() != "" && !c.passed() && !strings.HasPrefix(strings.TrimSpace(c.command()), line)
	})
}

// broadest returns a command without the pattern that stands for all packages: it clears
// what failed in one of them.
func broadest(line string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "./..."))
}

// doubts reports whether anything in the last words speaks of more to do, of a failure or
// of a doubt, even where it might be excused.
func (e ending) doubts() bool {
	asks := slices.ContainsFunc(e.said, func(s statement) bool { return s.asks })
	if asks || e.open() != "" || partOf(e.text) != "" || e.stuck() > 0 {
		return true
	}
	for _, l := range []*lexicon{ahead, doubtful, tries, running, red, givesUp, quits, impossible, defeated, undone, but} {
		if e.says(l, noneLeft) != "" {
			return true
		}
	}
	return false
}

// but are the words that limit what was said before.
var but = phrases(`but, however, although, though, except, only, unless, for now, at least, rest, left, still, next, later, soon, not, n't, without
		todo, fixme, wip, draft, apart from, aside from, skipped, skipping, as skip, disabled, mocked, mock, stub, commented out
		hard coded, hardcoded, following, follow, follows, begin, baseline, understand, i read, before my, before the change, i think
		i believe, i guess, i suspect, probably, presumably, likely, remain~, most, partly, partially, some of, half, progress
		in the background, placeholder, except for`)

// proven reports whether each criterion, or without any the goal, is found in what was
// said and done, and its figures are reached.
func (e ending) proven() bool {
	if _, unmet := e.figures(); unmet != "" {
		return false
	}
	items := criteria(e.Frame.Criteria)
	if len(items) == 0 {
		return e.says(whole, nil) != "" && e.covered(e.Frame.Goal) >= 0.6
	}
	return !slices.ContainsFunc(items, func(item string) bool {
		return e.made(item) < 0.5 && !e.shown(item) && !onlyChecks.MatchString(strings.TrimSpace(item))
	})
}

// onlyChecks are criteria that ask for nothing but tests that pass.
var onlyChecks = expressionOf(`(?i)^(all |the |unit |go )*(tests?|specs?|suite)( (suite|run))?( (pass(es)?|(are|is|stay|stays) green|green))?$`)

// made returns the share of the words of a criterion that stand in what the agent said
// last and made. What its calls say does not count: they may have read the criterion.
func (e ending) made(item string) float64 {
	return stemsIn(strings.ToLower(strings.Join(slices.Concat([]string{e.text}, latest(e.Frame.Artifacts), latest(e.Turn.Files)), "\n")), item)
}

// understood reports whether the last words are few, and each sentence of them has a word
// of the language whose doubts are known.
func (e ending) understood() bool {
	return len(e.text) <= maxNotice*2 && !slices.ContainsFunc(e.said, func(s statement) bool {
		return len(s.words) >= shortReport && plain.find(s.words) == ""
	})
}

// plain are words that nearly every English sentence has one of.
var plain = phrases(`the, a, an, is, are, was, were, has, have, had, be, been, it, its, and, or, of, to, in, on, at, for, with, by, from, as, all, both, each
		every, now, this, that, these, those, i, we, they, none, no, nothing, everything, there, here, pass, passes, passed, fixed, done, green, works`)

// shown reports whether an item has figures and all of them are reached, by what was said
// last or by the output of tests.
func (e ending) shown(item string) bool {
	bounds := boundsOf(item)
	said := []string{e.text}
	for _, c := range e.Turn.Calls {
		if c.proves() {
			said = append(said, bounded(c.Output))
		}
	}
	for _, b := range bounds {
		if met, _ := b.held(said...); !met {
			return false
		}
	}
	return len(bounds) > 0
}

// criteria returns the parts of success criteria: one a line, or between semicolons and
// commas.
func criteria(text string) (list []string) {
	for part := range strings.FieldsFuncSeq(bounded(text), func(r rune) bool { return r == '\n' || r == ';' || r == ',' }) {
		if len(core.Keywords(part)) > 0 || len(boundsOf(part)) > 0 {
			list = append(list, part)
		}
	}
	return list
}
