package render

import (
	"fmt"

	"flame/core"
	"flame/project/usage"
)

// Metered says what requests came to that a gateway measured: how many, how soon they
// were answered, what they took, and what was left out of them.
func Metered(t usage.Tally) string {
	text := Count(t.Requests, "request")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Begun > 0 {
		text += fmt.Sprintf(", first token after %s (at most %s)", Duration(int64(t.FirstMean())), Duration(int64(t.FirstMax)))
	}
	if u := t.Usage; u != (core.Usage{}) {
		text += fmt.Sprintf(", %d tokens in, %d out, %d cache read, %d cache written, %s", u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, Money(u.CostUSD))
	}
	return text + spared(t)
}

// spared says how many bytes requests went without; it is empty if there are none.
func spared(t usage.Tally) string {
	if t.Spared() <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %s left out", Megabytes(t.Spared()), Megabytes(t.Given))
}

// MeteredLine says it of requests of all classes; it is empty without any.
func MeteredLine(all []usage.Metered) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return "Measured by the gateway: " + Metered(sum) + "\n"
}

// shortMetered is MeteredLine for a place behind other words.
func shortMetered(all []usage.Metered) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return fmt.Sprintf(" (gateway: %s, %s%s)", Count(sum.Requests, "request"), Money(sum.Usage.CostUSD), spared(sum))
}
