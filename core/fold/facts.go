package fold

import (
	"flame/core"
)

const leastFacts = 600 // tokens that a fold leaves out, from which on facts are worth their place

// facts returns what the work of a stay tells and its frame's end does not say.
func (f *folding) facts(s *stay) string {
	var work Work
	if m := f.begunBy(s); m != nil {
		work.Add(*m)
	}
	for i := s.from; i < s.to; i++ {
		if f.drops[i] {
			work.Add(f.history[i])
		}
	}
	return work.Facts(f.frames[s.frame].Frame, f.unasked(s))
}

// factsRemark tells a conversation from which the work in a frame is left out the facts of that work.
func factsRemark(frame, facts string) string {
	return `<flame-facts frame="` + core.EscapeXML(core.OneLine(frame, 0)) + `">` + core.EscapeXML(facts) + "</flame-facts>"
}
