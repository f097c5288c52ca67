package core

import "strings"

// A Relation says how a frame stands to the one whose agent is told of it.
type Relation string

// The relations, as contexts name them.
const (
	RelationCurrent  Relation = "current"
	RelationAncestor Relation = "ancestor"
	RelationChild    Relation = "child"
	RelationSibling  Relation = "sibling"
	RelationUncle    Relation = "uncle"
)

// A Change is news of one frame: what others did to it, or flame by itself.
type Change struct {
	Frame     Frame // as it is now
	Relation  Relation
	Ended     bool     // its end is news, so its summary is told
	Decisions []string // made in it
	By        string   // the rule of flame's that made the change ("autonomy", ...); empty for people and agents
}

// BuildChanges tells the agent of frame current what changed beside it, oldest
// first, within maxChars UTF-16 code units (0: no limit). What does not fit is
// counted as omitted. Without changes the text is empty.
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

// element is the change as it is printed.
func (c *Change) element() element {
	fields := []field{{"goal", c.Frame.Goal, 0.3, cutMark}}
	if c.Ended {
		fields = append(fields, field{"summary", c.Frame.Summary, 0.7, cutMark})
	}
	fields = append(fields, field{"decisions", strings.Join(c.Decisions, "; "), 0.5, decisionsMark})
	e := newElement("  ", "frame", &c.Frame, fields)
	e.attrs += ` relation="` + string(c.Relation) + `"`
	if c.By != "" {
		e.attrs += ` by="` + EscapeXML(c.By) + `"`
	}
	return e
}

// Tells reports whether a context made of s says more than the bare goal of the
// frame it is for.
func (s Surroundings) Tells() bool {
	f := s.Current
	return len(s.Ancestors)+len(s.Children)+len(s.Siblings)+len(s.Uncles)+len(s.Planned)+len(s.Unfinished)+len(s.Suggestions) > 0 ||
		len(f.Artifacts)+len(f.Decisions) > 0 || f.Summary != "" || f.SuccessCriteria != ""
}
