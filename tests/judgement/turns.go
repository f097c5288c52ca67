package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/evidence"
)

// A turn is a labelled moment, as in a line of the file.
type turn struct {
	ID    string `json:"id"`
	Point string `json:"point"` // prompt or turn_end
	Frame struct {
		Goal            string   `json:"goal"`
		SuccessCriteria string   `json:"successCriteria"`
		Depth           int      `json:"depth"`
		PlannedChildren []string `json:"plannedChildren"`
		OpenChildren    int      `json:"openChildren"`
		Messages        int      `json:"messages"`
		Decisions       []string `json:"decisions"`
		Artifacts       []string `json:"artifacts"`
	} `json:"frame"`
	Recent []evidence.Message `json:"recent"`
	Turn   struct {
		Tools []struct {
			Name   string `json:"name"`
			Input  string `json:"input"`
			OK     bool   `json:"ok"`
			Exit   *int   `json:"exit"`
			Output string `json:"output"`
		} `json:"tools"`
		FilesChanged         []string `json:"filesChanged"`
		Errors               int      `json:"errors"`
		Tokens               int      `json:"tokens"`
		Window               int      `json:"window"`
		TurnsWithoutProgress int      `json:"turnsWithoutProgress"`
	} `json:"turn"`
	Prompt   string `json:"prompt"`
	Expected struct {
		Push *bool   `json:"push"`
		Pop  *string `json:"pop"`
	} `json:"expected"`
	Why       string `json:"why"`
	Contested bool   `json:"contested"`
	Hard      bool   `json:"hard"`
}

// maxLine bounds a line of the file, in bytes.
const maxLine = 64 << 20

// lines decodes the lines of a file of JSON objects, and hands each to take.
func lines[Line any](in io.Reader, take func(Line) error) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	n, taken := 0, 0
	for scanner.Scan() {
		if n++; len(scanner.Bytes()) == 0 {
			continue
		}
		var line Line
		err := json.Unmarshal(scanner.Bytes(), &line)
		if err == nil {
			err = take(line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		taken++
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	if taken == 0 {
		return fmt.Errorf("the file is empty: one JSON object a line is expected")
	}
	return nil
}

// readTurns returns the cases of a file that count.
func readTurns(in io.Reader, which part) (list []turn, err error) {
	err = lines(in, func(t turn) error {
		switch {
		case t.ID == "":
			return fmt.Errorf("it has no id")
		case t.Point == "prompt" && t.Expected.Push == nil, t.Point == "turn_end" && t.Expected.Pop == nil, t.Point != "prompt" && t.Point != "turn_end":
			return fmt.Errorf("case %s has point %q without what is expected there", t.ID, t.Point)
		}
		if which(t.ID) && !t.Contested {
			list = append(list, t)
		}
		return nil
	})
	return list, err
}

// moment returns the case as flame sees it.
func (t turn) moment() evidence.Moment {
	m := evidence.Moment{
		Frame: evidence.Frame{
			Goal: t.Frame.Goal, Criteria: t.Frame.SuccessCriteria, Planned: t.Frame.PlannedChildren, Open: t.Frame.OpenChildren,
			Files: t.Turn.FilesChanged, Decisions: t.Frame.Decisions, Artifacts: t.Frame.Artifacts,
		},
		Recent: t.Recent, Prompt: t.Prompt,
	}
	for _, c := range t.Turn.Tools {
		m.Calls = append(m.Calls, evidence.Call{Tool: c.Name, Input: c.Input, OK: c.OK, Exit: c.Exit, Output: c.Output})
	}
	return m
}

// A verdict is the action at a moment: nothing, a push, or a pop with a status.
type verdict string

const (
	nothing verdict = "none"
	push    verdict = "push"
)

// expected returns the verdict of a careful person.
func (t turn) expected() verdict {
	switch {
	case t.Point != "prompt":
		return verdict(*t.Expected.Pop)
	case *t.Expected.Push:
		return push
	}
	return nothing
}

// A strategy gives a verdict on a case. finished reports that flame would end the frame as
// completed by itself, at level auto.
type strategy struct {
	name  string
	judge func(turn) (v verdict, finished bool)
}

// strategies are the measured ones: what flame suggests unasked, what the heuristics answer when they
// are asked, and always.
var strategies = []strategy{{"default", unasked}, {"asked", asked}, {"always", always}}

func unasked(t turn) (verdict, bool) {
	config, m := core.DefaultAutonomyConfig(), t.moment()
	if t.Point == "prompt" {
		return lo.Ternary(evidence.Push(m).Confidence >= config.PushThreshold, push, nothing), false
	}
	found := evidence.Pop(m)
	return lo.Ternary(found.Confidence >= config.PopThreshold, verdict(core.Completed), nothing), found.Proven
}

func asked(t turn) (verdict, bool) {
	config := core.DefaultAutonomyConfig()
	if t.Point == "prompt" {
		e := core.EvaluatePush(core.PushInput{
			Goal: t.Frame.Goal, PotentialGoal: t.Prompt, Messages: t.Frame.Messages, Files: t.Turn.FilesChanged, Errors: t.Turn.Errors, Tokens: t.Turn.Tokens,
		}, config)
		return lo.Ternary(e.Recommended, push, nothing), false
	}
	e := core.EvaluatePop(core.PopInput{
		Goal: t.Frame.Goal, Artifacts: t.Frame.Artifacts, NoProgressTurns: t.Turn.TurnsWithoutProgress, Tokens: t.Turn.Tokens, ContextLimit: t.Turn.Window,
	}, config)
	return lo.Ternary(e.Recommended, verdict(e.Status), nothing), false
}

func always(t turn) (verdict, bool) {
	return lo.Ternary(t.Point == "prompt", push, verdict(core.Completed)), true
}

// A count counts verdicts of one kind, or of several.
type count struct{ said, right, due int }

func (c *count) add(other count) {
	c.said, c.right, c.due = c.said+other.said, c.right+other.right, c.due+other.due
}

// precision is the share of verdicts that were right; 0 if there were none.
func (c count) precision() float64 { return share(c.right, c.said) }

// recall is the share of due verdicts that were found; 0 if none were due.
func (c count) recall() float64 { return share(c.right, c.due) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// A score is the result of one strategy.
type score struct {
	strategy   string
	kinds      map[verdict]count // of push, and of each way to pop
	unfinished int               // unfinished frames that level auto would end as completed
	failed     []failure
}

// A failure is a case with another verdict than the expected one.
type failure struct {
	turn
	said verdict
}

var pops = []verdict{verdict(core.Completed), verdict(core.Failed), verdict(core.Blocked)}

// pop returns the count of all pops: one is right if its kind is.
func (s score) pop() (sum count) {
	for _, kind := range pops {
		sum.add(s.kinds[kind])
	}
	return sum
}

// measure has a strategy judge all cases.
func measure(s strategy, cases []turn) score {
	result := score{strategy: s.name, kinds: map[verdict]count{}}
	for _, t := range cases {
		said, finished := s.judge(t)
		due := t.expected()
		if finished && due != verdict(core.Completed) {
			result.unfinished++
		}
		if said != nothing {
			c := result.kinds[said]
			c.said++
			result.kinds[said] = c
		}
		if due != nothing {
			c := result.kinds[due]
			c.due++
			result.kinds[due] = c
		}
		switch {
		case said != due:
			result.failed = append(result.failed, failure{t, said})
		case said != nothing:
			c := result.kinds[said]
			c.right++
			result.kinds[said] = c
		}
	}
	return result
}

// turns measures all strategies on the part of the cases, and prints the scores.
func turns(in io.Reader, which part, out io.Writer) error {
	cases, err := readTurns(in, which)
	if err != nil {
		return err
	}
	var scores []score
	for _, s := range strategies {
		scores = append(scores, measure(s, cases))
	}
	return writeTable(out, scores, len(cases))
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
