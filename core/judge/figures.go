package judge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A bound is a limit that a criterion sets for a figure: below 12 MB, 0 warnings.
type bound struct {
	value float64
	of    string // what the figure counts, "mb"; or # and the name before it
	sign  string // one of < <= > >= =
	text  string // as the criterion has it
}

const (
	figure = `(\d[\d,]*(?:\.\d+)?)`
	digits = "0123456789"
	unit   = `\s?(%|°/min|[a-zA-Zµ]+)?`

	// spelled are the numbers that are written as words.
	spelled = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
)

// Bounds on reading: the distance in bytes between a name and its figure, and the number of
// figures.
const (
	nearby      = 24
	maxMeasures = 400
)

var (
	limited = core.Pattern(`(?i)([a-zA-Z]\w*)?(?:\s+(?:is|be|of|on))*\s*(<=|>=|≤|≥|<|>|=|\bbelow|\bunder|\bless than|` +
		`\bfewer than|\bat most|\bno more than|\bup to|\bat least|\babove|\bover|\bmore than|\bmin(?:imum)?\.?|\bmax(?:imum)?\.?)\s*` + figure + unit)
	counted = core.Pattern(`(?i)\b(0|no|zero)\s+([a-zA-Z-]+ )?` +
		`(warnings?|errors?|findings?|failures?|problems?|issues?|vulnerabilities|violations?|leaks?|todos?)\b`)
	measured = core.Pattern(figure + unit)
	shares   = core.Pattern(`(?i)\b(\d[\d,]*|` + spelled + `) (?:of|out of) (?:the |all |our |its )?(\d[\d,]*|` + spelled + `)\b`)
	portions = core.Pattern(`(?i)(?:\(|\b)(\d+(?:\.\d+)?)\s?(?:%|percent)\s*` +
		`(?:(?:is |are )?(?:of the|done|complete|finished|migrated|through|converted|translated|ready|,? the rest|so far))`)

	// forbids matches the words before a bound that negate it.
	forbids = core.Pattern(`(?i)\b(no|not|never|none|nothing)\b[^,;]*$`)

	// former matches the words before an outdated figure, or before a part of another figure;
	// present matches the words before a figure that has been reached.
	former = core.Pattern(`(?i)\b(from|was|were|another|saved?|saves|by|of|removed|brought|` +
		`costs?|than|below|under|limit|goal|target|instead of|old)[ :]*[^\w]*$`)
	present = core.Pattern(`(?i)(\b(now|is|are|to|at|takes|only|just|largest|peak|stays)|→|->)[ :]*(about |only |just )?[^\w]*$`)
)

// signOf returns the sign that a word of a criterion stands for.
func signOf(word string) string {
	return cmp.Or(list("signs").Meanings()[strings.TrimSuffix(strings.ToLower(word), ".")], "=")
}

// met reports whether the value satisfies the bound.
func (b bound) met(value float64) bool {
	order := cmp.Compare(value, b.value)
	return order == 0 && strings.Contains(b.sign, "=") || order < 0 && b.sign[0] == '<' || order > 0 && b.sign[0] == '>'
}

// boundsOf returns the bounds in a criterion.
func boundsOf(criterion string) (list []bound) {
	if !strings.ContainsAny(criterion, digits) && !strings.Contains(criterion, "no ") && !strings.Contains(criterion, "zero") {
		return nil // most criteria: no expression is compiled for them
	}
	for _, at := range limited().FindAllStringSubmatchIndex(criterion, maxCounts) {
		group := func(i int) string { return criterion[max(0, at[2*i]):max(0, at[2*i+1])] }
		b := bound{float(group(3)), unitOf(group(4)), signOf(group(2)), strings.TrimSpace(group(0))}
		if b.sign != "=" && forbids().MatchString(criterion[max(0, at[0]-nearby):at[4]]) {
			b.sign = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<"}[b.sign]
		}
		if b.of == "" {
			b.of = "#" + strings.ToLower(group(1)) // the name before the figure
		}
		list = append(list, b)
	}
	for _, m := range counted().FindAllStringSubmatch(criterion, maxCounts) {
		list = append(list, bound{0, unitOf(m[3]), "<=", m[0]})
	}
	return list
}

// measuresOf returns the figures in a text that can be compared with a bound of that kind. If the
// text says that some have been reached, it returns only those.
func measuresOf(text, of string) (reached []float64) {
	if name, ok := strings.CutPrefix(of, "#"); ok {
		return measuresAfter(strings.ToLower(text), name)
	}
	var said []float64
	for _, at := range measured().FindAllStringSubmatchIndex(text, maxMeasures) {
		if at[4] < 0 || unitOf(text[at[4]:at[5]]) != of {
			continue
		}
		before, value := text[max(0, at[0]-nearby):at[0]], float(text[at[2]:at[3]])
		switch {
		case former().MatchString(before):
		case present().MatchString(before):
			reached = append(reached, value)
		default:
			said = append(said, value)
		}
	}
	return lo.Ternary(len(reached) > 0, reached, said)
}

// measuresAfter returns the figures right after a name.
func measuresAfter(text, name string) (list []float64) {
	if name == "" {
		return nil
	}
	for _, after := range strings.Split(text, name)[1:] {
		if m := measured().FindStringSubmatch(head(after, nearby)); m != nil {
			list = append(list, float(m[1]))
		}
	}
	return list
}

// unitOf returns a unit in normal form.
func unitOf(unit string) string {
	unit = strings.ToLower(unit)
	return cmp.Or(list("units").Meanings()[unit], strings.TrimSuffix(unit, "s"))
}

// amount returns a number written in digits or as a word.
func amount(text string) float64 {
	if i := slices.Index(strings.Split(spelled, "|"), strings.ToLower(text)); i >= 0 {
		return float64(i)
	}
	return float(text)
}

func float(figure string) float64 {
	value, _ := strconv.ParseFloat(strings.ReplaceAll(figure, ",", ""), 64)
	return value
}

// held reports whether the bound is met or unmet by the first text with a figure of its kind. Both
// are false if no text has one.
func (b bound) held(texts []string) (met, unmet bool) {
	for _, text := range texts {
		if values := measuresOf(text, b.of); len(values) > 0 {
			met = slices.ContainsFunc(values, b.met)
			return met, !met
		}
	}
	return false, false
}

// partOf returns the first incomplete amount in a text, such as "14 of 37"; empty if there is none.
func partOf(text string) string {
	if strings.Contains(text, "of ") {
		for _, m := range shares().FindAllStringSubmatch(text, maxCounts) {
			if amount(m[1]) < amount(m[2]) {
				return m[0]
			}
		}
	}
	if strings.ContainsAny(text, digits) {
		for _, m := range portions().FindAllStringSubmatch(text, maxCounts) {
			if float(m[1]) < 100 {
				return m[0]
			}
		}
	}
	return ""
}
