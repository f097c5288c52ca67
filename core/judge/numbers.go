package judge

import (
	"slices"
	"strconv"
	"strings"
)

// A measure is a figure with what it counts: 13.7 and "mb", 0 and "warnings".
type measure struct {
	value float64
	of    string
}

// A bound is what a criterion says that a figure must be.
type bound struct {
	measure
	compare func(value, limit float64) bool
	text    string // as the criterion has it
}

var (
	figure  = `(\d[\d,]*(?:\.\d+)?)`
	unit    = `\s?(%|°/min|[a-zA-Zµ]+)?`
	limited = expressionOf(`(?i)([a-zA-Z]\w*)?(?:\s+(?:is|be|of|on))*\s*(<=|>=|≤|≥|<|>|=|\bbelow|\bunder|\bless than|` +
		`\bfewer than|\bat most|\bno more than|\bup to|\bat least|\babove|\bover|\bmore than|\bmin(?:imum)?\.?|\bmax(?:imum)?\.?)\s*` + figure + unit)
	counted = expressionOf(`(?i)\b(0|no|zero)\s+([a-zA-Z-]+ )?` +
		`(warnings?|errors?|findings?|failures?|problems?|issues?|vulnerabilities|violations?|leaks?|todos?)\b`)
	measured = expressionOf(figure + unit)
	shares   = expressionOf(`(?i)\b(\d[\d,]*|` + spelled + `) (?:of|out of) (?:the |all |our |its )?(\d[\d,]*|` + spelled + `)\b`)
	portions = expressionOf(`(?i)(?:\(|\b)(\d+(?:\.\d+)?)\s?(?:%|percent)\s*` +
		`(?:(?:is |are )?(?:of the|done|complete|finished|migrated|through|converted|translated|ready|,? the rest|so far))`)
)

var compares = map[string]func(value, limit float64) bool{
	"<": func(v, l float64) bool { return v < l }, "<=": func(v, l float64) bool { return v <= l },
	">": func(v, l float64) bool { return v > l }, ">=": func(v, l float64) bool { return v >= l },
	"=": func(v, l float64) bool { return v == l },
}

// opposite are the signs of what must not be.
var (
	opposite = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
	forbids  = expressionOf(`(?i)\b(no|not|never|none|nothing)\b[^,;]*$`)
)

var asSign = map[string]string{
	"≤": "<=", "≥": ">=", "below": "<", "under": "<", "less than": "<", "fewer than": "<", "at most": "<=", "no more than": "<=", "up to": "<=",
	"at least": ">=", "above": ">", "over": ">", "more than": ">", "min": ">=", "minimum": ">=", "max": "<=", "maximum": "<=",
}

// boundsOf returns the figures that a criterion asks for.
func boundsOf(criterion string) (list []bound) {
	for _, at := range limited.FindAllStringSubmatchIndex(criterion, maxCounts) {
		m := make([]string, 5)
		for i := range m {
			if at[2*i] >= 0 {
				m[i] = criterion[at[2*i]:at[2*i+1]]
			}
		}
		sign := strings.TrimSuffix(strings.ToLower(m[2]), ".")
		if s, ok := asSign[sign]; ok {
			sign = s
		}
		if o, ok := opposite[sign]; ok && forbids.MatchString(criterion[max(0, at[0]-nearby):at[4]]) {
			sign = o
		}
		of := unitOf(m[4])
		if of == "" {
			of = "#" + strings.ToLower(m[1]) // a name that the figure follows
		}
		list = append(list, bound{measure{float(m[3]), of}, compares[sign], strings.TrimSpace(m[0])})
	}
	for _, m := range counted.FindAllStringSubmatch(criterion, maxCounts) {
		list = append(list, bound{measure{0, unitOf(m[3])}, compares["<="], m[0]})
	}
	return list
}

// measuresOf returns the figures of a text that may be held against a bound of that kind.
func measuresOf(text, of string) (list []float64) {
	if name, ok := strings.CutPrefix(of, "#"); ok {
		lower := strings.ToLower(text)
		for name != "" {
			i := strings.Index(lower, name)
			if i < 0 {
				return list
			}
			lower = lower[i+len(name):]
			if m := measured.FindStringSubmatch(lower[:min(nearby, len(lower))]); m != nil {
				list = append(list, float(m[1]))
			}
		}
		return list
	}
	var said []float64
	for _, at := range measured.FindAllStringSubmatchIndex(text, maxMeasures) {
		if at[4] < 0 || unitOf(text[at[4]:at[5]]) != of {
			continue
		}
		before := text[max(0, at[0]-nearby):at[0]]
		value := float(text[at[2]:at[3]])
		switch {
		case former.MatchString(before):
		case present.MatchString(before):
			list = append(list, value)
		default:
			said = append(said, value)
		}
	}
	if len(list) > 0 {
		return list
	}
	return said
}

// What stands before a figure that is no longer so, or that is a part of another; and
// before one that is what has been reached.
var (
	former = expressionOf(`(?i)\b(from|was|were|another|saved?|saves|by|of|removed|brought|` +
		`costs?|than|below|under|limit|goal|target|instead of|old)[ :]*[^\w]*$`)
	present = expressionOf(`(?i)(\b(now|is|are|to|at|takes|only|just|largest|peak|stays)|→|->)[ :]*(about |only |just )?[^\w]*$`)
)

// nearby is how far from its name a figure may stand, in bytes; maxMeasures bounds how
// many are read.
const (
	nearby      = 24
	maxMeasures = 400
)

// unitOf returns a unit in the form in which two are compared.
func unitOf(unit string) string {
	unit = strings.ToLower(unit)
	switch unit {
	case "s", "ms", "us":
		return unit
	case "sec", "secs", "second", "seconds":
		return "s"
	case "minutes", "minute", "mins":
		return "min"
	case "kib":
		return "kb"
	case "mib", "m":
		return "mb"
	case "gib", "g":
		return "gb"
	case "percent":
		return "%"
	}
	return strings.TrimSuffix(unit, "s")
}

// spelled are the numbers that are written as words.
const spelled = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"

// amount returns a number that is written in figures or as a word.
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

// held reports whether the first of the texts with a figure of that kind shows that the
// bound is met, or that it is not.
func (b bound) held(texts ...string) (met, unmet bool) {
	for _, text := range texts {
		for _, value := range measuresOf(text, b.of) {
			if b.compare(value, b.value) {
				met = true
			} else {
				unmet = true
			}
		}
		if met || unmet {
			return met, !met
		}
	}
	return false, false
}

// partOf returns the first part of a whole that a text tells of: "14 of 37". Empty if all
// are whole, or parts of what is another thing, such as a time.
func partOf(text string) string {
	for _, m := range shares.FindAllStringSubmatch(text, maxCounts) {
		if amount(m[1]) < amount(m[2]) {
			return m[0]
		}
	}
	for _, m := range portions.FindAllStringSubmatch(text, maxCounts) {
		if float(m[1]) < 100 {
			return m[0]
		}
	}
	return ""
}
