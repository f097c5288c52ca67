package converge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
)

// A draft is what a strategy makes of agents before conflicts are settled.
type draft struct {
	subjects  []*subject
	election  bool                         // the winner of the first subject provides the whole output
	unanimous bool                         // only a person can replace agreement
	first     *agent                       // the agent whose side wins all conflicts; nil if each conflict is settled by itself
	apart     func(a *agent, at part) bool // reports what was not compared at all; nil if everything was
	open      []Difference                 // what could not be compared
	rationale string                       // what the strategy did
	ignored   []ExcludedAgent              // agents whose results stay out of the output
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
	conflicts, rest, open := readAnswers(agents, claimsOf(agents, false), o.tolerance())
	all := append(subjectsOf(rest, o.tolerance()), conflicts...)
	slices.SortFunc(all, inOrder)
	return &draft{subjects: all, open: append(open, namelessDecisions(agents)...), rationale: "everything that any agent returned"}, nil
}

// consensus takes what all agents say, and requires all to give the same
// answer.
func consensus(agents []*agent, o Options) (*draft, error) {
	if err := needEnded(agents, o.Strategy); err != nil {
		return nil, err
	}
	return &draft{
		subjects: subjects(agents, true, o.tolerance()), open: append(wordsAround(agents), namelessDecisions(agents)...),
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
		open:      wordsAround(voters),
		apart:     func(a *agent, at part) bool { return at != answerPart || !slices.Contains(voters, a) },
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
		first:     first,
		apart:     func(*agent, part) bool { return true },
		rationale: "the result of " + first.SubagentID + ", which completed first",
		ignored:   lo.Map(lo.Without(agents, first), ignore("not the first to complete")),
	}, nil
}

func needEnded(agents []*agent, s Strategy) error {
	running := lo.Reject(agents, func(a *agent, _ int) bool { return a.Outcome.Ended() })
	if len(running) == 0 {
		return nil
	}
	return core.Invalidf("%s needs agents that have ended; still at work: %s", s, core.List(lo.Map(running, idAndState))).
		WithHint("wait for them or cancel them, or use first_success")
}

func subjects(agents []*agent, whole bool, t tolerance) []*subject {
	return subjectsOf(claimsOf(agents, whole), t)
}

func claimsOf(agents []*agent, whole bool) []claim {
	return lo.FlatMap(agents, func(a *agent, _ int) []claim { return a.claims(whole) })
}

func subjectsOf(all []claim, t tolerance) []*subject {
	list := lo.Map(lo.Values(lo.GroupBy(all, claim.subject)), func(group []claim, _ int) *subject { return newSubject(group, t) })
	slices.SortFunc(list, inOrder)
	return list
}

func inOrder(a, b *subject) int {
	return cmp.Or(cmp.Compare(a.claims[0].part, b.claims[0].part), cmp.Compare(a.claims[0].key, b.claims[0].key))
}

// wordsAround returns what agents say differently around answers in JSON.
func wordsAround(agents []*agent) []Difference {
	return wordsOf("words around the answers", lo.Filter(agents, func(a *agent, _ int) bool { return a.answer.json }),
		func(a *agent) []string { return a.answer.around() })
}

// namelessDecisions returns the decisions that do not say what they decide, if agents decided
// differently.
func namelessDecisions(agents []*agent) []Difference {
	nameless := func(a *agent) []string {
		texts := lo.Filter(a.Decisions, func(text string, i int) bool { c := decision(text, i); return c.key == c.same })
		slices.Sort(texts)
		return texts
	}
	return wordsOf("decisions", lo.Filter(agents, func(a *agent, _ int) bool { return len(nameless(a)) > 0 }), nameless)
}

func wordsOf(about string, agents []*agent, words func(*agent) []string) []Difference {
	said := lo.SliceToMap(agents, func(a *agent) (*agent, []string) { return a, words(a) })
	d, ok := differenceOf(about, agents, said, tolerance{})
	return lo.Ternary(ok, []Difference{d}, nil)
}

// resolve settles conflicts: by a person's choice, by vote, by o.Resolution.
func (d *draft) resolve(o Options) error {
	disputed := d.disputed()
	if err := choose(disputed, o.Choices); err != nil {
		return err
	}
	if d.first != nil {
		for _, s := range lo.Filter(disputed, isOpen) {
			if at := slices.IndexFunc(s.claims, func(c claim) bool { return c.by == d.first }); at >= 0 {
				s.settle(s.claims[at], Resolution(StrategyFirstSuccess), d.first.SubagentID+" completed first")
			}
		}
	}
	if d.election {
		for _, s := range lo.Filter(disputed, isOpen) {
			s.elect(o.tolerance())
		}
	}
	if d.unanimous || o.Resolution == ResolveManual {
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
