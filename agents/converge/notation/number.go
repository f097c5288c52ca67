package notation

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A unit is that of a dimension, times factor.
type unit struct {
	dimension string
	factor    float64
}

// units are those that are converted.
var units = sync.OnceValue(func() map[string]unit {
	m := map[string]unit{}
	add := func(dimension string, factor float64, names string) {
		for name := range strings.FieldsSeq(names) {
			m[name] = unit{dimension, factor}
		}
	}
	add("time", 1e-9, "ns nanosecond nanoseconds")
	add("time", 1e-6, "us microsecond microseconds")
	add("time", 1e-3, "ms msec millis millisecond milliseconds")
	add("time", 1, "s sec secs second seconds")
	add("time", 60, "min mins minute minutes")
	add("time", 3600, "h hr hrs hour hours")
	add("time", 86400, "d day days")
	add("time", 604800, "week weeks")
	add("months", 1, "month months")
	add("months", 12, "year years")
	for i, prefix := range []string{"k", "M", "G", "T", "P"} {
		decimal, binary := math.Pow(1000, float64(i+1)), math.Pow(1024, float64(i+1))
		upper := strings.ToUpper(prefix)
		add("bytes", decimal, prefix+"B "+upper+"B")
		add("bytes", binary, upper+"iB "+upper+"i")
		add("bytes", decimal/8, prefix+"b "+upper+"b "+prefix+"bit "+upper+"bit "+prefix+"bps "+upper+"bps")
	}
	m["kb"] = unit{"bytes", 1000}
	add("bytes", 1, "B byte bytes")
	add("bytes", 1.0/8, "bit bits")
	add("length", 1e-3, "mm")
	add("length", 1e-2, "cm")
	add("length", 1, "metre metres meter meters")
	add("length", 1e3, "km kilometre kilometres kilometer kilometers")
	add("length", 1609.344, "mile miles mi")
	add("hertz", 1, "Hz")
	add("hertz", 1e3, "kHz")
	add("hertz", 1e6, "MHz")
	add("hertz", 1e9, "GHz")
	add("weight", 1, "g gram grams")
	add("weight", 1e3, "kg")
	add("celsius", 1, "°C")
	add("fahrenheit", 1, "°F")
	add("ratio", 0.01, "% percent pct")
	add("ratio", 0.001, "‰")
	for _, money := range []string{"EUR €", "USD $ dollars", "GBP £", "CHF"} {
		add(strings.Fields(money)[0], 1, money)
	}
	add("EUR", 1, "euro euros")
	add("", 1e3, "k K thousand")
	add("", 1e6, "M million")
	add("", 1e9, "G billion")
	add("milli", 1, "m")
	return m
})

// readNumber reads a number without a unit, with grouped thousands and an exponent.
func readNumber(s string) (x, half float64, digits string, n int, ok bool) {
	var text strings.Builder
	for n < len(s) && IsDigit(s[n]) {
		n++
	}
	if n == 0 {
		return 0, 0, "", 0, false
	}
	text.WriteString(s[:n])
	if n <= 3 && grouped(s[n:]) {
		sign := s[n]
		for len(s) > n+3 && s[n] == sign && grouped(s[n:]) {
			text.WriteString(s[n+1 : n+4])
			n += 4
		}
	}
	whole := n
	fraction := 0
	if n+1 < len(s) && s[n] == '.' && IsDigit(s[n+1]) {
		end := n + 1
		for end < len(s) && IsDigit(s[end]) {
			end++
		}
		fraction = end - n - 1
		text.WriteString(s[n:end])
		n = end
	}
	exponent := 0
	if n+1 < len(s) && (s[n] == 'e' || s[n] == 'E') {
		end := n + 1
		if s[end] == '+' || s[end] == '-' {
			end++
		}
		from := end
		for end < len(s) && IsDigit(s[end]) {
			end++
		}
		if end > from && end-from < 4 && boundary(s, end) {
			text.WriteString(s[n:end])
			exponent, _ = strconv.Atoi(strings.TrimPrefix(s[n+1:end], "+"))
			n = end
		}
	}
	x, err := strconv.ParseFloat(text.String(), 64)
	if err != nil || n > 40 {
		return 0, 0, "", 0, false
	}
	if n == whole {
		digits = strings.TrimLeft(text.String(), "0")
	}
	return x, 0.5 * math.Pow(10, float64(exponent-fraction)), digits, n, true
}

// grouped reports whether s goes on with a group of three digits.
func grouped(s string) bool {
	if len(s) < 4 || !strings.ContainsRune(", '_", rune(s[0])) || !IsDigit(s[1]) || !IsDigit(s[2]) || !IsDigit(s[3]) {
		return false
	}
	return len(s) == 4 || !IsDigit(s[4])
}

// readQuantity reads a number with its sign and unit at s[i:], or a range of them.
func readQuantity(s string, i int) (quantity, int, bool) {
	q, n, ok := ReadSigned(s, i)
	if !ok {
		return q, 0, false
	}
	if to, m, ok := readEnd(s, i+n); ok {
		return spanOf(q, to), n + m, true
	}
	if whole, m, ok := readWhole(s[i+n:]); ok && q.Dimension == "" && whole > 0 {
		r := quantity{lo: q.lo / whole, hi: q.lo / whole, Dimension: "ratio", Ratio: true, of: whole}
		return r, n + m, true
	}
	return q, n, true
}

// ReadSigned reads one number with its sign and unit.
func ReadSigned(s string, i int) (q quantity, n int, ok bool) {
	sign, currency := 1.0, ""
	at := i
	if at < len(s) && (s[at] == '-' || s[at] == '+') && (i == 0 || strings.ContainsRune(" (|:=[,", rune(s[i-1]))) {
		if s[at] == '-' {
			sign = -1
		}
		at++
	}
	for _, prefix := range []string{"$", "€", "£"} {
		if strings.HasPrefix(s[at:], prefix) {
			currency = prefix
			at += len(prefix)
		}
	}
	x, half, digits, m, ok := readNumber(s[at:])
	if !ok {
		return q, 0, false
	}
	at += m
	q = quantity{lo: sign * x, hi: sign * x, half: half, Digits: digits}
	if sign < 0 {
		q.Digits = "-" + digits
	}
	name, m := readUnit(s[at:])
	if currency != "" {
		name, m = currency, 0
	}
	if m == 0 && !boundary(s, at) && !strings.HasPrefix(s[at:], "x") {
		return q, 0, false
	}
	q.Apply(name)
	return q, at + m - i, true
}

// Apply gives a bare number its unit.
func (q *quantity) Apply(name string) {
	if name == "" {
		return
	}
	above, below, rate := strings.Cut(name, "/")
	u, ok := units()[above]
	if !ok {
		u = unit{above, 1}
	}
	if rate {
		if per, ok := units()[below]; ok {
			u.factor /= per.factor
			u.dimension += "/" + per.dimension
		} else {
			u.dimension += "/" + below
		}
	}
	q.lo, q.hi, q.half = q.lo*u.factor, q.hi*u.factor, q.half*u.factor
	q.Dimension, q.Unit, q.Digits = u.dimension, name, ""
}

// readUnit returns the unit that s begins with, after a blank or not.
func readUnit(s string) (name string, n int) {
	blank := 0
	if strings.HasPrefix(s, " ") {
		blank = 1
	}
	end := blank
	if strings.HasPrefix(s[blank:], "%") {
		return "%", blank + 1
	}
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !isUnitRune(r) {
			break
		}
		end += size
	}
	word := s[blank:end]
	above, below, rate := strings.Cut(word, "/")
	_, known := units()[above]
	if word == "per" {
		length := runLength(strings.TrimPrefix(s[end:], " "))
		if u, ok := units()[strings.TrimPrefix(s[end:], " ")[:length]]; ok && (u.dimension == "time" || u.dimension == "months") {
			return "/" + s[end+1:end+1+length], end + 1 + length
		}
	}
	if !known && rate && below != "" && len(above) < 8 {
		_, known = units()[below]
		known = known || below == "op"
	}
	if !known || blank == 1 && len(above) == 1 && !strings.Contains("sShBd€%", above) {
		return "", 0
	}
	if rate {
		return word, end
	}
	for _, per := range []string{" per ", " a "} {
		if rest, ok := strings.CutPrefix(s[end:], per); ok {
			length := runLength(rest)
			if u, ok := units()[rest[:length]]; ok && u.dimension == "time" || ok && u.dimension == "months" {
				return word + "/" + rest[:length], end + len(per) + length
			}
		}
	}
	return word, end
}

func isUnitRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/' || r == '€' || r == '°' || r == '‰' || r == '$' || r == '£'
}

// readEnd returns the end of a range that s[i:] goes on with.
func readEnd(s string, i int) (quantity, int, bool) {
	for _, sign := range []string{" - ", "-", " to ", "..", " until "} {
		if strings.HasPrefix(s[i:], sign) {
			at := i + len(sign)
			if q, n, ok := ReadSigned(s, at); ok && at < len(s) && s[at] != '-' && boundary(s, at+n) {
				return q, len(sign) + n, true
			}
		}
	}
	return quantity{}, 0, false
}

// spanOf returns the range between two quantities; the first may lack the unit.
func spanOf(from, to quantity) quantity {
	if from.Unit == "" && to.Unit != "" {
		from.Apply(to.Unit)
	}
	to.lo = from.lo
	if to.lo > to.hi {
		to.lo, to.hi = to.hi, to.lo
	}
	to.Digits = ""
	return to
}

// readWhole returns what a number before s is a part of: "of 43", "/43".
func readWhole(s string) (float64, int, bool) {
	for _, sign := range []string{" of the ", " of ", "/", " / ", " out of "} {
		if rest, ok := strings.CutPrefix(s, sign); ok {
			if x, _, _, n, ok := readNumber(rest); ok && boundary(rest, n) {
				return x, len(sign) + n, true
			}
			if length := runLength(rest); sign != "/" && length > 0 {
				if x, ok := numberWords()[strings.ToLower(rest[:length])]; ok {
					return x, len(sign) + length, true
				}
			}
		}
	}
	return 0, 0, false
}

// A quantity is a number with its unit, or a range of them.
type quantity struct {
	lo, hi    float64 // in the unit of its dimension; equal unless it is a range
	Dimension string  // time, bytes, ratio …; empty for a bare number
	Unit      string  // as written
	About     bool    // "about 40": 10 % around it
	half      float64 // half of the last digit shown, in the same unit
	Digits    string  // of a whole number without a unit: all its digits
	Bound     string  // "least" or "most"; empty if it is the value itself
	Ratio     bool    // of two numbers
	of        float64 // of a ratio: the whole
}

func point(x float64) quantity {
	return quantity{lo: x, hi: x, half: 0.5, Digits: strconv.FormatFloat(x, 'f', -1, 64)}
}
