package transcripts

import "flame/core"

// plausible returns m without usage that no line can report.
func plausible(m core.Message) core.Message {
	m.Usage = m.Usage.Possible()
	for i := range m.Notes {
		n := &m.Notes[i]
		n.Turn, n.Total = n.Turn.Possible(), n.Total.Possible()
		n.TreeCostUSD = core.Usage{CostUSD: n.TreeCostUSD}.Possible().CostUSD
		n.Thinking, n.Tokens, n.ToolCalls = count(n.Thinking), count(n.Tokens), count(n.ToolCalls)
	}
	return m
}

func count(n int64) int64 { return core.Usage{TokensIn: n}.Possible().TokensIn }
