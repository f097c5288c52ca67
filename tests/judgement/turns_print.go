package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"flame/core"
)

// turns measures all strategies on the part of the cases, and prints the scores.
func turns(in io.Reader, which part, asJSON bool, out io.Writer) error {
	cases, err := readTurns(in, which)
	if err != nil {
		return err
	}
	var scores []score
	for _, s := range strategies {
		scores = append(scores, measure(s, cases))
	}
	if asJSON {
		return writeJSON(out, scores)
	}
	return writeTable(out, scores, len(cases))
}

// writeJSON prints one document, with shares from 0 to 1.
func writeJSON(out io.Writer, scores []score) error {
	type rates struct {
		Precision float64 `json:"precision"`
		Recall    float64 `json:"recall"`
	}
	type result struct {
		Push                rates `json:"push"`
		Pop                 rates `json:"pop"`
		UnfinishedCompleted int   `json:"unfinishedCompleted"`
	}
	document := struct {
		Strategies map[string]result `json:"strategies"`
	}{map[string]result{}}
	of := func(c count) rates { return rates{c.precision(), c.recall()} }
	for _, s := range scores {
		document.Strategies[s.strategy] = result{of(s.kinds[push]), of(s.pop()), s.unfinished}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// writeTable prints the figures of each strategy, and the default's wrong cases.
func writeTable(out io.Writer, scores []score, cases int) error {
	fmt.Fprintf(out, "%d cases; precision / recall in percent (right of said, of due). The goal is a precision of 90.\n\n", cases)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "strategy\tpush\tpop\tcompleted\tfailed\tblocked\tunfinished ended as completed at auto")
	for _, s := range scores {
		fmt.Fprintf(table, "%s\t%s\t%s", s.strategy, s.kinds[push], s.pop())
		for _, kind := range pops {
			fmt.Fprintf(table, "\t%s", s.kinds[kind])
		}
		fmt.Fprintf(table, "\t%d\n", s.unfinished)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nWrong by the default (%d):\n", len(scores[0].failed))
	for _, f := range scores[0].failed {
		hard := ""
		if f.Hard {
			hard = ", hard"
		}
		fmt.Fprintf(out, "- %s: %s instead of %s%s. %s: %s\n", f.ID, f.said, f.expected(), hard, core.OneLine(f.Frame.Goal, 60), core.OneLine(f.Why, 120))
	}
	return nil
}

// String returns both figures, and their numbers.
func (c count) String() string {
	if c.said == 0 && c.due == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f / %.0f (%d of %d, of %d)", 100*c.precision(), 100*c.recall(), c.right, c.said, c.due)
}
