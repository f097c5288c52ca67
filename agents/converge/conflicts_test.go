package converge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/core"
	"flame/tests/cases"
)

// conflict returns what a caller found: "a1,a2: text" for each side.
func conflict(about string, sides ...string) converge.Difference {
	return converge.Difference{About: about, Sides: lo.Map(sides, func(side string, _ int) converge.Statement {
		ids, says, _ := strings.Cut(side, ": ")
		return converge.Statement{SubagentIDs: strings.Split(ids, ","), Says: says}
	})}
}

func TestConflictsOfTheCallerAreTreatedAsFlamesOwn(t *testing.T) {
	prose := []string{"It leaks memory in the parser.", "The parser is fine.", "Memory grows without end."}
	cause := []converge.Difference{conflict("The  Cause", "a1,a3: a leak", "a2: none")}
	for name, tt := range cases.Read[struct {
		Options converge.Options
		Winner  string
		How     converge.Resolution
	}](t, "testdata/caller.yaml") {
		t.Run(name, func(t *testing.T) {
			inputs := with(answering(prose...), func(in *converge.AgentResult) { in.Confidence = sure(0.5) },
				func(in *converge.AgentResult) { in.Confidence = sure(0.9) }, func(in *converge.AgentResult) { in.Confidence = sure(0.1) })
			tt.Options.Conflicts, tt.Options.Tolerance = cause, 100
			result := converged(t, inputs, tt.Options)
			given, ok := lo.Find(result.Conflicts, func(c converge.Conflict) bool { return c.ID == "answer:the cause" })
			require.True(t, ok, conflictIDs(result))
			assert.Equal(t, []string{"a leak", "none", "a leak"}, lo.Map(given.Sides, func(s converge.Side, _ int) string { return s.Excerpt }))
			assert.True(t, strings.HasPrefix(given.Rationale, "a1, a3 against a2"), given.Rationale)
			assert.Equal(t, tt.Winner, given.Winner)
			assert.Equal(t, tt.How, given.Resolution)
			if result.Output != nil {
				assert.Equal(t, lo.Ternary(tt.Winner == "a2", `"none"`, `"a leak"`), string(result.Output["statement"][0].Value))
			}
			checkResult(t, result)
		})
	}
}

func TestConflictsOfTheCallerStandBesideFlamesOwn(t *testing.T) {
	result := converged(t, answering("port: 80", "port: 81"), converge.Options{
		Strategy:  converge.StrategyMerge,
		Conflicts: []converge.Difference{conflict("port", "a1: open", "a2: shut"), conflict("PORT ", "a1: open", "a2: shut")},
	})
	assert.Equal(t, []string{"answer:port", "answer:port (2)"}, conflictIDs(result), "a conflict that is given twice counts once")
}

func TestConflictsOfTheCallerAreChecked(t *testing.T) {
	two := conflict("x", "a1: yes", "a2: no")
	many := lo.Times(51, func(i int) converge.Difference { return conflict(fmt.Sprint(i), "a1: yes", "a2: no") })
	for message, conflicts := range map[string][]converge.Difference{
		"51 conflicts are too many":                       many,
		"has no short about":                              {conflict(" \n", "a1: yes", "a2: no")},
		"a conflict has no short about":                   {conflict(strings.Repeat("x", 201), "a1: yes", "a2: no")},
		"names a9, a8, which the call does not":           {conflict("x", "a1: yes", "a9,a8: no")},
		"names an agent twice":                            {conflict("x", "a1: yes", "a2,a1: no")},
		"needs two sides that say different things":       {conflict("x", "a1: yes", "a2:   YES ")},
		`conflict about "x" needs two sides`:              {conflict("x", "a1,a2: yes")},
		"lacks its subagent_ids":                          {{About: "x", Sides: []converge.Statement{two.Sides[0], {Says: "no"}}}},
		"or a text of at most 10000 bytes":                {conflict("x", "a1: yes", "a2: "+strings.Repeat("n", 10_001))},
		`lacks its subagent_ids, or a text`:               {conflict("x", "a1: yes", "a2:  ")},
		`there are two conflicts about "X"`:               {two, conflict("X", "a1: no", "a2: yes")},
		"the conflict about \"x y\" needs two sides that": {conflict("x\ny\x1b", "a1: yes")},
	} {
		_, err := converge.Converge(answering("a", "b"), converge.Options{Strategy: converge.StrategyMerge, Conflicts: conflicts})
		var problem *core.Problem
		if assert.ErrorAs(t, err, &problem, message) {
			assert.Contains(t, problem.Message, message)
		}
	}
}

func TestConflictsOfTheCallerMayBeHostile(t *testing.T) {
	answers := lo.Times(20, func(i int) string { return lo.Ternary(i == 7, "", fmt.Sprint("answer in words ", i)) })
	says := "\x00```\n# Converged\n\x1b[31m\u202e" + strings.Repeat("🦊", 2_000)
	result := converged(t, answering(answers...), converge.Options{
		Strategy: converge.StrategyMerge, Conflicts: []converge.Difference{conflict("a=b\u202e:c", "a8: "+says, "a20,a1: \xff")},
	})
	assert.Equal(t, []string{"a1", "a20", "a8"}, lo.Map(result.Conflicts[0].Sides, func(s converge.Side, _ int) string { return s.SubagentID }))
	assert.Len(t, result.Differences[0].Sides, 19)
	checkResult(t, result)
	assert.NotContains(t, written(t, result), "\n# Converged\n", "it cannot pose as the page's words")
	assert.NotContains(t, result.Conflicts[0].ID, "\u202e")
}
