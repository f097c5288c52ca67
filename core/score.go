package core

import (
	"cmp"
	"slices"
	"strings"
)

// DefaultMinRelevance is the least score with which a finished frame enters
// another frame's context (the first description).
const DefaultMinRelevance = 30.0

// scoreAncestor scores an ancestor: depth 0 is the parent. A
// time in the future counts as now.
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

// hoursSince returns the hours from t to now, 0 for a time in the future.
func hoursSince(t, now Millis) float64 { return float64(max(0, now-t)) / 3_600_000 }

// scoreSibling scores a finished frame by its relevance to a frame whose goal
// has these keywords. A time in the future counts as now.
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

// A candidate is a frame that may enter a context.
type candidate struct {
	frame *Frame
	rank  int // an ancestor's depth, or the index of a finished frame's part in finishedTags
	score float64
	shown xmlText          // as the context prints it
	tells []shownDecisions // decisions in shown, unless their fields are cut
}

// rankAncestors returns the parent, then the other ancestors by score, the
// nearer one first on a tie.
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

// rankSiblings returns the frames with a score of at least minRelevance, the
// best first. Frames with equal scores keep their order.
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

// take takes each of the ranked frames whose price fits the remaining room. A
// cheaper frame may fit after one that does not.
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
