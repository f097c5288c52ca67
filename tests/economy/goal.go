package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"flame/tests/economy/work"
)

// A bound is where a figure may be.
type bound struct{ least, most float64 }

func atLeast(f float64) bound { return bound{f, math.Inf(1)} }
func atMost(f float64) bound  { return bound{math.Inf(-1), f} }

// about is a range of 5 percent around f.
func about(f float64) bound { return bound{0.95 * f, 1.05 * f} }

func (b bound) holds(figure float64) bool { return b.least <= figure && figure <= b.most }

func (b bound) String() string {
	switch {
	case math.IsInf(b.most, 1):
		return fmt.Sprintf(">= %g", b.least)
	case math.IsInf(b.least, -1):
		return fmt.Sprintf("<= %g", b.most)
	}
	return fmt.Sprintf("%.4g to %.4g", b.least, b.most)
}

// A goal bounds a figure of a variant.
type goal struct {
	host, variant string
	what          string
	// figure is the bounded figure, of the variant and of the same work without flame.
	figure func(with, without result) float64
	whole  bound // for the whole work
	// short bounds the first shortWork pieces of the work or more, which save less: -check fails
	// outside of it. Without short the goal is not met yet, and only reported.
	short *bound
	alone bool // the figure needs no work without flame beside it
}

// shortWork is the number of pieces that show flame's savings.
const shortWork = 6

func floor(f float64) *bound   { b := atLeast(f); return &b }
func ceiling(f float64) *bound { b := atMost(f); return &b }

const everything = "of goals, decisions, artifacts, summaries and the user's words in the last request"

// goals are flame's savings and cost limits. They also check that the work is as long as it was
// when they were set.
var goals = slices.Concat([]goal{
	{openCode, withoutFlame, "million tokens", inMillions, about(54.7), nil, false},
	{claudeCode, withoutFlame, "million tokens", inMillions, about(52.6), nil, false},
	{codexCLI, withoutFlame, "million tokens", inMillions, about(56), nil, false},
	{openCode, withFlame, "times fewer tokens", fewerTokens, atLeast(9.5), floor(2.5), false},
	{openCode, withFlame, "times fewer cached dollars", fewerDollars, atLeast(4.7), floor(1.6), false},
	{openCode, withFlame, "of decisions by word", decided, atLeast(1), floor(1), false},
	{openCode, withFlame, "times as much written to the cache", moreWritten, atMost(1.05), nil, false},
	{openCode, "FLAME_TRIM=old", "times fewer tokens", fewerTokens, atLeast(12), nil, false},
	{openCode, natively, "requests rejected", rejected, atMost(0), nil, false},
	{claudeCode, withFlame, "times as many tokens", moreTokens, atMost(1.05), nil, false},
	{claudeCode, behind, "times fewer tokens", fewerTokens, atLeast(8), floor(2.3), false},
	{claudeCode, behind, "times fewer cached dollars", fewerDollars, atLeast(4.3), floor(1.5), false},
	{claudeCode, behind, "times as much written to the cache", moreWritten, atMost(1.05), nil, false},
	{claudeCode, behindTrim, "times fewer tokens", fewerTokens, atLeast(9.5), nil, false},
	{claudeCode, natively, "requests rejected", rejected, atMost(0), nil, false},
	{openCode, withFlame + unasked, "times fewer tokens", fewerTokens, atLeast(3.5), nil, false},
	{openCode, withFlame + unasked, "times fewer cached dollars", fewerDollars, atLeast(2), nil, false},
	{claudeCode, behind + unasked, "times fewer tokens", fewerTokens, atLeast(3.5), nil, false},
	{claudeCode, behind + unasked, "times fewer cached dollars", fewerDollars, atLeast(2), nil, false},
	{openCode, withFlame + listed, "times fewer tokens", fewerTokens, atLeast(3.5), nil, false},
	{openCode, withFlame + listed, "times fewer cached dollars", fewerDollars, atLeast(2), nil, false},
	{claudeCode, behind + listed, "times fewer tokens", fewerTokens, atLeast(3.5), nil, false},
	{claudeCode, behind + listed, "times fewer cached dollars", fewerDollars, atLeast(2), nil, false},
	{codexCLI, withFlame, "times as many tokens", moreTokens, atMost(1.06), ceiling(1.1), false},
	{codexCLI, behindCodex, "times fewer tokens", fewerTokens, atLeast(8), floor(2.2), false},
	{codexCLI, behindCodex, "times fewer cached dollars", fewerDollars, atLeast(4.2), floor(1.4), false},
	{geminiCLI, withoutFlame, "million tokens", inMillions, about(25.5), nil, false},
	{geminiCLI, withFlame, "times as many tokens", moreTokens, atMost(1.07), ceiling(1.1), false},
	{geminiCLI, behindGemini, "times fewer tokens", fewerTokens, atLeast(3.5), nil, false},
	{geminiCLI, behindGemini, "times fewer cached dollars", fewerDollars, atLeast(2.6), nil, false},
},
	whole(openCode, withFlame), whole(claudeCode, withFlame), whole(claudeCode, behind), whole(codexCLI, behindCodex),
	sound(geminiCLI, behindGemini), // the client itself loses words of the user
	sound(openCode, withFlame+unasked), sound(claudeCode, behind+unasked),
	sound(openCode, withFlame+listed), sound(claudeCode, behind+listed),
)

// whole is sound, and loses nothing.
func whole(host, variant string) []goal {
	return append(sound(host, variant), goal{host, variant, everything, kept, atLeast(1), floor(1), true})
}

// sound is what flame must keep to in a variant, however little is done.
func sound(host, variant string) []goal {
	return []goal{
		{host, variant, "requests rejected", rejected, atMost(0), ceiling(0), true},
		{host, variant, "blocks of thinking dropped", dropped, atMost(0), ceiling(0), true},
		{host, variant, "bytes told again", toldAgain, atMost(0), ceiling(0), true},
		{host, variant, "tokens that flame counted otherwise than the model", miscounted, atMost(0), ceiling(0), true},
	}
}

func inMillions(with, _ result) float64         { return float64(with.Tokens) / 1e6 }
func fewerTokens(with, without result) float64  { return ratio(without.Tokens, with.Tokens) }
func moreTokens(with, without result) float64   { return ratio(with.Tokens, without.Tokens) }
func moreWritten(with, without result) float64  { return ratio(with.Written, without.Written) }
func fewerDollars(with, without result) float64 { return without.Cached / with.Cached }
func rejected(with, _ result) float64           { return float64(with.Rejected) }
func dropped(with, _ result) float64            { return float64(with.Dropped) }
func toldAgain(with, _ result) float64          { return float64(with.Twice) }
func miscounted(with, _ result) float64         { return float64(with.Miscounted) }
func decided(with, _ result) float64 {
	return ratio(with.Kept.Decisions.ByWord, with.Kept.Decisions.Of)
}

func kept(with, _ result) float64 {
	k, sum := with.Kept, share{}
	for _, s := range []share{k.Goals, k.Decisions, k.Artifacts, k.Summaries, k.Words} {
		sum.Of, sum.ByWord, sum.ByID = sum.Of+s.Of, sum.ByWord+s.ByWord, sum.ByID+s.ByID
	}
	return ratio(sum.ByWord+sum.ByID, sum.Of)
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// judge reports for each goal whether so many pieces of work met it, and returns the missed goals.
func (r results) judge(w io.Writer, pieces int) (broken []string) {
	for _, g := range goals {
		with, ok := r.find(g.host, g.variant)
		without, based := r.base(g.host, g.variant)
		if !ok || !based && !g.alone {
			continue
		}
		figure, wanted, verdict := g.figure(with, without), &g.whole, "met"
		if pieces < work.Pieces {
			wanted = g.short
		}
		switch {
		case wanted == nil || pieces < shortWork:
			continue // it has no bound for so little work
		case !wanted.holds(figure):
			verdict = "MISSED"
			broken = append(broken, g.host+", "+g.variant+": "+g.what)
		}
		fmt.Fprintf(w, "%-6s %s, %s: %.4g %s (%s)\n", verdict, g.host, g.variant, figure, g.what, wanted)
	}
	return broken
}
