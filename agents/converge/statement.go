package converge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge/claims"
)

// A reader compares the answers of agents by what they claim.
type reader struct {
	agents    []*agent // that answered
	compared  claims.Comparison
	tolerance claims.Tolerance
}

func read(agents []*agent, o Options) reader {
	answered := lo.Reject(agents, func(a *agent, _ int) bool { return a.answer.blank() })
	readings := lo.Map(answered, func(a *agent, _ int) claims.Reading { return claims.Read(a.answer.text, a.Task) })
	return reader{answered, claims.Compare(readings, o.tolerance()), o.tolerance()}
}

// fields gives the fields of JSON answers their claims. Fields that can neither be found
// equal nor contradictory are kept of each agent.
func (r reader) fields(all []claim) []claim {
	for i, c := range all {
		if c.part != findingPart || len(c.by.schema.Properties) > 0 {
			continue
		}
		said := map[string]claims.Value{}
		for _, told := range r.compared.Claims[slices.Index(r.agents, c.by)] {
			if told.Field == c.name {
				said[told.Key] = told.Value
			}
		}
		all[i].hash, all[i].same = hash(c.same), field{said, c.same}
	}
	groups := lo.GroupBy(all, claim.subject)
	for i, c := range all {
		f, ok := c.same.(field)
		if !ok {
			continue
		}
		verdicts := lo.Map(groups[c.subject()], func(other claim, _ int) claims.Verdict { return f.compare(other.same.(field), r.tolerance) })
		if !slices.Contains(verdicts, claims.Different) && slices.Contains(verdicts, claims.Unknown) {
			all[i].key, all[i].op = c.key+"\x00"+c.by.SubagentID, opAdd
		}
	}
	return all
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
		if m.Verdict != claims.Different || fields {
			continue
		}
		name := normal(m.Subject)
		for n := 2; taken[string(KindAnswer)+":"+name]; n++ {
			name = fmt.Sprintf("%s (%d)", normal(m.Subject), n)
		}
		taken[string(KindAnswer)+":"+name] = true
		list = append(list, newSubject(lo.Map(m.Sides, func(s claims.Side, _ int) claim {
			return claim{
				part: statementPart, key: name, by: r.agents[s.Reading], same: s.Value, hash: hash(s.Value.Text),
				text: s.Text, op: opReplace, name: name, value: s.Value.Text,
			}
		}), r.tolerance))
	}
	slices.SortFunc(list, func(a, b *subject) int { return strings.Compare(a.claims[0].key, b.claims[0].key) })
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
