package converge

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/samber/lo"

	"flame/core"
)

type verdict int

const (
	equal   verdict = iota
	differs         // both cannot hold
	unclear         // the values are not equal, and only a reader can tell whether both hold
)

// An exact value, such as a hash, is compared letter by letter.
type exact string

// compare compares two values; numbers in them may be within a tolerance.
func compare(a, b any, t tolerance) verdict {
	if x, y := quantityOf(a), quantityOf(b); x != nil && y != nil {
		return x.compare(*y, t)
	}
	switch a := a.(type) {
	case string:
		return pair(a, b, t, compareTexts)
	case []any:
		return pair(a, b, t, compareLists)
	case map[string]any:
		return pair(a, b, t, compareObjects)
	case parsedText:
		return pair(a, b, t, parsedText.compare)
	}
	if a == b {
		return equal
	}
	return lo.Ternary(reflect.TypeOf(a) == reflect.TypeOf(b), differs, unclear)
}

// pair compares two values of one kind; values of two kinds are unclear.
func pair[V any](a V, b any, t tolerance, compare func(a, b V, t tolerance) verdict) verdict {
	if b, ok := b.(V); ok {
		return compare(a, b, t)
	}
	return unclear
}

// agree reports whether two values are equal, numbers in them within tolerance.
func agree(a, b any, t tolerance) bool { return compare(a, b, t) == equal }

// overall returns differs or unclear if one of the verdicts is, in this order; otherwise equal.
func overall(all []verdict) verdict {
	if slices.Contains(all, differs) {
		return differs
	}
	return lo.Ternary(slices.Contains(all, unclear), unclear, equal)
}

// compareObjects compares the properties of two objects. A property that only one of them has
// contradicts nothing.
func compareObjects(a, b map[string]any, t tolerance) verdict {
	result := overall(lo.MapToSlice(a, func(key string, value any) verdict {
		if other, ok := b[key]; ok {
			return compare(value, other, t)
		}
		return unclear
	}))
	return lo.Ternary(result == equal && len(a) != len(b), unclear, result)
}

// maxMembers is the length up to which the members of lists are looked for in any order.
const maxMembers = 300

// compareLists compares two lists. Lists of the same members in another order are unclear, and
// so is a list that has additional members.
func compareLists(a, b []any, t tolerance) verdict {
	if len(a) > len(b) {
		a, b = b, a
	}
	result := overall(lo.Map(a, func(member any, i int) verdict { return compare(member, b[i], t) }))
	switch {
	case result == equal:
		return lo.Ternary(len(a) == len(b), equal, unclear)
	case result == unclear, len(b) > maxMembers:
		return unclear
	}
	left := slices.Clone(b)
	for _, member := range a {
		at := slices.IndexFunc(left, func(other any) bool { return agree(member, other, t) })
		if at < 0 {
			return differs
		}
		left = slices.Delete(left, at, at+1)
	}
	return unclear
}

// maxWords is how many words texts have at most that contradict each other if they differ;
// longer texts may say the same in other words.
const maxWords = 3

// compareTexts compares two texts word for word. Short texts contradict each other if they have
// the same shape, or consist of other words.
func compareTexts(a, b string, t tolerance) verdict {
	x, y := normal(a), normal(b)
	if a == b || x == y || agreeTexts(x, y, t) {
		return equal
	}
	left, right := strings.Fields(x), strings.Fields(y)
	other := strings.Trim(shape(x+y), "a ") == "" && !lo.Some(left, right)
	if max(len(left), len(right)) > maxWords || min(len(left), len(right)) == 0 || shape(x) != shape(y) && !other {
		return unclear
	}
	return differs
}

// shape returns a text with one letter for each run of letters, and one digit for each run of
// digits.
func shape(text string) string {
	runs := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r):
			return 'a'
		case unicode.IsDigit(r):
			return '0'
		}
		return r
	}, text)
	return string(slices.Compact([]byte(runs)))
}

var numbers = core.Pattern(`-?\d+(?:\.\d+)?`)

// agreeTexts reports whether two texts are equal but for their numbers, and
// those are within tolerance.
func agreeTexts(a, b string, t tolerance) bool {
	return t != tolerance{} &&
		numbers().ReplaceAllLiteralString(a, "0") == numbers().ReplaceAllLiteralString(b, "0") &&
		slices.EqualFunc(numbers().FindAllString(a, -1), numbers().FindAllString(b, -1), func(x, y string) bool {
			return x == y || max(len(x), len(y)) < maxQuantity && t.near(rational(x), rational(y))
		})
}

// A tolerance is how far apart two equal numbers may be: in their own unit, or as a share of
// the larger one. The wider of both applies.
type tolerance struct{ absolute, relative float64 }

func (t tolerance) near(x, y *big.Rat) bool {
	limit := func(share float64) *big.Rat { return rational(strconv.FormatFloat(share, 'g', -1, 64)) }
	larger := new(big.Rat).Abs(x)
	if other := new(big.Rat).Abs(y); other.Cmp(larger) > 0 {
		larger = other
	}
	gap := new(big.Rat).Sub(x, y)
	gap.Abs(gap)
	return gap.Cmp(limit(t.absolute)) <= 0 || gap.Cmp(larger.Mul(larger, limit(t.relative))) <= 0
}

// rational returns a decimal number, exactly.
func rational(text string) *big.Rat {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return n
}

type quantity struct {
	number *big.Rat
	digits string // as written in a text; empty if it is a number of JSON
	unit   string
}

// quantityForm matches a number with at most one unit. Numbers with grouped digits and with a
// leading zero are texts: they might be ids, or fractions.
var quantityForm = core.Pattern(`^([+-]?(?:0|[1-9]\d{0,40})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?)(?: ?([\pL%°€$][\pL\d%/]{0,15}))?$`)

// maxQuantity is the length limit of a number with its unit, in bytes.
const maxQuantity = 100

// quantityOf returns a value that is a number, perhaps with a unit; nil for other values.
func quantityOf(value any) *quantity {
	switch v := value.(type) {
	case json.Number:
		if m := quantityForm().FindStringSubmatch(v.String()); m != nil && m[2] == "" {
			return &quantity{number: rational(m[1])}
		}
	case string:
		if len(v) > maxQuantity {
			return nil
		}
		if m := quantityForm().FindStringSubmatch(v); m != nil {
			return &quantity{rational(m[1]), m[1], m[2]}
		}
	}
	return nil
}

// compare compares two quantities. Numbers of a text without a unit are only equal as written:
// 1.10 and 1.1 may be versions.
func (q quantity) compare(r quantity, t tolerance) verdict {
	x, y, written := q.number, r.number, q.unit != "" || q.digits == r.digits
	if q.unit != r.unit {
		base, factor := unitOf(q.unit)
		other, otherFactor := unitOf(r.unit)
		if base == "" || base != other {
			return unclear
		}
		x, y, t.absolute = new(big.Rat).Mul(x, factor), new(big.Rat).Mul(y, otherFactor), 0
	}
	switch same := x.Cmp(y) == 0; {
	case same && written, t != tolerance{} && t.near(x, y):
		return equal
	case same:
		return unclear
	}
	return differs
}

// unitOf returns the base of a known unit and its factor; base is empty for other units. Case
// counts: a Mb is no MB.
func unitOf(unit string) (base string, factor *big.Rat) {
	units := map[string]map[string]int64{
		"ns": {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "min": 60e9, "h": 3600e9, "d": 24 * 3600e9},
		"B":  {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40},
	}
	for base, factors := range units {
		if factor, ok := factors[unit]; ok {
			return base, new(big.Rat).SetInt64(factor)
		}
	}
	return "", nil
}
