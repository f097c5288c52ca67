package core

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/samber/lo"
)

// Amount returns a number for people, in three digits: 950, 12.3 k, 4.56 M.
func Amount[N int | int64](n N) string { return amount(int64(n), "") }

func amount(n int64, unit string) string {
	x, larger := float64(n), ""
	for _, prefix := range "kMGTPE" {
		if x < 999.5 {
			break
		}
		x, larger = x/1000, string(prefix)
	}
	return strings.TrimSuffix(strconv.FormatFloat(x, 'g', 3, 64)+" "+larger+unit, " ")
}

// Size returns a number of bytes for people: 950 B, 12.3 kB.
func Size(bytes int64) string { return amount(bytes, "B") }

// Cost returns what some work cost: the least it can have cost, if the price of a part is not known.
func Cost(u Usage) string {
	switch known := Money(u.CostUSD); {
	case u.Unpriced > 0 && u.CostUSD >= leastMoney:
		return "at least " + known
	case u.CostUSD == 0 && u.Tokens() > 0, u.Unpriced > 0:
		return "cost not known"
	default:
		return known
	}
}

const leastMoney = 0.01 // the least that is shown as an amount, in US dollars

// Money returns an amount of US dollars for people: $0.54, <$0.01.
func Money(usd float64) string {
	if usd > 0 && usd < leastMoney {
		return "<$0.01"
	}
	return lo.Ternary(usd == 0, "$0", fmt.Sprintf("$%.2f", usd))
}

// Tokens returns a number of tokens for people: 1 token, 570 k tokens.
func Tokens[N int | int64](n N) string {
	return Amount(n) + lo.Ternary(n == 1, " token", " tokens")
}

// Percent returns a part of a whole for people: 12.5 %, 40 %; 0 % of nothing.
func Percent[N int | int64 | float64](part, whole N) string {
	if whole == 0 {
		return "0 %"
	}
	return strconv.FormatFloat(math.Round(1000*float64(part)/float64(whole))/10, 'f', -1, 64) + " %"
}

// Less says how many times smaller something became: 2.2x less.
func Less(times float64) string { return fmt.Sprintf("%.1fx less", times) }

// Span returns how long something takes, in ms, for people: 250 ms, 1.5 s, 2 m 10 s, 3 h.
func Span[N int | int64 | Millis](ms N) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 9950:
		return strconv.FormatFloat(float64(ms)/1000, 'g', 2, 64) + " s"
	}
	units, seconds := []string{"d", "h", "m", "s"}, (int64(ms)+500)/1000
	for i, size := range []int64{86_400, 3600, 60, 1} {
		if seconds < size {
			continue
		}
		text := fmt.Sprintf("%d %s", seconds/size, units[i])
		if rest := seconds % size * []int64{24, 60, 60, 1}[i] / size; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, units[i+1])
		}
		return text
	}
	return "0 s"
}
