package judge

import (
	"slices"
	"strings"
	"sync"
)

// A kind is a kind of work, in words.
type kind string

const (
	explaining    kind = "an explanation"
	investigating kind = "an investigation"
	reviewing     kind = "a review"
	building      kind = "building"
	checking      kind = "testing"
	documenting   kind = "documentation"
	deploying     kind = "deployment"
	planning      kind = "planning"
	reporting     kind = "a report"
)

// kindWords tell the kind of a piece of work.
var kindWords = sync.OnceValue(func() map[kind]*words {
	return map[kind]*words{
		explaining:    wordSet("explain answer understand describe"),
		investigating: wordSet("investigate investigation debug analyse analyze profile cause audit research diagnose reproduce study compare evaluate survey"),
		reviewing:     wordSet("review"),
		building:      wordSet("implement build create fix support wrap develop extend port rewrite refactor upgrade replace migrate change add make set apply"),
		checking:      wordSet("test tests e2e fuzz"),
		documenting:   wordSet("document docs documentation guide readme notes changelog blog slide slides adr diagram postmortem translate localise"),
		deploying:     wordSet("deploy deployed deployment rollout publish release provision"),
		planning:      wordSet("plan draft design estimate propose"),
		reporting:     wordSet("report dashboard csv xlsx analysis statistics summary overview"),
	}
})

// kindOf returns the kind of work that the first telling word names; empty without one.
func kindOf(words []string) kind {
	for _, word := range words {
		for kind, telling := range kindWords() {
			if telling.has(word) {
				return kind
			}
		}
	}
	return ""
}

// kindOfGoal returns the kind of work that a goal begins with, or is called.
func kindOfGoal(goal string) kind {
	words := wordsOf(head(goal, maxMessage))
	if len(words) > 0 {
		if k := kindOf(words[:1]); k != "" {
			return k
		}
	}
	for _, word := range words {
		if k := kindOf([]string{word}); k != building && k != planning && k != "" {
			return k
		}
	}
	return ""
}

// kindAsked returns the kind of work that is asked for with these words, the verb first.
func kindAsked(words []string) kind {
	k := kindOf(words)
	switch {
	case len(words) == 0:
		return ""
	case k == building && smallWork.has(words[0]):
		return ""
	case k == "" && makingWork.has(words[0]) && !pointing.has(next(words)):
		return building
	}
	return k
}

// differs reports whether work of this kind is another piece of work than what has the
// goal's kind.
func (k kind) differs(goal kind) bool {
	switch k {
	case goal, "":
		return false
	case building:
		return goal == explaining || goal == reviewing || goal == investigating || goal == documenting
	case documenting:
		return goal == reviewing || goal == investigating
	case deploying, reviewing:
		return true
	case investigating:
		return goal != ""
	}
	return false
}

// accompanies reports whether work of this kind is a part of what has the goal's kind.
func (k kind) accompanies(goal kind) bool {
	return k != goal && (k == checking || k == documenting) && (goal == building || goal == "")
}

// workWords returns the stems of the words that the work at hand is spoken of with.
func workWords(m Moment) []string {
	var b strings.Builder
	write := func(max int, texts ...string) {
		for _, text := range texts {
			b.WriteString(head(text, max))
			b.WriteByte('\n')
		}
	}
	write(maxMessage, m.Frame.Goal, m.Frame.Criteria)
	write(200, latest(m.Frame.Decisions)...)
	write(200, latest(m.Frame.Artifacts)...)
	write(200, latest(m.Frame.Files)...)
	write(200, latest(m.Turn.Files)...)
	for _, message := range latest(m.Recent) {
		write(maxMessage, message.Text)
	}
	for _, call := range latest(m.Turn.Calls) {
		write(200, call.Input)
	}
	return stems(b.String())
}

// maxLatest bounds how many of a list are read.
const maxLatest = 40

// latest returns the last ones of a list.
func latest[T any](list []T) []T { return list[max(0, len(list)-maxLatest):] }

// plannedIn returns the goal of the planned child that the prompt takes up; empty if it
// takes up none.
func plannedIn(r reading, m Moment) string {
	if r.pasted > 0 || r.question && r.ask == asksNothing {
		return ""
	}
	if r.planned && len(m.Frame.Planned) > 0 {
		return m.Frame.Planned[0]
	}
	if len(m.Frame.Planned) == 0 {
		return ""
	}
	var said []order
	for _, s := range r.sentences {
		said = append(said, s.orders()...)
	}
	goal := stems(m.Frame.Goal)
	best, most := "", 0.0
	for _, child := range latest(m.Frame.Planned) {
		own := slices.DeleteFunc(stems(head(child, maxMessage)), func(stem string) bool { return slices.Contains(goal, stem) })
		for _, o := range said {
			if named := o.names(own, r.turn != stays); named > most {
				best, most = child, named
			}
		}
	}
	return best
}

// An order is a sentence that may have a planned child begun.
type order struct {
	about []string // stems of what it is about
	ask   ask
	words int
}

// orders returns the sentence and its last clause, unless they put something off or tell
// of a fault.
func (s sentence) orders() (list []order) {
	for _, part := range []sentence{s, s.last()} {
		if len(part.words) == 0 || part.left || slices.ContainsFunc(part.raw, func(word string) bool { return puttingOff.has(word) || defectWords.has(word) }) {
			continue
		}
		a, _ := part.ask()
		list = append(list, order{stems(part.text), a, len(part.words)})
	}
	return list
}

// names returns how much of a planned child's own words the order has, 0 if it does not
// speak of beginning it.
func (o order) names(own []string, turned bool) float64 {
	both := known(o.about, own)
	if len(both) == 0 {
		return 0
	}
	shared := weightOf(both)
	alone := !slices.ContainsFunc(o.about, func(stem string) bool { return !slices.Contains(own, stem) })
	if shared >= weightOf(o.about)/2 && (turned || o.ask > asksNothing || alone && o.words <= 3) ||
		(turned || len(both) > 1 || o.ask == asksNew && shared >= 1) && shared >= weightOf(own)/2 {
		return shared
	}
	return 0
}
