package core

import "strings"

// A Relation is the relation of a changed frame to the frame of the informed agent.
type Relation string

// The relations, as contexts name them.
const (
	RelationCurrent  Relation = "current"
	RelationAncestor Relation = "ancestor"
	RelationChild    Relation = "child"
	RelationSibling  Relation = "sibling"
	RelationUncle    Relation = "uncle"
)

// A FrameChange is news about one frame that others, or flame itself, changed.
type FrameChange struct {
	Frame     Frame // as it is now
	Relation  Relation
	Ended     bool     // it has just ended, so its summary is shown
	Composed  bool     // flame composed that summary from the frames below it
	Criteria  string   // its success criteria, if they changed
	Decisions []string // new ones made in it
	By        string   // flame's rule that made the change ("autonomy", ...); empty for people and agents
}

// BuildChanges returns a text for the agent of frame current about the changes
// around it, oldest first, within maxChars UTF-16 code units (0: no limit). It
// counts changes that do not fit as omitted. Without changes it returns "".
func BuildChanges(current string, changes []FrameChange, maxChars int) string {
	return news(`<flame-changes session="`+EscapeXML(current)+`"`, "</flame-changes>", len(changes), maxChars, func(i, room, each int) string {
		return changes[i].element().render(each, min(room, each)).text
	})
}

// maxNotice bounds one notice in a context, in UTF-16 code units.
const maxNotice = 800

// BuildNotices returns a text with the notices that flame kept for an agent, like BuildChanges.
func BuildNotices(notices []string, maxChars int) string {
	return news("<flame-notices", "</flame-notices>", len(notices), maxChars, func(i, _, _ int) string {
		return "  <notice>" + EscapeXML(head(OneLine(notices[i], 0), maxNotice, xmlWidth)) + "</notice>\n"
	})
}

// news prints the items that fit, of n, in their order. print gets the remaining room and the quota
// of each item.
func news(open, end string, n, maxChars int, print func(i, room, each int) string) string {
	if maxChars <= 0 {
		maxChars = unitsPerToken * DefaultBudget().Total
	}
	room := maxChars - units(open) - len(` omitted="1000000">`+"\n") - len(end)
	each, omitted := quota(room, n), 0
	var b strings.Builder
	for i := range n {
		text := print(i, room, each)
		if size := units(text); size <= room {
			room -= size
			b.WriteString(text)
			continue
		}
		omitted++
	}
	if b.Len() == 0 {
		return ""
	}
	return open + attr("omitted", omitted) + ">\n" + b.String() + end
}

// element returns the change as an element.
func (c *FrameChange) element() element {
	fields := []field{goalField(&c.Frame), {tag: "success-criteria", text: c.Criteria, share: 0.2, mark: cutMark}}
	if c.Ended {
		summary := field{tag: "summary", text: c.Frame.Summary, share: 0.7, mark: cutMark}
		if c.Composed {
			summary.attrs = composedAttr
		}
		fields = append(fields, summary)
	}
	fields = append(fields, field{tag: "decisions", text: strings.Join(c.Decisions, "; "), share: 0.5, mark: decisionsMark})
	e := newElement("  ", "frame", &c.Frame, fields)
	e.attrs += ` relation="` + string(c.Relation) + `"`
	if c.By != "" {
		e.attrs += ` by="` + EscapeXML(c.By) + `"`
	}
	return e
}

// Tells reports whether a context built from s says more than its frame's bare
// goal.
func (s ContextInput) Tells() bool {
	f := s.Current
	return len(s.Ancestors)+len(s.Children)+len(s.Siblings)+len(s.Uncles)+len(s.Planned)+len(s.Unfinished)+len(s.Suggestions)+len(s.Finished.Text) > 0 ||
		len(f.Artifacts)+len(f.Decisions) > 0 || f.Summary != "" || f.SuccessCriteria != ""
}

// remarkQuota is the room that the fields of a remark share, in UTF-16 code units: a summary may
// take 700 tokens, and a quotation always fits.
const remarkQuota = 4000

// FrameEndedNote tells a conversation how a frame ended that no call of it ended. The remark
// replaces the work done in that frame. inner are the ids of frames that ended within it. All
// text of the frame is data.
func FrameEndedNote(f Frame, inner []string) string {
	return remark("flame-ended", &f, []field{
		{tag: "summary", text: f.Summary, share: 0.7, mark: cutMark},
		decisionsField(f.Decisions, 0.4, remarkQuota),
		artifactsField(&f, remarkQuota),
		{tag: "invalidated-because", text: f.InvalidationReason, share: 0.3, mark: cutMark},
		{tag: "frames-within", text: strings.Join(inner, ", "), share: 0.2, mark: cutMark},
	}, "")
}

// MessageAfterEndNote tells a conversation that the user said what follows in a frame that is over,
// and which text it answered, if that is left out.
func MessageAfterEndNote(f Frame, answered string) string {
	return remark("flame-said-in", &f, []field{{tag: "answered", text: answered, share: 1, mark: cutMark}},
		"  <note>The user said what follows in that frame. The work on it there is over; what it asks or forbids beyond that holds.</note>\n")
}

// remark returns an element about a frame.
func remark(tag string, f *Frame, fields []field, body string) string {
	e := newElement("", tag, f, append([]field{goalField(f)}, fields...))
	e.body = xmlText{text: body, units: units(body)}
	return e.render(remarkQuota, 2*remarkQuota).text
}
