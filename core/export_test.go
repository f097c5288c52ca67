package core

// What only tests look at by itself: the scores and selections that a context is
// made with, which the goldens hold one by one.

// MinContext is the least Total, in tokens, that a context can be made of with
// ids of up to 64 characters and an Overhead of up to 200; four times that is
// the least limit in characters. Below, the text may be empty.
const MinContext = 300

// ScoreAncestor weighs a frame above another: depth 0 is the immediate parent.
func ScoreAncestor(f Frame, depth int, now Millis) float64 { return scoreAncestor(&f, depth, now) }

// ScoreSibling weighs a finished frame by what it has to say to one with this goal.
func ScoreSibling(f Frame, goal string, now Millis) float64 {
	return scoreSibling(&f, Keywords(goal), now)
}

// A Selection is the frames that a budget admits.
type Selection struct {
	Frames []Frame
	Left   int // how many were left out
	Tokens int // estimate of those selected
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

func pointers(frames []Frame) []*Frame {
	list := make([]*Frame, len(frames))
	for i := range frames {
		list[i] = &frames[i]
	}
	return list
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
