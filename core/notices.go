package core

import "strings"

// maxNotice bounds one notice in a context, in UTF-16 code units.
const maxNotice = 800

// BuildNotices shows an agent the facts that were kept for it, in order, within
// maxChars UTF-16 code units (0: no limit). It counts what does not fit as
// omitted. Without notices it returns "".
func BuildNotices(notices []string, maxChars int) string {
	if len(notices) == 0 {
		return ""
	}
	if maxChars <= 0 {
		maxChars = unitsPerToken * DefaultBudget().Total
	}
	const open, end = "<flame-notices", "</flame-notices>"
	room, omitted := maxChars-len(open+` omitted="1000">`+"\n"+end), 0
	var b strings.Builder
	for _, notice := range notices {
		line := "  <notice>" + EscapeXML(head(OneLine(notice, 0), maxNotice, xmlWidth)) + "</notice>\n"
		if units(line) > room {
			omitted++
			continue
		}
		room -= units(line)
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return ""
	}
	return open + attr("omitted", omitted) + ">\n" + b.String() + end
}
