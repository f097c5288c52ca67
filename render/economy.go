package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/core"
	"flame/transcripts/economy"
)

// kinds names what requests are made of, in the order in which people see it.
var kinds = []struct {
	kind economy.Kind
	name string
}{
	{economy.Fixed, "system prompt and descriptions of tools"},
	{economy.Words, "your words"},
	{economy.Answers, "answers of the model"},
	{economy.Calls, "calls of tools"},
	{economy.Outputs, "outputs of tools"},
	{economy.Added, "added by the host"},
}

// Economy shows where the tokens of a session went, what folding would have saved, and what to
// do about the rest, for a person who reads it at now.
func Economy(r economy.Report, now core.Millis) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s, %s to %s: %s sent, %s written, %s", Count(r.Requests, "request"), Count(r.Conversations, "conversation"),
		Time(r.From, now), Time(r.To, now), core.Tokens(r.Sent), core.Amount(r.Written),
		core.Cost(core.Usage{TokensIn: r.Sent, CostUSD: r.CostUSD, Unpriced: r.Unpriced}))
	fmt.Fprintf(&b, "\nlargest request: %s; %s\n\nWhere they went\n", core.Tokens(r.Largest), Count(r.Compactions, "compaction"))
	rows := []string{}
	row := func(name string, sent int64) {
		if sent > 0 {
			rows = append(rows, fmt.Sprintf("  %s\t%s\t%s", name, core.Amount(sent), core.Percent(sent, r.Sent)))
		}
	}
	for _, k := range kinds {
		row(k.name, r.Kinds[k.kind])
		if k.kind == economy.Outputs {
			for _, tool := range r.Tools[:min(economy.MaxListed, len(r.Tools))] {
				row("  "+Count(tool.Calls, "call")+" of "+oneWord(tool.Tool), tool.Sent)
			}
		}
	}
	row("of the outputs: sent after their last use", r.Unused)
	row("of the outputs: sent after the same call was made again", r.Repeated)
	b.WriteString(Table(0, rows))
	if len(r.Top) > 0 {
		b.WriteString("\nThe outputs that cost most\n")
		b.WriteString(Table(0, lo.Map(r.Top, func(o economy.Output, _ int) string {
			return fmt.Sprintf("  %s\t%s in %s\t%s %s", core.Amount(o.Sent), core.Amount(o.Tokens), Count(o.Requests, "request"), oneWord(o.Tool), Short(o.Of))
		})))
	}
	return strings.Join(append([]string{b.String() + "\n" + strings.TrimSuffix(folded(r)+advice(r), "\n")}, r.Unread...), "\nnot read: ") + "\n"
}

// folded says what folding would have changed.
func folded(r economy.Report) string {
	f := r.Folding
	switch {
	case f.Frames == 0:
		return "Folding: no prompt with much work was two prompts behind, so there was nothing to fold.\n"
	case f.LeftOut == 0:
		return fmt.Sprintf("Folding the work of earlier prompts (%s) would have left out less than the %s that flame itself adds.\n",
			Count(f.Frames, "prompt"), core.Tokens(f.Own))
	}
	return fmt.Sprintf("Folding the work of earlier prompts (%s): %s sent instead of %s, %s; flame's own part in it %s; largest request %s\n",
		Count(f.Frames, "prompt"), core.Tokens(f.Sent), core.Amount(r.Sent), core.Less(float64(r.Sent)/float64(f.Sent)), core.Amount(f.Own), core.Amount(f.Largest))
}

// An adviceAbove says what to do when a part of all tokens is at least so large.
type adviceAbove struct {
	part  func(r economy.Report) int64
	least float64
	text  string
}

var advices = []adviceAbove{
	{
		func(r economy.Report) int64 { return r.Folding.LeftOut }, 0.1,
		"fold finished work: `flame setup` in a host whose plugin can, or start the host behind flame's gateway (docs/economy.md)",
	},
	{
		func(r economy.Report) int64 { return r.Unused }, 0.2,
		"split long work into frames: flame folds a frame that has ended, with the outputs that nothing uses any more",
	},
	{
		func(r economy.Report) int64 { return r.Repeated }, 0.05,
		"leave out outputs that a later call repeats: " + env.Trim + "=superseded",
	},
	{
		func(r economy.Report) int64 { return r.Kinds[economy.Fixed] }, 0.3,
		"turn off MCP servers, plugins and skills that this project does not need: each request carries their descriptions",
	},
	{
		func(r economy.Report) int64 { return lo.FirstOrEmpty(r.Top).Sent }, 0.05,
		"ask for parts of large outputs: lines of a file, a filter behind a command",
	},
}

// advice says what to do, the largest part first.
func advice(r economy.Report) string {
	useful := lo.Filter(advices, func(a adviceAbove, _ int) bool { return float64(a.part(r)) >= a.least*float64(r.Sent) })
	if len(useful) == 0 {
		return ""
	}
	slices.SortStableFunc(useful, func(a, b adviceAbove) int { return cmp.Compare(b.part(r), a.part(r)) })
	return "\nWhat to do\n" + strings.Join(lo.Map(useful, func(a adviceAbove, _ int) string {
		return fmt.Sprintf("- %s (%s of all tokens)\n", a.text, core.Percent(a.part(r), r.Sent))
	}), "")
}

// oneWord cuts a name that a log gives to the length of a name.
func oneWord(name string) string { return core.OneLine(name, 40) }
