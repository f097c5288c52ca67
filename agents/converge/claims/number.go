package claims

import (
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/core"
)

// A Tolerance is how far apart two equal numbers may be. The larger of both fields applies.
type Tolerance struct {
	Absolute float64 // only for numbers without a unit
	Relative float64 // a share of the larger number
}

// slack is the relative error of binary fractions that a tolerance allows: for a reader 1.1
// and 1.0 are 0.1 apart.
const slack = 1e-9

// gap returns how far apart x and y may be.
func (t Tolerance) gap(x, y float64) float64 {
	return max(max(t.Relative, 1e-12)*max(math.Abs(x), math.Abs(y)), t.Absolute) * (1 + slack)
}

// Near reports whether x and y are equal within the tolerance.
func (t Tolerance) Near(x, y float64) bool { return math.Abs(x-y) <= t.gap(x, y) }

// A quantity is a number with its unit, or a range of numbers. "At least 5" is the range
// from 5 to infinity, "about 5" that from 10 % below to 10 % above.
type quantity struct {
	lo, hi    float64 // in the base unit of the dimension
	half      float64 // half of the last digit shown, in the same unit
	dimension string  // time, bytes, ratio …; empty for a bare number
	unit      string  // as written
	digits    string  // all digits of a whole number without a unit
	of        float64 // the second number of a ratio; otherwise 0
	about     bool
}

// A unit is a factor of the base unit of its dimension.
type unit struct {
	dimension string
	factor    float64
}

// units are the units that flame converts, by name; names are case-sensitive.
var units = sync.OnceValue(func() map[string]unit {
	m := map[string]unit{}
	for entry, dimension := range lists.Of("units").Meanings() {
		name, factor, _ := strings.Cut(entry, "=")
		x, _ := strconv.ParseFloat(factor, 64)
		m[name] = unit{strings.Trim(dimension, "-"), x}
		if len(name) > 2 {
			m[name+"s"] = m[name]
		}
	}
	return m
})

// knownUnit reports whether flame converts the unit that a word names.
func knownUnit(word string) bool {
	_, ok := units()[word]
	return ok
}

// lasts reports whether a word is a unit of time, as in the denominator of a rate.
func lasts(word string) bool {
	return units()[word].dimension == "time" || units()[word].dimension == "months"
}

// numberInWords returns the small number that a word names.
func numberInWords(word string) (quantity, bool) {
	digits := meaning("numbers", strings.ToLower(word))
	x, err := strconv.ParseFloat(digits, 64)
	return quantity{lo: x, hi: x, half: 0.5, digits: digits}, err == nil
}

// The forms of numbers and units. No digit follows a number, so "1,2345" is 1.
var (
	numberForm = core.Pattern(`^([+-])?([$€£])?((?:(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+)|(\d+))` +
		`(\.\d+)?([eE][+-]?\d{1,3})?)(?:\D|$)`)
	unitForm  = core.Pattern(`^(?:( per )([a-z]+)| ?(%|[A-Za-z°‰$€£]*)(?:(/| per | a )([A-Za-z]+))?)`)
	rangeForm = core.Pattern(`^(?: - |-| to |\.\.| until )`)
	wholeForm = core.Pattern(`^(?: of the | of |/| / | out of )`)
)

// window returns the beginning of a text, as long as the longest number, date or version.
func window(s string) string { return s[:min(len(s), 64)] }

var ungrouped = strings.NewReplacer(",", "", " ", "", "'", "", "_", "")

// readSigned reads a number with its sign and unit at s[i:]; n is its length, or 0 if there is
// none.
func readSigned(s string, i int) (q quantity, n int) {
	m := numberForm().FindStringSubmatch(window(s[i:]))
	if m == nil || len(m[3]) > 40 || m[1] != "" && i > 0 && !strings.ContainsRune(" (|:=[,", rune(s[i-1])) {
		return q, 0
	}
	text := ungrouped.Replace(m[3])
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return q, 0
	}
	exponent, _ := strconv.Atoi(strings.TrimLeft(m[6], "eE+"))
	q = quantity{lo: x, hi: x, half: 0.5 * math.Pow(10, float64(exponent-max(0, len(m[5])-1)))}
	if m[5]+m[6] == "" {
		q.digits = strings.TrimLeft(text, "0")
	}
	at := i + len(m[1]+m[2]+m[3])
	if m[1] == "-" {
		q.lo, q.hi, q.digits = -q.lo, -q.hi, "-"+q.digits
	}
	name, n := m[2], 0
	if name == "" {
		name, n = readUnit(s[at:])
	}
	if n == 0 && !boundary(s, at) && s[at] != 'x' {
		return q, 0
	}
	q.apply(name)
	return q, at + n - i
}

// readUnit returns the unit at the beginning of s, perhaps after a blank: MB, ns/op, % or "per
// hour".
func readUnit(s string) (name string, n int) {
	m := unitForm().FindStringSubmatch(window(s))
	above, per, below := m[3], m[4], m[5]
	switch known := knownUnit(above); {
	case m[1] != "" && lasts(m[2]):
		return "/" + m[2], len(m[0])
	case !known && (per != "/" || len(above) > 7 || !knownUnit(below) && below != "op"):
		return "", 0
	case s[0] == ' ' && len(above) == 1 && !strings.Contains("sShBd€%", above):
		return "", 0
	case per == "/" || per != "" && lasts(below):
		return above + "/" + below, len(m[0])
	}
	return above, len(m[0]) - len(per) - len(below)
}

// apply adds its unit to a bare number.
func (q *quantity) apply(name string) {
	if name == "" {
		return
	}
	above, below, rate := strings.Cut(name, "/")
	u, ok := units()[above]
	if !ok {
		u = unit{above, 1}
	}
	if rate {
		per, ok := units()[below]
		if !ok {
			per = unit{below, 1}
		}
		u = unit{u.dimension + "/" + per.dimension, u.factor / per.factor}
	}
	*q = q.times(u.factor, u.dimension)
	q.unit, q.digits = name, ""
}

func (q quantity) times(factor float64, dimension string) quantity {
	q.lo, q.hi, q.half, q.dimension = q.lo*factor, q.hi*factor, q.half*factor, dimension
	return q
}

// readQuantity reads at s[i:] a number with its sign and unit, a range of them, or the ratio
// of two; n is its length, or 0 if there is none.
func readQuantity(s string, i int) (q quantity, n int) {
	q, n = readSigned(s, i)
	if n == 0 {
		return q, 0
	}
	if sign := rangeForm().FindString(window(s[i+n:])); sign != "" {
		at := i + n + len(sign)
		if to, m := readSigned(s, at); m > 0 && s[at] != '-' && boundary(s, at+m) {
			if q.unit == "" {
				q.apply(to.unit)
			}
			to.lo, to.hi, to.digits = min(q.lo, to.hi), max(q.lo, to.hi), ""
			return to, at + m - i
		}
	}
	if sign := wholeForm().FindString(window(s[i+n:])); sign != "" && q.dimension == "" {
		rest := s[i+n+len(sign):]
		whole, m := readSigned(rest, 0)
		if word := rest[:runLength(rest)]; m == 0 && sign != "/" {
			whole, _ = numberInWords(word)
			m = len(word)
		}
		if whole.lo > 0 && whole.dimension == "" && boundary(rest, m) {
			return quantity{lo: q.lo / whole.lo, hi: q.lo / whole.lo, dimension: "ratio", of: whole.lo}, n + len(sign) + m
		}
	}
	return q, n
}

// bounded returns the range that a word before a number makes of it: about, least or most.
func (q quantity) bounded(how string) quantity {
	switch how {
	case "about":
		q.about = true
	case "least":
		q.hi = math.Inf(1)
	case "most":
		q.lo = math.Inf(-1)
	}
	return q
}

// roughly is the relative error of a number after "about".
const roughly = 0.1

// compare compares two quantities.
func (q quantity) compare(r quantity, t Tolerance) Verdict {
	q, r = q.milliOf(r), r.milliOf(q)
	switch {
	case q.dimension != r.dimension && q.dimension == "":
		return verdictOf(q.equalsBare(r, t))
	case q.dimension != r.dimension && r.dimension == "":
		return verdictOf(r.equalsBare(q, t))
	case q.dimension != r.dimension || q.of > 0 && r.of > 0 && !t.Near(q.of, r.of):
		return Different
	case q.digits != "" && q.digits == r.digits && q.hi == r.hi:
		return Same
	}
	if q.about || r.about {
		t.Relative = max(t.Relative, roughly)
	}
	if q.dimension != "" {
		t.Absolute = 0
	}
	if point := q.lo == q.hi && r.lo == r.hi; point && q.digits != "" && r.digits != "" && t == (Tolerance{}) {
		return Different // they may be equal as floats
	}
	return compareSpans([2]float64{q.lo, q.hi}, [2]float64{r.lo, r.hi}, [2]float64{math.Inf(-1), math.Inf(1)}, func(x, y float64) int {
		if x == y || !math.IsInf(x, 0) && !math.IsInf(y, 0) && math.Abs(x-y) <= q.gap(r, x, y, t) {
			return 0
		} else if x < y {
			return -1
		}
		return 1
	})
}

// gap returns how far apart two equal quantities may be. Quantities in different notations
// only need to agree in the digits shown.
func (q quantity) gap(r quantity, x, y float64, t Tolerance) float64 {
	if q.unit != r.unit || (q.of > 0) != (r.of > 0) {
		return max(t.gap(x, y), q.half*(1+slack), r.half*(1+slack))
	}
	return t.gap(x, y)
}

// milliOf decides from the other quantity whether "m" means minutes, metres or thousandths.
func (q quantity) milliOf(other quantity) quantity {
	switch {
	case q.dimension != "milli" || other.dimension == "milli":
		return q
	case other.dimension == "time":
		return q.times(60, "time")
	case other.dimension == "length":
		return q.times(1, "length")
	}
	return q.times(0.001, other.dimension)
}

// equalsBare reports whether a number without a unit may equal a number with a unit: a share
// without a sign is a fraction, and texts may omit other units.
func (q quantity) equalsBare(r quantity, t Tolerance) bool {
	dimension, _, _ := strings.Cut(r.dimension, "/")
	switch {
	case r.dimension == "ratio" && q.lo > 1 && r.of > 0:
		return math.Abs(q.lo-r.lo*r.of) < 0.5
	case r.dimension == "ratio" && q.lo > 1:
		q = q.times(0.01, "ratio")
		fallthrough
	case r.dimension == "ratio":
		return math.Abs(q.lo-r.lo) <= q.gap(r, q.lo, r.lo, t)
	}
	same := lo.Filter(lo.Values(units()), func(u unit, _ int) bool { return u.dimension == dimension })
	return len(same) == 0 && t.Near(q.lo, r.lo) || lo.SomeBy(same, func(u unit) bool { return t.Near(q.lo*u.factor, r.lo) })
}
