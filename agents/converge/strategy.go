package converge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge/claims"
	"flame/core"
	"flame/core/op"
)

// A draft is what a strategy makes of agents before conflicts are settled.
type draft struct {
	subjects   []*subject
	election   bool            // the winner of the only subject provides the whole output
	unanimous  bool            // only a person can replace agreement
	everything bool            // all that agents say is compared, as far as it has names
	agreed     map[*agent]bool // whose answers were compared by what they claim
	rationale  string          // what the strategy did
	ignored    []Ignored       // agents whose results stay out of the output
}

// strategies maps each strategy to the function that drafts a result. Agents
// come ordered by id.
var strategies = map[Strategy]func([]*agent, Options) (*draft, error){
	StrategyMerge:        merge,
	StrategyVote:         vote,
	StrategyConsensus:    consensus,
	StrategyFirstSuccess: firstSuccess,
}

// merge takes everything that any agent says. Answers that contradict each
// other stay beside each other; what they say differently is a conflict.
func merge(agents []*agent, o Options) (*draft, error) {
	if err := needEnded(agents, o.Strategy); err != nil {
		return nil, err
	}
	r := read(agents, o)
	all := subjectsOf(r.fields(claimsOf(agents, false)), r.tolerance)
	contradictions := r.contradictions(all)
	return &draft{
		subjects: append(all, contradictions...), everything: true,
		agreed:    r.agreed(append(all, contradictions...)),
		rationale: "everything that any agent returned",
	}, nil
}

// consensus takes what all agents say, and requires all to give the same
// answer.
func consensus(agents []*agent, o Options) (*draft, error) {
	if err := needEnded(agents, o.Strategy); err != nil {
		return nil, err
	}
	return &draft{
		subjects: subjects(agents, true, o.tolerance()), everything: true,
		unanimous: true,
		rationale: fmt.Sprintf("what all agents agree on, numbers within a tolerance of %v", o.Tolerance),
	}, nil
}

// vote considers only the answers. An agent that did not complete, or completed
// without an answer, abstains: what it left may be half a thought or the text
// of an error.
func vote(agents []*agent, o Options) (*draft, error) {
	if err := needEnded(agents, o.Strategy); err != nil {
		return nil, err
	}
	voters, others := lo.FilterReject(agents, func(a *agent, _ int) bool { return a.completed() && !a.answer.blank() })
	if len(voters) < MinVoters {
		err := core.Invalidf("vote needs at least %d agents that completed with an answer, not %d", MinVoters, len(voters))
		if len(others) > 0 {
			err.Message += "; without one: " + strings.Join(lo.Map(others, idAndState), ", ")
		}
		return nil, err.WithHint("name more agents, or use another strategy")
	}
	answers := lo.Map(voters, func(a *agent, _ int) claim { return a.signed([]claim{a.wholeAnswer()})[0] })
	return &draft{
		subjects:  []*subject{newSubject(answers, o.tolerance())},
		election:  true,
		rationale: fmt.Sprintf("the most frequent answer of %d agents, with the rest of one of their results", len(voters)),
		ignored:   lo.Map(others, ignore("abstains: completed without an answer, or not at all")),
	}, nil
}

// firstSuccess takes the result of the agent that completed first. Others may
// still be working; the caller cancels them.
func firstSuccess(agents []*agent, o Options) (*draft, error) {
	successes := lo.Filter(agents, func(a *agent, _ int) bool { return a.completed() })
	if len(successes) == 0 {
		return nil, core.Invalidf("first_success needs an agent that completed: %s", core.List(lo.Map(agents, idAndState))).
			WithHint("wait for those that are still running, or use merge to keep what the others left")
	}
	first := slices.MinFunc(successes, byTime)
	return &draft{
		subjects:  subjects([]*agent{first}, true, o.tolerance()),
		rationale: "the result of " + first.SubagentID + ", which completed first",
		ignored:   lo.Map(lo.Without(agents, first), ignore("not the first to complete")),
	}, nil
}

// needEnded refuses agents that are still working.
func needEnded(agents []*agent, s Strategy) error {
	running := lo.Reject(agents, func(a *agent, _ int) bool { return a.Outcome.Ended() })
	if len(running) == 0 {
		return nil
	}
	return core.Invalidf("%s needs agents that have ended; still at work: %s", s, core.List(lo.Map(running, idAndState))).
		WithHint("wait for them or cancel them, or use first_success")
}

// subjects groups what agents claim by part and key.
func subjects(agents []*agent, whole bool, tolerance claims.Tolerance) []*subject {
	return subjectsOf(claimsOf(agents, whole), tolerance)
}

func claimsOf(agents []*agent, whole bool) []claim {
	return lo.FlatMap(agents, func(a *agent, _ int) []claim { return a.claims(whole) })
}

func subjectsOf(all []claim, tolerance claims.Tolerance) []*subject {
	groups := lo.Values(lo.GroupBy(all, claim.subject))
	slices.SortFunc(groups, func(a, b []claim) int {
		return cmp.Or(cmp.Compare(a[0].part, b[0].part), cmp.Compare(a[0].key, b[0].key))
	})
	return lo.Map(groups, func(group []claim, _ int) *subject { return newSubject(group, tolerance) })
}

// resolve settles conflicts: by a person's choice, by vote, by o.Resolution.
func (d *draft) resolve(o Options) error {
	disputed := d.disputed()
	if err := choose(disputed, o.Choices); err != nil {
		return err
	}
	if d.election {
		for _, s := range lo.Filter(disputed, isOpen) {
			s.elect(o.tolerance())
		}
	}
	if d.unanimous || o.Resolution == Manual {
		return nil
	}
	disputed = lo.Filter(disputed, isOpen)
	if err := needConfidence(disputed, o.Resolution); err != nil {
		return err
	}
	for _, s := range disputed {
		s.byRank(o.Resolution, o.tolerance())
	}
	return nil
}

func isOpen(s *subject, _ int) bool { return s.open() }

// disputed returns the subjects that agents contradict each other about.
func (d *draft) disputed() []*subject {
	return lo.Filter(d.subjects, func(s *subject, _ int) bool { return s.conflict != nil })
}

// choose applies a person's choices. It refuses one that fits no conflict: the
// person saw a different convergence.
func choose(disputed []*subject, choices map[string]string) error {
	for _, id := range slices.Sorted(maps.Keys(choices)) {
		s, ok := lo.Find(disputed, func(s *subject) bool { return s.conflict.ID == id })
		if !ok {
			ids := lo.Map(disputed, func(s *subject, _ int) string { return s.conflict.ID })
			return core.Invalidf("there is no conflict %q", id).WithHint("there are: %s", strings.Join(ids, ", "))
		}
		by := choices[id]
		chosen, ok := lo.Find(s.claims, func(c claim) bool { return c.by.SubagentID == by })
		if !ok {
			return core.Invalidf("%s is not a side of conflict %q", by, id).WithHint("choose one of %s", authors(s.claims))
		}
		s.settle(chosen, ByReview, by+" was chosen in review")
	}
	return nil
}

// needConfidence refuses prefer_higher_confidence if a side gave no confidence.
func needConfidence(disputed []*subject, how Resolution) error {
	if how != PreferHigherConfidence {
		return nil
	}
	without := lo.FlatMap(disputed, func(s *subject, _ int) []string {
		return lo.FilterMap(s.claims, func(c claim, _ int) (string, bool) { return c.by.SubagentID, c.by.Confidence == nil })
	})
	if len(without) == 0 {
		return nil
	}
	slices.Sort(without)
	return core.Invalidf("prefer_higher_confidence needs a confidence from every side; none from %s", core.List(slices.Compact(without))).
		WithHint("agents give one with %s; or use manual or auto_accept_latest", op.Pop)
}
