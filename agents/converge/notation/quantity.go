package notation

import (
	"math"
	"strings"
)

// A Tolerance is how far apart two numbers may be and still count as equal: the larger
// of both applies.
type Tolerance struct {
	Absolute float64 // in their own unit; of numbers without one
	Relative float64 // a share of the larger number
}

// slack is the share that binary fractions may cost: for a reader 1.1 and 1.0 are 0.1
// apart.
const slack = 1e-9

// about is the share by which a rough number may be off.
const about = 0.1

// compare compares two quantities, with a relative tolerance.
func (q quantity) compare(r quantity, tolerance Tolerance) Verdict {
	q, r = inUnitOf(q, r), inUnitOf(r, q)
	if q.Dimension != r.Dimension && (q.Dimension == "" || r.Dimension == "") {
		return compareBare(q, r, tolerance)
	}
	if q.Dimension != r.Dimension {
		return Different
	}
	if q.Digits != "" && q.Digits == r.Digits {
		return Same
	}
	if q.About || r.About {
		tolerance.Relative = max(tolerance.Relative, about)
	}
	if q.Bound != r.Bound {
		return compareBounds(q, r, tolerance)
	}
	if q.Dimension != "" {
		tolerance.Absolute = 0
	}
	if q.lo == q.hi && r.lo == r.hi {
		exact := q.Digits != "" && r.Digits != "" && tolerance == (Tolerance{})
		return verdictOf(!exact && near(q, r, tolerance))
	}
	if q.lo >= r.lo-gap(q.lo, r.lo, tolerance) && q.hi <= r.hi+gap(q.hi, r.hi, tolerance) ||
		r.lo >= q.lo-gap(q.lo, r.lo, tolerance) && r.hi <= q.hi+gap(q.hi, r.hi, tolerance) {
		return Same
	}
	return verdictOf(q.lo <= r.hi && r.lo <= q.hi)
}

// compareBounds compares a value with a bound, or bounds of different kinds.
func compareBounds(q, r quantity, tolerance Tolerance) Verdict {
	if q.Bound == "" {
		q, r = r, q
	}
	if r.Bound != "" {
		return Unknown
	}
	if q.Bound == "least" {
		return verdictOf(r.hi >= q.lo-gap(q.lo, r.hi, tolerance))
	}
	return verdictOf(r.lo <= q.hi+gap(q.hi, r.lo, tolerance))
}

// near reports whether two points are equal within the tolerance. In other notations
// they are so to the digits shown.
func near(q, r quantity, tolerance Tolerance) bool {
	allowed := gap(q.lo, r.lo, tolerance)
	if q.Unit != r.Unit || q.Ratio != r.Ratio {
		allowed = max(allowed, q.half*(1+slack), r.half*(1+slack))
	}
	if q.Ratio && r.Ratio && q.of != r.of {
		return tolerance != (Tolerance{}) && math.Abs(q.of-r.of) <= gap(q.of, r.of, tolerance) && math.Abs(q.lo-r.lo) <= allowed
	}
	return math.Abs(q.lo-r.lo) <= allowed
}

// gap returns how far apart x and y may be.
func gap(x, y float64, tolerance Tolerance) float64 {
	return max(max(tolerance.Relative, 1e-12)*max(math.Abs(x), math.Abs(y)), tolerance.Absolute) * (1 + slack)
}

// inUnitOf settles what "m" stands for by the other quantity: minutes, or thousandths.
func inUnitOf(q, other quantity) quantity {
	if q.Dimension != "milli" {
		return q
	}
	factor := 0.001
	switch other.Dimension {
	case "milli":
		return q
	case "time":
		factor = 60
	case "length":
		factor = 1
	}
	q.Dimension = other.Dimension
	q.lo, q.hi, q.half = q.lo*factor, q.hi*factor, q.half*factor
	return q
}

// compareBare compares a number without a unit with one that has one. A share without
// a sign is a fraction; of other numbers the unit may be understood.
func compareBare(q, r quantity, tolerance Tolerance) Verdict {
	if q.Dimension != "" {
		q, r = r, q
	}
	if r.Dimension == "ratio" {
		if q.lo > 1 && !r.Ratio {
			q.lo, q.hi, q.half = q.lo/100, q.hi/100, q.half/100
		}
		if q.lo > 1 && r.Ratio {
			return verdictOf(math.Abs(q.lo-r.lo*r.of) < 0.5)
		}
		return verdictOf(near(q, r, tolerance))
	}
	dimension, _, _ := strings.Cut(r.Dimension, "/")
	known := false
	for _, u := range units() {
		if u.dimension != dimension {
			continue
		}
		known = true
		if math.Abs(q.lo*u.factor-r.lo) <= gap(q.lo*u.factor, r.lo, tolerance) {
			return Same
		}
	}
	if !known {
		return verdictOf(math.Abs(q.lo-r.lo) <= gap(q.lo, r.lo, tolerance))
	}
	return Different
}
