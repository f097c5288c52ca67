package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"flame/core"
)

// A rule is a line of words.txt: one sign for or against a push or a pop.
type rule struct {
	core.Signal        // Because may have a verb of fmt for what was found
	most        int    // limit of the points if they count once for each thing found; 0: they count once
	conditions  []term // that must all hold
}

// A term holds if one of its facts holds, or if the agent says a phrase of one of its lists.
type term struct {
	facts   []string // "not" before a name negates it
	says    []string // lists; empty if the term has facts
	without []string // lists whose phrases must not stand in the same sentence
	not     bool     // the agent must not say it
}

// facts holds what is known about a moment, by the names that rules use: bools, words and
// counts. A fact that is missing, false, empty or 0 does not hold.
type facts struct {
	known   map[string]any
	said    []sentence // the agent's last words
	subject []string   // words of the goal, which prove nothing when they stand alone
}

// is reports whether a fact holds.
func (f *facts) is(name string) bool { return holds(f.known[name]) }

// note makes a fact hold if there is true, or if the fact holds already.
func (f *facts) note(name string, there bool) { f.known[name] = there || f.is(name) }

// says returns the first phrase of the list that the agent uses; empty if there is none. It skips
// sentences with a phrase of the lists without, and phrases that are words of the goal.
func (f *facts) says(name string, without ...string) string {
	phrases := list(name)
	for _, s := range f.said {
		from, to := phrases.Find(s.words)
		if found := strings.Join(s.words[from:to], " "); to > 0 && !slices.ContainsFunc(without, s.has) && !slices.Contains(f.subject, found) {
			return found
		}
	}
	return ""
}

// rules returns the rules on pushes, or on an end with that status. It panics if it cannot read
// a line of words.txt, because that is a mistake in the program.
func rules(on string) []rule { return allRules()[on] }

var allRules = sync.OnceValue(func() map[string][]rule {
	all := map[string][]rule{}
	for name, l := range lists() {
		on, ok := strings.CutPrefix(name, "rules on ")
		heuristic := "" // of the line before
		if !ok {
			continue
		}
		for _, line := range l.Lines() {
			r, err := readRule(line, heuristic)
			if err != nil {
				panic(fmt.Sprintf("words.txt: %q: %v", line, err))
			}
			all[on], heuristic = append(all[on], r), r.Heuristic
		}
	}
	return all
})

// readRule parses a line: words = points..most heuristic if conditions.
func readRule(line, heuristic string) (r rule, err error) {
	because, rest, _ := strings.Cut(line, " = ")
	weight, conditions, _ := strings.Cut(rest, " if ")
	points, own, found := strings.Cut(weight, " ")
	if found {
		heuristic = own
	}
	r.Because, r.Heuristic = because, heuristic
	points, most, bounded := strings.Cut(points, "..")
	if r.Points, err = strconv.Atoi(points); err == nil && bounded {
		r.most, err = strconv.Atoi(most)
	}
	for condition := range strings.SplitSeq(conditions, ", ") {
		r.conditions = append(r.conditions, readTerm(condition))
	}
	return r, err
}

func readTerm(text string) (t term) {
	said, ok := strings.CutPrefix(text, "says ")
	if !ok {
		said, t.not = strings.CutPrefix(text, "not says ")
	}
	if !ok && !t.not {
		return term{facts: strings.Split(text, " or ")}
	}
	said, without, found := strings.Cut(said, " without ")
	if found {
		t.without = []string{without}
	}
	t.says = strings.Split(said, " or ")
	return t
}

// found returns why the term holds: the agent's phrase, or the value of the first fact that holds.
func (t term) found(f *facts) any {
	for _, list := range t.says {
		if words := f.says(list, t.without...); words != "" {
			return words
		}
	}
	for _, name := range t.facts {
		name, not := strings.CutPrefix(name, "not ")
		if value := f.known[name]; holds(value) != not {
			if not {
				return true
			}
			return value
		}
	}
	return ""
}

func holds(value any) bool { return value != nil && value != false && value != "" && value != 0 }

// weigh returns the signals of the rules whose conditions all hold.
func weigh(all []rule, f *facts) (signals []core.Signal) {
	for _, r := range all {
		var what any
		if slices.ContainsFunc(r.conditions, func(t term) bool {
			found := t.found(f)
			if what == nil {
				what = found
			}
			return holds(found) == t.not
		}) {
			continue
		}
		s := r.Signal
		if count, ok := what.(int); ok && r.most != 0 { // between Points and most, which may be negative
			s.Points = max(min(s.Points*count, max(r.most, s.Points)), min(r.most, s.Points))
		}
		if strings.Contains(s.Because, "%") {
			s.Because = fmt.Sprintf(s.Because, what)
		}
		signals = append(signals, s)
	}
	return signals
}
