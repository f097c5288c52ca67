package transcripts

import "flame/core"

// The bounds of what one line of a log can report. Logs are foreign: without bounds one line could
// spoil a total for ever, or make it negative.
const (
	mostTokens = 1e10
	mostUSD    = 1e6
)

// plausible returns m without usage that no line can report.
func plausible(m core.Message) core.Message {
	m.Usage = possible(m.Usage)
	for i := range m.Notes {
		n := &m.Notes[i]
		n.Turn, n.Total = possible(n.Turn), possible(n.Total)
		if !(n.TreeCostUSD >= 0 && n.TreeCostUSD <= mostUSD) { // nor NaN
			n.TreeCostUSD = 0
		}
		n.Thinking, n.Tokens, n.ToolCalls = count(n.Thinking), count(n.Tokens), count(n.ToolCalls)
	}
	return m
}

func possible(u core.Usage) core.Usage {
	if !u.Within(0, mostTokens) || !(u.CostUSD >= 0 && u.CostUSD <= mostUSD) {
		return core.Usage{ToolCalls: count(u.ToolCalls)}
	}
	return u
}

func count(n int64) int64 {
	if n < 0 || n > mostTokens {
		return 0
	}
	return n
}
