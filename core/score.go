package core

import (
	"cmp"
	"slices"
	"strings"
)

// DefaultMinRelevance is the score below which a finished frame is not worth a
// place in another's context (seeds, phase 1.2).
const DefaultMinRelevance = 30.0

// A Selection is the frames that a budget admits.
type Selection struct {
	Frames []Frame
	Left   int // how many were left out
	Tokens int // estimate of those selected
}

// ScoreAncestor weighs a frame above another: depth 0 is the immediate parent
// (spec: context §4). A time in the future counts as now.
func ScoreAncestor(f Frame, depth int, now Millis) float64 { return scoreAncestor(&f, depth, now) }

func scoreAncestor(f *Frame, depth int, now Millis) float64 {
	score := max(0, 100-20*float64(depth))
	switch depth {
	case 0:
		score = 1000
	case 1:
		score = 500
	}
	score += max(0, 50-hoursSince(f.UpdatedAt, now))
	score += ancestorStatusPoints[f.Status]
	if f.Summary != "" {
		score += 20
	}
	if len(f.Artifacts) > 0 {
		score += 10
	}
	return score
}

var (
	ancestorStatusPoints = map[Status]float64{InProgress: 30, Completed: 10}
	siblingStatusPoints  = map[Status]float64{Completed: 20, Failed: 15}
)

// hoursSince returns the hours from t to now, none for a time in the future.
func hoursSince(t, now Millis) float64 { return float64(max(0, now-t)) / 3_600_000 }

// ScoreSibling weighs a finished frame by what it has to say to one with this
// goal (spec: context §5). A time in the future counts as now.
func ScoreSibling(f Frame, goal string, now Millis) float64 {
	return scoreSibling(&f, Keywords(goal), now)
}

func scoreSibling(f *Frame, keywords []string, now Millis) float64 {
	score := max(0, 100-10*hoursSince(f.UpdatedAt, now)) + siblingStatusPoints[f.Status]
	if f.Summary != "" {
		score += 30
	}
	if len(f.Artifacts) > 0 {
		score += 15
	}
	if len(keywords) == 0 {
		return score
	}
	goal, summary := strings.ToLower(f.Goal), strings.ToLower(f.Summary)
	artifacts := strings.ToLower(strings.Join(f.Artifacts, " "))
	for _, keyword := range keywords {
		if hasWord(goal, keyword) {
			score += 20
		}
		if hasWord(summary, keyword) {
			score += 10
		}
		if strings.Contains(artifacts, keyword) {
			score += 25
		}
	}
	return score
}

// SelectAncestors picks the ancestors that a budget of tokens admits, and gives
// them root first. The immediate parent is always among them; if it does not
// fit it takes the whole budget, to be cut when it is printed.
func SelectAncestors(parentFirst []Frame, budget int, now Millis) Selection {
	budget = max(0, budget)
	taken, used := take(rankAncestors(parentFirst, now), budget, func(c *candidate, _ int) int {
		price := estimateFrame(c.frame)
		if c.rank == 0 {
			price = min(price, budget)
		}
		return price
	})
	rootFirst(taken)
	return selection(taken, len(parentFirst), used)
}

// SelectSiblings picks the frames of at least minRelevance that a budget of
// tokens admits, the best for this goal before others, and gives those that
// changed last first.
func SelectSiblings(siblings []Frame, budget int, goal string, minRelevance float64, now Millis) Selection {
	ranked := rankSiblings(pointers(siblings), Keywords(goal), minRelevance, now)
	taken, used := take(ranked, budget, func(c *candidate, _ int) int { return estimateFrame(c.frame) })
	recentFirst(taken)
	return selection(taken, len(siblings), used)
}

func selection(taken []*candidate, of, tokens int) Selection {
	s := Selection{Frames: make([]Frame, len(taken)), Left: of - len(taken), Tokens: tokens}
	for i, c := range taken {
		s.Frames[i] = *c.frame
	}
	return s
}

// a candidate is a frame that may enter a context.
type candidate struct {
	frame *Frame
	rank  int // of an ancestor its depth, of a finished frame its part's place in finishedParts
	score float64
	shown rendering // as a context prints it
}

// rankAncestors returns the ancestors in the order in which they are tried: the
// parent, then the best, the nearer one before its equal.
func rankAncestors(parentFirst []Frame, now Millis) []*candidate {
	ranked := make([]*candidate, len(parentFirst))
	for i := range parentFirst {
		ranked[i] = &candidate{frame: &parentFirst[i], rank: i, score: scoreAncestor(&parentFirst[i], i, now)}
	}
	if len(ranked) > 1 {
		bestFirst(ranked[1:])
	}
	return ranked
}

// rankSiblings returns the frames of at least minRelevance, the best first and
// equals in their given order.
func rankSiblings(frames []*Frame, keywords []string, minRelevance float64, now Millis) []*candidate {
	ranked := make([]*candidate, 0, len(frames))
	for _, f := range frames {
		if score := scoreSibling(f, keywords, now); score >= minRelevance {
			ranked = append(ranked, &candidate{frame: f, score: score})
		}
	}
	bestFirst(ranked)
	return ranked
}

func pointers(frames []Frame) []*Frame {
	list := make([]*Frame, len(frames))
	for i := range frames {
		list[i] = &frames[i]
	}
	return list
}

// take walks the ranked frames and takes each whose price the room left admits;
// after one that does not fit, a cheaper one may.
func take(ranked []*candidate, room int, price func(c *candidate, left int) int) (taken []*candidate, used int) {
	for _, c := range ranked {
		if p := price(c, room-used); p <= room-used {
			taken = append(taken, c)
			used += p
		}
	}
	return taken, used
}

func bestFirst(list []*candidate) {
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(b.score, a.score) })
}

func rootFirst(list []*candidate) {
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(b.rank, a.rank) })
}

func recentFirst(list []*candidate) {
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(b.frame.UpdatedAt, a.frame.UpdatedAt) })
}

// estimateFrame returns the tokens of goal, summary and artifacts in full.
func estimateFrame(f *Frame) int {
	n := units(f.Goal)
	if f.Summary != "" {
		n += len(" ") + units(f.Summary)
	}
	for _, artifact := range f.Artifacts {
		n += units(artifact)
	}
	if k := len(f.Artifacts); k > 0 {
		n += len(" ") + (k-1)*len(", ")
	}
	return tokensOf(n)
}
