package converge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Difference is a subject about which agents say different things: one that flame shows
// because it cannot compare it, or one that the caller found to be a conflict.
type Difference struct {
	About string      `json:"about"`
	Sides []Statement `json:"sides"`
}

// A Statement is what some of the agents say about a subject.
type Statement struct {
	SubagentIDs []string `json:"subagent_ids"`
	Says        string   `json:"says"`
}

// MaxShown is how many characters of a text that was not compared a Statement shows.
const MaxShown = 1_000

// differenceOf returns what agents say differently; false if they do not.
func differenceOf(about string, agents []*agent, said map[*agent][]string, t tolerance) (d Difference, ok bool) {
	texts := lo.Map(agents, func(a *agent, _ int) string { return strings.Join(said[a], "\n") })
	lines := lo.CountValues(lo.FlatMap(agents, func(a *agent, _ int) []string { return lo.Uniq(lo.Map(said[a], normalLine)) }))
	for i, text := range lo.Uniq(texts) {
		ok = ok || slices.ContainsFunc(lo.Uniq(texts)[i+1:], func(other string) bool { return !agree(text, other, t) })
	}
	for i, a := range agents {
		own := lo.Filter(said[a], func(line string, _ int) bool { return lines[normal(line)] < len(agents) })
		says := core.Cut(strings.TrimSpace(lo.CoalesceOrEmpty(strings.Join(own, "\n"), texts[i])), MaxShown)
		side := slices.IndexFunc(d.Sides, func(s Statement) bool { return s.Says == says })
		if side >= 0 {
			d.Sides[side].SubagentIDs = append(d.Sides[side].SubagentIDs, a.SubagentID)
		} else if says != "" {
			d.Sides = append(d.Sides, Statement{[]string{a.SubagentID}, says})
		}
	}
	d.About = about
	return d, ok
}

func normalLine(line string, _ int) string { return normal(line) }

// readAnswers compares the answers of agents by the values that they name. It returns the
// conflicts, the claims without those in conflict, and what was not compared.
func readAnswers(agents []*agent, all []claim, t tolerance) (conflicts []*subject, rest []claim, open []Difference) {
	answered := lo.Reject(agents, func(a *agent, _ int) bool { return a.answer.blank() })
	all = split(all)
	readings := lo.Map(answered, func(a *agent, _ int) parsedText { return a.parsed(all) })
	names := lo.Keys(lo.Assign(lo.Map(readings, func(r parsedText, _ int) map[string]entry { return r.entries })...))
	slices.Sort(names)
	results := map[string]verdict{}
	for _, name := range names {
		result, sides := verdicts(readings, name, t)
		if results[name] = result; result == differs {
			conflicts = append(conflicts, newSubject(lo.Map(sides, func(i int, _ int) claim {
				return statement(answered[i], all, readings[i].entries[name])
			}), t))
		}
	}
	for _, c := range all {
		if c.part == findingPart && results[c.key] == unclear { // it is kept of each
			c.key, c.op = c.key+"\x00"+c.by.SubagentID, opAdd
		}
		if c.part != findingPart || results[c.key] != differs {
			rest = append(rest, c)
		}
	}
	left, values := map[*agent][]string{}, false
	for i, a := range answered {
		left[a] = readings[i].left(readings, results)
		values = values || len(left[a]) > len(readings[i].rest)
	}
	if d, words := differenceOf("answers", answered, left, t); words || values {
		open = append(open, d)
	}
	return conflicts, rest, open
}

// left returns the lines of a text that were not compared with all others: words, values that
// are unclear, and values that another reading lacks, if it has others in common or nothing else
// tells it from this one.
func (r parsedText) left(others []parsedText, results map[string]verdict) []string {
	near := lo.Filter(others, func(o parsedText, _ int) bool {
		return o.words == r.words || lo.SomeBy(lo.Keys(r.entries), func(name string) bool { _, ok := o.entries[name]; return ok })
	})
	lines := lo.Map(r.rest, func(line string, i int) entry { return entry{text: line, place: 2*i + 1} })
	for name, e := range r.entries {
		everywhere := !slices.ContainsFunc(near, func(o parsedText) bool { _, ok := o.entries[name]; return !ok })
		if e.place *= 2; results[name] == unclear || !everywhere || len(near) < 2 {
			lines = append(lines, e)
		}
	}
	slices.SortFunc(lines, func(a, b entry) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name)) })
	return lo.Map(lines, func(e entry, _ int) string { return e.text })
}

// verdicts compares the entries of a name, and returns the indexes of the readings that have it.
func verdicts(readings []parsedText, name string, t tolerance) (result verdict, sides []int) {
	var all []verdict
	for i, r := range readings {
		e, ok := r.entries[name]
		if !ok {
			continue
		}
		for _, j := range sides {
			other := readings[j]
			v := compare(e.value, other.entries[name].value, t)
			moved := e.place != other.entries[name].place && r.words == other.words
			elsewhere := e.section != "" && other.entries[name].section != "" && e.section != other.entries[name].section
			all = append(all, lo.Ternary(moved && v == equal || elsewhere, unclear, v))
		}
		sides = append(sides, i)
	}
	return overall(all), sides
}

// statement returns an entry of an answer as a claim: the finding of that name, or a line of a
// text.
func statement(a *agent, all []claim, e entry) claim {
	finding, ok := lo.Find(all, func(c claim) bool { return c.by == a && c.part == findingPart && c.key == e.name })
	if ok {
		return finding
	}
	return claim{part: statementPart, key: e.name, by: a, same: e.value, hash: hash(e.value), text: e.text, op: opReplace, name: e.name, value: e.value}
}

// parsed returns the values that the answer of a names; all has its findings.
func (a *agent) parsed(all []claim) parsedText {
	if !a.answer.json {
		return a.answer.reading
	}
	r := parsedText{entries: map[string]entry{}, rest: a.answer.around(), words: normal(a.answer.words)}
	if a.answer.object() == nil {
		r.entries["answer"] = entry{name: "answer", value: a.answer.value, text: a.answer.text}
	}
	for _, c := range all {
		if c.by == a && c.part == findingPart && !strings.Contains(c.key, "\x00") {
			r.entries[c.key] = entry{name: c.key, value: c.same, text: c.key + ": " + c.text}
		}
	}
	return r
}

// maxSplit is how many levels of objects are compared property by property.
const maxSplit = 20

// split divides the findings that are objects of several agents into their properties.
func split(all []claim) []claim {
	for range maxSplit {
		groups := lo.GroupBy(all, claim.subject)
		divisible := lo.PickBy(groups, func(_ lo.Tuple2[part, string], group []claim) bool {
			return len(group) > 1 && !slices.ContainsFunc(group, func(c claim) bool { return len(c.properties()) == 0 })
		})
		if len(divisible) == 0 {
			break
		}
		all = lo.FlatMap(all, func(c claim, _ int) []claim {
			if divisible[c.subject()] == nil {
				return []claim{c}
			}
			return c.by.signed(c.by.findings(c.key, c.schema, c.properties()))
		})
	}
	return all
}

func (c claim) properties() map[string]any {
	if c.part != findingPart {
		return nil
	}
	properties, _ := c.value.(map[string]any)
	return properties
}
