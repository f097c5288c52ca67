package core

import "strings"

// A Relation is how a frame relates to the frame whose agent hears of it.
type Relation string

// The relations, as contexts name them.
const (
	RelationCurrent  Relation = "current"
	RelationAncestor Relation = "ancestor"
	RelationChild    Relation = "child"
	RelationSibling  Relation = "sibling"
	RelationUncle    Relation = "uncle"
)

// A Change is news about one frame: what others, or flame itself, did to it.
type Change struct {
	Frame     Frame // as it is now
	Relation  Relation
	Ended     bool     // it has just ended, so its summary is shown
	Composed  bool     // that summary is composed of what was done below it
	Criteria  string   // what done means in it, if that changed
	Decisions []string // made in it
	By        string   // the rule of flame that made the change ("autonomy", ...); empty for people and agents
}

// BuildChanges tells the agent of frame current what changed around it, oldest
// first, within maxChars UTF-16 code units (0: no limit). It counts what does
// not fit as omitted. Without changes it returns "".
func BuildChanges(current string, changes []Change, maxChars int) string {
	if len(changes) == 0 {
		return ""
	}
	if maxChars <= 0 {
		maxChars = unitsPerToken * DefaultBudget().Total
	}
	open, end := `<flame-changes session="`+EscapeXML(current)+`"`, "</flame-changes>"
	room := maxChars - units(open) - len(` omitted="1000000">`+"\n") - len(end)
	each, omitted := quota(room, len(changes)), 0
	var b strings.Builder
	for i := range changes {
		printed := changes[i].element().render(each, min(room, each))
		if printed.units > room {
			omitted++
			continue
		}
		room -= printed.units
		b.WriteString(printed.text)
	}
	if b.Len() == 0 {
		return ""
	}
	return open + attr("omitted", omitted) + ">\n" + b.String() + end
}

// element returns the change as it is printed.
func (c *Change) element() element {
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
func (s Surroundings) Tells() bool {
	f := s.Current
	return len(s.Ancestors)+len(s.Children)+len(s.Siblings)+len(s.Uncles)+len(s.Planned)+len(s.Unfinished)+len(s.Suggestions)+len(s.Finished.Text) > 0 ||
		len(f.Artifacts)+len(f.Decisions) > 0 || f.Summary != "" || f.SuccessCriteria != ""
}
