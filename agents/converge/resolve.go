package converge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge/notation"
	"flame/core"
	"flame/core/op"
)

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

// elect lets the largest class of answers win. An answer has the votes of all
// that agree with it; if different groups are equally large, none wins.
func (s *subject) elect(tolerance notation.Tolerance) {
	most, groups := 0, map[string][]claim{}
	for _, candidate := range s.claims {
		votes := lo.Filter(s.claims, func(c claim, _ int) bool { return agree(candidate.same, c.same, tolerance) })
		if len(votes) > most {
			most = len(votes)
			clear(groups)
		}
		if len(votes) == most {
			group := authors(votes)
			groups[group] = append(groups[group], candidate)
		}
	}
	if len(groups) > 1 {
		s.conflict.Rationale += fmt.Sprintf("; a tie of %d votes each", most)
		return
	}
	for group, candidates := range groups {
		s.settle(earliest(candidates), ByVote, fmt.Sprintf("%d of %d votes: %s", most, len(s.claims), group))
	}
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
		if err := s.choose(choices[id]); err != nil {
			return err
		}
	}
	return nil
}

// needConfidence refuses prefer_higher_confidence if a side gave no confidence.
func needConfidence(disputed []*subject, how Resolution) error {
	if how != PreferHigherConfidence {
		return nil
	}
	var without []string
	for _, s := range disputed {
		for _, c := range s.claims {
			if c.by.Confidence == nil {
				without = append(without, c.by.SubagentID)
			}
		}
	}
	if len(without) == 0 {
		return nil
	}
	slices.Sort(without)
	return core.Invalidf("prefer_higher_confidence needs a confidence from every side; none from %s", core.List(slices.Compact(without))).
		WithHint("agents give one with %s; or use manual or auto_accept_latest", op.Pop)
}
