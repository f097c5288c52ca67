package evidence

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A bound is a limit that a criterion sets for a figure: below 12 MB, 0 warnings.
type bound struct {
	sign  string // one of < <= > >=
	value float64
	unit  string // what the figure counts
}

var (
	limit   = core.Pattern(`(?i)(<=|>=|[≤≥<>]|\b[a-z ]+?)\s*(\d[\d,]*(?:\.\d+)?)\s?(%|[a-zµ]+)`)
	counted = core.Pattern(`(?i)\b(no|zero|0)\s+(warnings?|errors?|findings?|failures?|violations?|leaks?|todos?)\b`)
	figure  = core.Pattern(`(?i)(\d[\d,]*(?:\.\d+)?)\s?(%|[a-zµ]+)`)
	shares  = core.Pattern(`(?i)\b(\d+) (?:of|out of|/) (?:the |all )?(\d+)\b`)
	portion = core.Pattern(`(?i)\b(\d+)\s?(?:%|percent) (?:of the|done|complete|finished|migrated|so far)`)
)

// boundsIn returns the bounds of a criterion.
func boundsIn(criterion string) (bounds []bound) {
	for _, m := range limit().FindAllStringSubmatch(criterion, maxItems) {
		before := " " + strings.ToLower(strings.TrimSpace(m[1]))
		for _, entry := range lists()["signs"] {
			word, sign, _ := cutLast(entry)
			if strings.HasSuffix(before, " "+word) {
				bounds = append(bounds, bound{sign, float(m[2]), unitOf(m[3])})
				break
			}
		}
	}
	for _, m := range counted().FindAllStringSubmatch(criterion, maxItems) {
		bounds = append(bounds, bound{"<=", 0, unitOf(m[2])})
	}
	return bounds
}

func cutLast(entry string) (before, after string, found bool) {
	i := strings.LastIndexByte(entry, ' ')
	return entry[:max(i, 0)], entry[i+1:], i >= 0
}

// met reports whether a value satisfies the bound.
func (b bound) met(value float64) bool {
	order := cmp.Compare(value, b.value)
	return order == 0 && strings.Contains(b.sign, "=") || order < 0 && b.sign[0] == '<' || order > 0 && b.sign[0] == '>'
}

// held returns how many figures of the bound's unit a text has, and how many of them satisfy the bound.
func (b bound) held(text string) (met, all int) {
	for _, m := range figure().FindAllStringSubmatch(text, maxItems) {
		if unitOf(m[2]) == b.unit {
			all++
			met += lo.Ternary(b.met(float(m[1])), 1, 0)
		}
	}
	if b.value == 0 && counted().MatchString(text) {
		return met + 1, all + 1
	}
	return met, all
}

// unitOf returns the beginning of a unit, which "minutes" and "min" have in common.
func unitOf(unit string) string { return core.Head(strings.TrimSuffix(strings.ToLower(unit), "s"), 3) }

func float(figure string) float64 {
	value, _ := strconv.ParseFloat(strings.ReplaceAll(figure, ",", ""), 64)
	return value
}

// partly returns the first incomplete amount in a text, such as "14 of 37"; empty without one.
func partly(text string) string {
	for _, m := range shares().FindAllStringSubmatch(text, maxItems) {
		if float(m[1]) < float(m[2]) {
			return m[0]
		}
	}
	for _, m := range portion().FindAllStringSubmatch(text, maxItems) {
		if float(m[1]) < 100 {
			return m[0]
		}
	}
	return ""
}
