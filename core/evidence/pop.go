package evidence

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// notices matches texts with which a host ends a turn when the agent cannot.
var notices = core.Pattern(`(?i)^\W*(API error|.{0,20}(usage )?limit reached|(you've|you have) (hit|reached) your|` +
	`prompt is too long|credit balance|request timed out|connection error|execution error|overloaded|internal server error|error: \d{3}\b|` +
	`\d{3} \{|MessageAborted|aborted|.{0,40}output token maximum|max(imum)? turns|context (window|length) (is )?exceeded|input is too long)`)

// Bounds on the last words that flame understands, in bytes.
const (
	minSaid = 3
	maxSaid = 1000
)

// Pop recommends to end the frame as completed: something was made in it, the last checks passed after the last change,
// the figures reach the criteria, and nothing is open. Words alone do not suffice, and only the agent can say that a
// frame failed or is blocked.
func Pop(m Moment) (r Recommendation) {
	said := lastWords(m)
	switch {
	case len(said) < minSaid, m.Frame.Open > 0, len(m.Frame.Planned) > 0, len(m.Frame.Files)+len(m.Frame.Artifacts) == 0:
		return r
	case strings.Contains(said, "?"), phrase("plain", said) == "", phrase("open", said) != "", partly(said) != "", !green(m.Calls, Call.checks):
		return r
	}
	missed, reached := figures(m, said)
	if missed || m.Frame.Criteria != "" && !covered(m, said) {
		return r
	}
	r = Recommendation{Confidence: checked, Reason: "checks passed after the last change"}
	if reached {
		r.Reason += ", and the figures reach the criteria"
	}
	if green(m.Calls, Call.proves) && len(said) <= maxSaid && understood(said) && covered(m, said) {
		r.Confidence, r.Proven = proof, true
	}
	return r
}

// lastWords returns what the agent said last; empty if it was interrupted, or ended by an error of its host.
func lastWords(m Moment) string {
	last := lo.LastOrEmpty(m.Recent)
	text := strings.TrimSpace(begin(last.Text, maxText))
	if last.Role != core.RoleAssistant || notices().MatchString(text) {
		return ""
	}
	return text
}

// green reports whether a check passed after the last call that may have changed anything, and each failed check passed
// later: with the same command, or with the command for all packages.
func green(calls []Call, check func(Call) bool) bool {
	last := -1
	for i, c := range calls {
		switch {
		case check(c) && c.passed():
			last = i
		case !c.OnlyReads():
			last = -1
		}
	}
	if last < 0 {
		return false
	}
	line := strings.TrimSpace(strings.TrimSuffix(calls[last].Command(), "./..."))
	return !slices.ContainsFunc(calls[:last], func(c Call) bool {
		return c.checks() && !c.passed() && !strings.HasPrefix(c.Command(), line)
	})
}

// figures compares the figures of the criteria, or of the goal without any, with those of the last words and of the
// checks.
func figures(m Moment, said string) (missed, reached bool) {
	for _, c := range m.Calls {
		if c.checks() {
			said += "\n" + end(c.Output, maxOutput)
		}
	}
	criteria := m.Frame.Criteria
	if criteria == "" {
		criteria = m.Frame.Goal
	}
	for _, b := range boundsIn(begin(criteria, maxText)) {
		met, all := b.held(said)
		missed = missed || all > 0 && met == 0
		reached = reached || met > 0
	}
	return missed, reached
}

// understood reports whether the last words are in plain English without a word of doubt: flame knows how doubts are
// expressed only there.
func understood(said string) bool {
	return phrase("limits", said) == "" && !slices.ContainsFunc(strings.Split(said, "\n"), func(line string) bool {
		return len(words(line)) > 1 && phrase("plain", line) == ""
	})
}

// onlyChecks matches criteria that only ask for checks to pass.
var onlyChecks = core.Pattern(`(?i)^(all |the |unit |go )*(tests?|specs?|suite)( (suite|run))?( (pass(es)?|(are|is|stay|stays) green|green))?$`)

// covered reports whether the last words or what was made mention each criterion, or reach its figures. Without criteria
// nothing says what done means.
func covered(m Moment, said string) bool {
	items := strings.FieldsFunc(begin(m.Frame.Criteria, maxText), func(r rune) bool { return r == '\n' || r == ';' || r == ',' })
	made := stems(strings.Join(slices.Concat([]string{said}, latest(m.Frame.Artifacts), latest(m.Frame.Files)), "\n"))
	if len(items) == 0 {
		return false
	}
	return !slices.ContainsFunc(items, func(item string) bool {
		bounds := boundsIn(item)
		unmet := slices.ContainsFunc(bounds, func(b bound) bool {
			met, all := b.held(said)
			return met == 0 || met < all
		})
		return len(bounds) > 0 && unmet || len(bounds) == 0 && !onlyChecks().MatchString(strings.TrimSpace(item)) && mentioned(item, made) < 0.5
	})
}

// mentioned returns the share of the words of a text that are among stems; 0 without any.
func mentioned(text string, among []string) float64 {
	about := stems(begin(text, maxText))
	return float64(len(lo.Intersect(about, among))) / float64(max(1, len(about)))
}
