package converge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// The limits of the differences that a caller may give.
const (
	maxDifferences = 50
	maxAbout       = 200    // characters
	maxSays        = 10_000 // bytes
)

// check refuses differences that agents cannot have.
func check(differences []Difference, agents []string) error {
	if len(differences) > maxDifferences {
		return core.Invalidf("%d conflicts are too many", len(differences)).WithHint("give at most %d, the most important", maxDifferences)
	}
	known := map[string]string{} // sides, by subject
	for _, d := range differences {
		about := core.OneLine(d.About, 0)
		if about == "" || len([]rune(about)) > maxAbout {
			return core.Invalidf("a conflict has no short about").WithHint("name its subject, in at most %d characters", maxAbout)
		}
		if err := d.check(about, agents); err != nil {
			return err
		}
		subject, sides := normal(about), string(canonical(d.Sides))
		if earlier, twice := known[subject]; twice && earlier != sides {
			return core.Invalidf("there are two conflicts about %q", about).WithHint("give one, with all its sides")
		}
		known[subject] = sides
	}
	return nil
}

// check refuses sides that do not contradict each other, and those of other agents.
func (d Difference) check(about string, agents []string) error {
	ids := lo.FlatMap(d.Sides, func(s Statement, _ int) []string { return s.SubagentIDs })
	foreign, says := lo.Without(ids, agents...), lo.UniqMap(d.Sides, func(s Statement, _ int) string { return normal(s.Says) })
	switch {
	case len(foreign) > 0:
		return core.Invalidf("the conflict about %q names %s, which the call does not", about, core.List(lo.Uniq(foreign))).
			WithHint("it may name %s", strings.Join(agents, ", "))
	case len(lo.Uniq(ids)) < len(ids):
		return core.Invalidf("the conflict about %q names an agent twice", about).WithHint("give each agent one side")
	case len(d.Sides) < 2 || len(says) < len(d.Sides):
		return core.Invalidf("the conflict about %q needs two sides that say different things", about)
	}
	for _, s := range d.Sides {
		if len(s.SubagentIDs) == 0 || strings.TrimSpace(s.Says) == "" || len(s.Says) > maxSays {
			return core.Invalidf("a side of the conflict about %q lacks its subagent_ids, or a text of at most %d bytes", about, maxSays)
		}
	}
	return nil
}

// given returns the conflicts that the caller found, under ids that flame's own do not have.
func given(differences []Difference, agents []*agent, own []*subject) (list []*subject) {
	taken := map[string]bool{}
	for _, s := range own {
		if s.conflict != nil {
			taken[s.conflict.ID] = true
		}
	}
	for _, d := range lo.UniqBy(differences, func(d Difference) string { return normal(core.OneLine(d.About, 0)) }) {
		about := normal(core.OneLine(d.About, 0))
		name := about
		for n := 2; taken[string(KindAnswer)+":"+name]; n++ {
			name = fmt.Sprintf("%s (%d)", about, n)
		}
		sides := lo.FlatMap(agents, func(a *agent, _ int) []claim {
			at := slices.IndexFunc(d.Sides, func(s Statement) bool { return slices.Contains(s.SubagentIDs, a.SubagentID) })
			if at < 0 {
				return nil
			}
			says := d.Sides[at].Says
			return []claim{{part: statementPart, key: name, by: a, same: at, hash: hash(says), text: says, op: opReplace, name: name, value: says}}
		})
		s := newSubject(sides, tolerance{})
		taken[s.conflict.ID] = true
		list = append(list, s)
	}
	return list
}
