package render

import (
	"math"
	"strconv"
)

// Duration returns a duration of ms milliseconds in one unit: 250ms, 1.5s,
// 2.0m, 3.3h.
func Duration(ms int64) string {
	const second, minute, hour = 1000, 60_000, 3_600_000
	switch {
	case ms < second:
		return strconv.FormatInt(ms, 10) + "ms"
	case ms < minute:
		return oneDecimal(ms, second) + "s"
	case ms < hour:
		return oneDecimal(ms, minute) + "m"
	}
	return oneDecimal(ms, hour) + "h"
}

// oneDecimal returns n/unit with one decimal, exact halves rounded up. Of
// these, floats hold only quarters, and strconv rounds just the first down, to
// even.
func oneDecimal(n, unit int64) string {
	x := float64(n) / float64(unit)
	if x == math.Trunc(x)+0.25 {
		x += 0.05
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
