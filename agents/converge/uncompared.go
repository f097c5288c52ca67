package converge

import (
	"strings"

	"github.com/samber/lo"
)

// uncompared names what several agents returned that was not held against each
// other: whether they contradict each other there is not known.
func (d *draft) uncompared(agents []*agent) (list []string) {
	shared, answered, wholly := map[lo.Tuple2[part, string]]bool{}, map[*agent]bool{}, map[*agent]bool{}
	for _, s := range d.subjects {
		for _, c := range s.claims {
			shared[c.subject()] = len(s.claims) > 1
			wholly[c.by] = wholly[c.by] || len(s.claims) > 1 && c.part == answerPart
			answered[c.by] = answered[c.by] || len(s.claims) > 1 && c.isAnswer()
		}
	}
	for a, ok := range d.agreed {
		answered[a] = ok || answered[a] && wholly[a]
	}
	alone := func(c claim) bool {
		switch {
		case c.isAnswer():
			return !answered[c.by]
		case d.everything:
			return c.nameless() && !shared[c.subject()]
		}
		return true
	}
	if silent := lo.Filter(agents, func(a *agent, _ int) bool { return a.silent() }); len(silent) > 0 && len(agents) > 1 {
		list = append(list, "the answer of "+strings.Join(lo.Map(silent, id), ", ")+", which is empty")
	}
	for _, at := range []part{answerPart, decisionPart, artifactPart, filePart} {
		said := lo.Filter(lo.FlatMap(agents, func(a *agent, _ int) []claim { return a.claims(true) }), func(c claim, _ int) bool {
			return c.part == at && !(c.isAnswer() && c.by.answer.blank())
		})
		by := func(c claim, _ int) string { return c.by.SubagentID }
		names := lo.Uniq(lo.Map(lo.Filter(said, func(c claim, _ int) bool { return alone(c) }), by))
		if len(names) > 0 && len(lo.Uniq(lo.Map(said, by))) > 1 {
			list = append(list, "the "+strings.ToLower(parts[at].title)+" of "+strings.Join(names, ", "))
		}
	}
	return list
}

// silent reports whether the agent left nothing that could be compared.
func (a *agent) silent() bool {
	return a.answer.blank() && len(a.Decisions)+len(a.Artifacts)+len(a.Files) == 0
}

// isAnswer reports whether c is an answer or a field of one.
func (c claim) isAnswer() bool { return c.part == answerPart || c.part == findingPart }

// nameless reports whether c is a decision that does not say what it decides.
func (c claim) nameless() bool { return c.part == decisionPart && c.key == c.same }
