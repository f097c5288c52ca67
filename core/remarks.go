package core

import "strings"

// remarkQuota is what the fields of a remark share, in UTF-16 code units: a summary may
// take 700 tokens, and a quotation always fits.
const remarkQuota = 4000

// EndedRemark tells a conversation how a frame that no call in it ended did end: it
// stands in place of what was done there. inner are the ids of the frames that ended
// within. All text of the frame's is data.
func EndedRemark(f Frame, inner []string) string {
	return remark("flame-ended", &f, []field{
		{tag: "summary", text: f.Summary, share: 0.7, mark: cutMark},
		decisionsField(f.Decisions, 0.4, remarkQuota),
		artifactsField(&f, remarkQuota),
		{tag: "frames-within", text: strings.Join(inner, ", "), share: 0.2, mark: cutMark},
	}, "")
}

// SaidInRemark tells a conversation that the message after it was written in a frame that
// is over, and what it answered, if that is left out.
func SaidInRemark(f Frame, answered string) string {
	return remark("flame-said-in", &f, []field{{tag: "answered", text: answered, share: 1, mark: cutMark}},
		"  <note>The user wrote the message after this one in that frame, and it was dealt with there.</note>\n")
}

// remark returns an element about a frame.
func remark(tag string, f *Frame, fields []field, body string) string {
	e := newElement("", tag, f, append([]field{goalField(f)}, fields...))
	e.body = rendering{text: body, units: units(body)}
	return e.render(remarkQuota, 2*remarkQuota).text
}
