package project

import (
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/outline"
	"flame/core/summaries"
)

// PageSize is how many frames a page has: 500 take some 10 ms to read.
const PageSize = 500

// EachFrame calls f for the frames of links, in their order. It holds no more than a
// page of them in memory.
func EachFrame(tx Tx, links []outline.Link, f func(core.Frame) error) error {
	for page := range slices.Chunk(links, PageSize) {
		keys := lo.Map(page, func(link outline.Link, _ int) int64 { return link.Key })
		frames, err := tx.FramesAt(keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			frame, there := frames[key]
			if !there {
				continue
			}
			if err := f(frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachBelow calls f for a frame and all frames below it, archived ones included. It
// holds no more than a page of them in memory.
func EachBelow(tx Tx, id string, f func(core.Frame) error) error {
	if id == "" {
		return nil
	}
	links, err := tx.Links(FrameQuery{Under: id, Archived: true})
	if err != nil {
		return err
	}
	return EachFrame(tx, links, f)
}

// Total adds up counts by status.
func Total(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// CountChildren counts the children of a frame by status; archived ones do not count.
func CountChildren(tx Frames, id string) (map[core.Status]int, error) {
	if id == "" {
		return nil, nil // no frame is below it; as a query it would not restrict
	}
	return tx.CountFrames(FrameQuery{Parent: id})
}

// Limits of the frames that flame reads for composed summaries.
const (
	maxComposed = 50  // frames that get a composed summary
	maxOutcomes = 200 // frames below those
	minOutcomes = 5   // frames below one parent, at least
	maxDeciding = 3   // finished frames of one kind with a summary, below which flame looks for decisions all the same
)

// Outcomes returns the frames from which summaries can be composed, for those of these
// frames that ended without a summary.
func Outcomes(tx Tx, frames []core.Frame) (summaries.EndedByParent, error) {
	return endedBelow(tx, bare(frames), nil)
}

// AddOutcomes adds the outcomes below the finished frames around a frame: composed summaries
// for those that ended without a summary, and the decisions below those and the latest of
// the others.
func AddOutcomes(tx Tx, around *core.ContextInput) error {
	parts := [][]core.Frame{around.Children, around.Siblings, around.Uncles}
	var without, with []string
	for _, frames := range parts {
		without = append(without, bare(frames)...)
		for i := range frames[:min(len(frames), maxDeciding)] {
			if frames[i].Summary != "" {
				with = append(with, frames[i].ID)
			}
		}
	}
	below, err := endedBelow(tx, without, with)
	if err != nil || len(below) == 0 {
		return err
	}
	told := map[string]bool{} // decisions that the context shows elsewhere
	for _, list := range below {
		for _, f := range list {
			core.MarkDecisionsShown(told, f.Decisions)
		}
	}
	around.Below, around.Composed = below, map[string]string{}
	for _, frames := range parts {
		for i := range frames {
			if summary := below.Compose(&frames[i], told, summaries.MaxChars); summary != "" {
				around.Composed[frames[i].ID] = summary
			}
		}
	}
	return nil
}

// bare returns the ids of the frames that ended without a summary.
func bare(frames []core.Frame) []string {
	return lo.FilterMap(frames, func(f core.Frame, _ int) (string, bool) { return f.ID, f.Status.Ended() && f.Summary == "" })
}

func endedBelow(tx Tx, without, with []string) (summaries.EndedByParent, error) {
	if len(without)+len(with) == 0 {
		return nil, nil
	}
	of := OutcomeQuery{Below: without[:min(len(without), maxComposed)], Summarized: with, Each: minOutcomes, Limit: maxOutcomes}
	if len(with) == 0 { // one more than the text shows, to learn whether there are others
		of.Each = max(minOutcomes, min(summaries.MaxPerParent+1, maxOutcomes/len(of.Below)))
	}
	return tx.Outcomes(of)
}

// ComposeSummaries gives the frames that ended without a summary one composed of the outcomes
// below them. These summaries are for readers; callers must not store them. ComposeSummaries
// returns the ids of those frames.
func ComposeSummaries(tx Tx, frames ...*core.Frame) (composed map[string]bool, err error) {
	outcomes, err := Outcomes(tx, lo.Map(frames, func(f *core.Frame, _ int) core.Frame { return *f }))
	if err != nil {
		return nil, err
	}
	composed = map[string]bool{}
	for _, f := range frames {
		if summary := outcomes.Compose(f, map[string]bool{}, summaries.MaxChars); summary != "" {
			f.Summary, composed[f.ID] = summary, true
		}
	}
	return composed, nil
}

// OutcomesBelow returns the frames that ended below a frame, with or without a summary of
// its own, and how many frames directly below it ended.
func OutcomesBelow(tx Tx, id string) (below summaries.EndedByParent, ended int, err error) {
	if below, err = tx.Outcomes(OutcomeQuery{Below: []string{id}, Each: summaries.MaxPerParent + 1, Limit: maxOutcomes}); err != nil || len(below) == 0 {
		return nil, 0, err
	}
	ended, err = CountEnded(tx, id)
	return below, ended, err
}

// CountEnded returns how many frames directly below a frame have ended.
func CountEnded(tx Tx, id string) (ended int, err error) {
	counts, err := CountChildren(tx, id)
	for status, n := range counts {
		if status.Ended() {
			ended += n
		}
	}
	return ended, err
}

// Limits of the frames that flame reads for a closing.
const (
	maxBeneath     = 500
	maxBeneathEach = 100 // below one parent
)

// ContinuationOf returns what the next agent needs to know about a root that ended. ok is false
// if there is nothing below the root, so that the frame itself says everything.
func ContinuationOf(tx Tx, root core.Frame) (c summaries.Continuation, ok bool, err error) {
	c.Root = root
	below, err := tx.Outcomes(OutcomeQuery{All: root.ID, Each: maxBeneathEach, Limit: maxBeneath})
	if err != nil || len(below) == 0 {
		return c, false, err
	}
	c.Below = slices.Concat(slices.Collect(maps.Values(below))...)
	type kind struct {
		parent string
		ended  bool
	}
	counts := map[kind]int{}
	c.More = len(c.Below) >= maxBeneath
	for _, f := range c.Below {
		of := kind{f.Parent, f.Status.Ended()}
		counts[of]++
		c.More = c.More || counts[of] >= maxBeneathEach
	}
	return c, true, nil
}
