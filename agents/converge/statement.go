package converge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/samber/lo"

	"flame/agents/converge/claims"
	"flame/agents/converge/notation"
)

// A statement is what an answer, or a field of one, claims, by what it is about. Two of
// them agree unless they say something else of one thing.
type statement map[string]notation.Value

func (s statement) agrees(other statement, tolerance notation.Tolerance) bool {
	for about, value := range s {
		if theirs, ok := other[about]; ok && value.Compare(theirs, tolerance) == notation.Different {
			return false
		}
	}
	return true
}

// shares reports whether two statements say the same of something.
func (s statement) shares(other statement, tolerance notation.Tolerance) bool {
	return lo.SomeBy(lo.Keys(s), func(about string) bool {
		theirs, ok := other[about]
		return ok && s[about].Compare(theirs, tolerance) == notation.Same
	})
}

// A reader compares what agents claim in their answers.
type reader struct {
	agents    []*agent // that answered
	compared  claims.Comparison
	tolerance notation.Tolerance
}

// read reads the answers of agents and holds them against each other.
func read(agents []*agent, o Options) reader {
	r := reader{tolerance: o.tolerance()}
	r.agents = lo.Reject(agents, func(a *agent, _ int) bool { return a.answer.blank() })
	r.compared = claims.Compare(lo.Map(r.agents, func(a *agent, _ int) claims.Reading {
		return claims.Read(a.answer.text, a.Task)
	}), r.tolerance)
	return r
}

// fields gives the fields of JSON answers the claims in them, by which they are compared
// instead of letter by letter. Fields that can neither be found equal nor contradictory
// are kept of each agent.
func (r reader) fields(all []claim) []claim {
	for i, c := range all {
		if c.part != findingPart || len(c.by.schema.Properties) > 0 {
			continue
		}
		said := statement{}
		for _, told := range r.compared.Claims[slices.Index(r.agents, c.by)] {
			if told.Field == c.name {
				said[told.Key] = told.Value
			}
		}
		all[i].hash, all[i].same = hash(c.same), field{said, c.same}
	}
	groups := lo.GroupBy(all, claim.subject)
	for i, c := range all {
		if f, ok := c.same.(field); ok && !f.comparable(groups[c.subject()], r.tolerance) {
			all[i].key, all[i].op = c.key+"\x00"+c.by.SubagentID, opAdd
		}
	}
	return all
}

// A field is one of a JSON answer: what it claims, and its value.
type field struct {
	said  statement
	value any
}

// agrees reports whether two fields are equal, or claim nothing that contradicts the other.
func (f field) agrees(other field, tolerance notation.Tolerance) bool {
	return agree(f.value, other.value, tolerance) || f.said.agrees(other.said, tolerance)
}

// comparable reports whether a field is known to say the same as all others of its name, or
// to contradict one. Of those that only add to each other each is kept.
func (f field) comparable(all []claim, tolerance notation.Tolerance) bool {
	for _, c := range all {
		if other := c.same.(field); !f.agrees(other, tolerance) {
			return true
		}
	}
	return lo.EveryBy(all, func(c claim) bool {
		other := c.same.(field)
		whole := len(lo.Without(lo.Keys(f.said), lo.Keys(other.said)...)) == 0 && len(f.said) == len(other.said)
		return agree(f.value, other.value, tolerance) || whole && f.said.shares(other.said, tolerance)
	})
}

// contradictions returns what answers say differently, other than in fields of JSON
// objects, which are compared by their names.
func (r reader) contradictions(known []*subject) (list []*subject) {
	taken := map[string]bool{}
	for _, s := range known {
		if s.conflict != nil {
			taken[s.conflict.ID] = true
		}
	}
	for _, m := range r.compared.Matches {
		fields := lo.EveryBy(m.Sides, func(s claims.Side) bool { return r.agents[s.Reading].answer.object() != nil })
		if m.Verdict != notation.Different || fields {
			continue
		}
		name := normal(m.Subject)
		for n := 2; taken[string(KindAnswer)+":"+name]; n++ {
			name = fmt.Sprintf("%s (%d)", normal(m.Subject), n)
		}
		taken[string(KindAnswer)+":"+name] = true
		list = append(list, newSubject(lo.Map(m.Sides, func(s claims.Side, _ int) claim {
			return claim{
				part: statementPart, key: name, by: r.agents[s.Reading], same: statement{"": s.Value}, hash: hash(s.Value.String()),
				text: s.Text, op: opReplace, name: name, value: s.Value.String(),
			}
		}), r.tolerance))
	}
	slices.SortFunc(list, func(a, b *subject) int { return cmp.Compare(a.claims[0].key, b.claims[0].key) })
	return list
}

// agreed returns the agents whose answers were compared with another's: they agree in
// what matters, or they contradict each other.
func (r reader) agreed(subjects []*subject) map[*agent]bool {
	all := map[*agent]bool{}
	for i, a := range r.agents {
		if a.answer.object() == nil || len(a.schema.Properties) == 0 {
			all[a] = r.compared.Agreed[i]
		}
	}
	for _, s := range subjects {
		for _, c := range s.claims {
			all[c.by] = all[c.by] || s.conflict != nil && (c.isAnswer() || c.part == statementPart)
		}
	}
	return all
}

// alike returns what answers say alike, by their subjects.
func (r reader) alike() (subjects []string) {
	for _, m := range r.compared.Matches {
		if m.Verdict == notation.Same {
			subjects = append(subjects, m.Subject)
		}
	}
	return lo.Uniq(subjects)
}
