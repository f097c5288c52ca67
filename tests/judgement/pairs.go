package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
)

// A pair is two agents' labelled answers, as in a line of the file
// (core/testdata/judgement/PAIRS.md).
type pair struct {
	ID             string          `json:"id"`
	A              string          `json:"a"`
	B              string          `json:"b"`
	Tolerance      float64         `json:"tolerance"`
	Expected       string          `json:"expected"`
	Contradictions []contradiction `json:"contradictions"`
	Comparable     bool            `json:"comparable"`
	Contested      bool            `json:"contested"`
}

// A contradiction is one subject of disagreement of a pair, in short words.
type contradiction struct {
	About string `json:"about"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// contradictory reports whether flame should find a contradiction.
func (p pair) contradictory() bool { return p.Expected == "contradict" || p.Expected == "partial" }

// readPairs returns the pairs of a file that count.
func readPairs(in io.Reader, which part) (list []pair, err error) {
	err = lines(in, func(p pair) error {
		switch {
		case p.ID == "":
			return errors.New("it has no id")
		case !slices.Contains([]string{"agree", "contradict", "partial", "unrelated"}, p.Expected):
			return fmt.Errorf("pair %s expects %q, not agree, contradict, partial or unrelated", p.ID, p.Expected)
		case p.contradictory() && len(p.Contradictions) == 0:
			return fmt.Errorf("pair %s lists no contradictions", p.ID)
		case strings.TrimSpace(p.A) == "" || strings.TrimSpace(p.B) == "":
			return fmt.Errorf("pair %s lacks an answer", p.ID)
		}
		if which(p.ID) && !p.Contested {
			list = append(list, p)
		}
		return nil
	})
	return list, err
}

// A finding is the result of comparing a pair.
type finding string

const (
	found     finding = "found by structure" // a conflict that is there
	mistaken  finding = "another conflict"   // only conflicts that are not there
	shown     finding = "shown as not compared"
	agreement finding = "reported as agreement"
)

// compare converges the answers of a pair.
func (p pair) compare() (finding, error) {
	input := func(id, answer string) converge.AgentResult {
		return converge.AgentResult{SubagentID: id, Outcome: core.AgentCompleted, Answer: answer}
	}
	result, err := converge.Converge([]converge.AgentResult{input("a", p.A), input("b", p.B)}, converge.Options{
		Strategy: converge.StrategyMerge, RelativeTolerance: p.Tolerance,
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("pair %s: %w", p.ID, err)
	case slices.ContainsFunc(result.Conflicts, func(c converge.Conflict) bool {
		return slices.ContainsFunc(p.Contradictions, func(due contradiction) bool { return due.told(c) })
	}):
		return found, nil
	case len(result.Conflicts) > 0:
		return mistaken, nil
	case len(result.NotCompared) > 0:
		return shown, nil
	}
	return agreement, nil
}

// told reports whether a conflict is this contradiction: its key or its sides have a word or
// number of it.
func (c contradiction) told(as converge.Conflict) bool {
	said := words(as.Key)
	for _, side := range as.Sides {
		said = append(said, words(side.Excerpt)...)
	}
	return lo.Some(words(c.About+" "+c.A+" "+c.B), said)
}

// filler are words that say nothing about the subject of a contradiction.
var filler = strings.Fields("a all an and are as at be by for from has in is it no not of on or that the to with yes true false")

// words returns the words and numbers of a text that show its subject.
func words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return lo.Without(all, filler...)
}

// figures count the findings of the pairs with contradictions and of those without.
type figures struct {
	pairs                   int
	contradictory, harmless map[finding]int
}

// compared compares the answers of the pairs.
func compared(in io.Reader, which part) (figures, error) {
	cases, err := readPairs(in, which)
	f := figures{len(cases), map[finding]int{}, map[finding]int{}}
	for _, p := range cases {
		finding, failed := p.compare()
		err = errors.Join(err, failed)
		lo.Ternary(p.contradictory(), f.contradictory, f.harmless)[finding]++
	}
	return f, err
}

// pairs prints what comparing the pairs found.
func pairs(in io.Reader, which part, out io.Writer) error {
	f, err := compared(in, which)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d pairs. A difference that is reported as agreement is a fault, and so is another conflict.\n\n", f.pairs)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "finding\tcontradict each other\tdo not")
	for _, finding := range []finding{found, mistaken, shown, agreement} {
		fmt.Fprintf(table, "%s\t%d\t%d\n", finding, f.contradictory[finding], f.harmless[finding])
	}
	return table.Flush()
}
