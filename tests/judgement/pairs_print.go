package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"flame/agents/converge"
	"flame/core"
)

// A comparison is the finding on a pair.
type comparison struct {
	pair
	finding   finding
	before    finding
	conflicts []converge.Conflict
}

// pairs compares the answers of the pairs, and prints how many comparisons were right.
func pairs(in io.Reader, which part, asJSON bool, out io.Writer) error {
	cases, err := readPairs(in, which)
	if err != nil {
		return err
	}
	var all []comparison
	for _, p := range cases {
		finding, conflicts, err := compare(p)
		if err != nil {
			return err
		}
		all = append(all, comparison{p, finding, before(p), conflicts})
	}
	said := figuresOf(all, func(c comparison) finding { return c.finding })
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]figures{"pairs": said})
	}
	return writePairs(out, all)
}

// figures are the results of the comparisons of a file, with shares from 0 to 1.
type figures struct {
	ContradictionsAsAgreement int     `json:"contradictionsAsAgreement"`
	FoundOfComparable         float64 `json:"foundOfComparable"`       // of the comparable contradictions
	FalseAlarms               float64 `json:"falseAlarms"`             // of the pairs without a contradiction
	NotComparedOfComparable   float64 `json:"notComparedOfComparable"` // of the comparable pairs that have a claim in common
}

// figuresOf counts the findings, of now or before.
func figuresOf(all []comparison, of func(comparison) finding) (f figures) {
	var contradictory, detected, harmless, alarms, common, silent int
	for _, c := range all {
		said := of(c)
		switch {
		case !c.contradictory():
			harmless++
			if said == found || said == mistaken {
				alarms++
			}
		case said == noConflict:
			f.ContradictionsAsAgreement++
		}
		if !c.Comparable || c.Expected == "unrelated" {
			continue
		}
		if common++; said == notCompared {
			silent++
		}
		if c.contradictory() {
			if contradictory++; said == found {
				detected++
			}
		}
	}
	f.FoundOfComparable = share(detected, contradictory)
	f.FalseAlarms = share(alarms, harmless)
	f.NotComparedOfComparable = share(silent, common)
	return f
}

// writePairs prints how many comparisons were right, and those that were not.
func writePairs(out io.Writer, all []comparison) error {
	fmt.Fprintf(out, "%d pairs: right / forgivable / wrong, as PAIRS.md defines it.\n\n", len(all))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "expected\tcomparable\tpairs\tnow\tbefore")
	for _, expected := range []string{"contradict", "partial", "agree", "unrelated"} {
		for _, comparable := range []bool{true, false} {
			var now, then [wrong + 1]int
			for _, c := range all {
				if c.Expected == expected && c.Comparable == comparable {
					now[c.grade(c.finding)]++
					then[c.grade(c.before)]++
				}
			}
			fmt.Fprintf(table, "%s\t%v\t%d\t%s\t%s\n", expected, comparable, now[right]+now[forgivable]+now[wrong], slashed(now), slashed(then))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	now := figuresOf(all, func(c comparison) finding { return c.finding })
	then := figuresOf(all, func(c comparison) finding { return c.before })
	fmt.Fprintln(table, "\tgoal\tnow\tbefore")
	fmt.Fprintf(table, "contradictions reported as agreement\t0\t%d\t%d\n", now.ContradictionsAsAgreement, then.ContradictionsAsAgreement)
	fmt.Fprintf(table, "comparable contradictions that were found\t>= 80 %%\t%s\t%s\n", percent(now.FoundOfComparable), percent(then.FoundOfComparable))
	fmt.Fprintf(table, "false alarms\t<= 10 %%\t%s\t%s\n", percent(now.FalseAlarms), percent(then.FalseAlarms))
	fmt.Fprintf(table, "comparable, but not compared\t<= 20 %%\t%s\t%s\n", percent(now.NotComparedOfComparable), percent(then.NotComparedOfComparable))
	if err := table.Flush(); err != nil {
		return err
	}
	writeFailed(out, all)
	return nil
}

// writeFailed lists the pairs with wrong findings.
func writeFailed(out io.Writer, all []comparison) {
	fmt.Fprintln(out, "\nNot right:")
	for _, c := range all {
		g := c.grade(c.finding)
		if g == right {
			continue
		}
		var about []string
		for _, conflict := range c.conflicts {
			about = append(about, core.OneLine(conflict.Key, 40))
		}
		fmt.Fprintf(out, "- %s (%s): %s", c.ID, [...]string{forgivable: "forgivable", wrong: "wrong"}[g], c.finding)
		if len(about) > 0 {
			fmt.Fprintf(out, " about %s", strings.Join(about, ", "))
		}
		fmt.Fprintf(out, " instead of %s. %s\n", c.Expected, core.OneLine(c.Why, 120))
	}
}

func slashed(counts [wrong + 1]int) string {
	return fmt.Sprintf("%d / %d / %d", counts[right], counts[forgivable], counts[wrong])
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
