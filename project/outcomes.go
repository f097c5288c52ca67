package project

import (
	"flame/core"
	"flame/core/closing"
	"flame/core/outcome"
)

// How many frames are considered for composed summaries: frames that get one, frames
// below them, and of these so many at least of one parent.
const (
	maxComposed = 50
	maxOutcomes = 200
	minOutcomes = 5
	maxDeciding = 3 // finished frames of one kind below which decisions are looked for although they have a summary
)

// Outcomes returns what summaries can be composed of for those of these frames that
// ended without one.
func Outcomes(tx Tx, frames []core.Frame) (outcome.Below, error) {
	return endedBelow(tx, bare(frames), nil)
}

// TellBelow adds what was done below the finished frames around one: summaries of those
// that ended without one, and what was decided below those and the latest of the others.
func TellBelow(tx Tx, around *core.Surroundings) error {
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
	told := map[string]bool{} // where they bind, or in the entry of the frame above
	for _, list := range below {
		for _, f := range list {
			core.Tell(told, f.Decisions)
		}
	}
	around.Below, around.Composed = below, map[string]string{}
	for _, frames := range parts {
		for i := range frames {
			if summary := below.Compose(&frames[i], told, outcome.Room); summary != "" {
				around.Composed[frames[i].ID] = summary
			}
		}
	}
	return nil
}

func bare(frames []core.Frame) (ids []string) {
	for _, f := range frames {
		if f.Status.Ended() && f.Summary == "" {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func endedBelow(tx Tx, without, with []string) (outcome.Below, error) {
	if len(without)+len(with) == 0 {
		return nil, nil
	}
	of := Ended{Below: without[:min(len(without), maxComposed)], Summarized: with, Each: minOutcomes, Limit: maxOutcomes}
	if len(with) == 0 { // one more than is told says that there are others
		of.Each = max(minOutcomes, min(outcome.Each+1, maxOutcomes/len(of.Below)))
	}
	return tx.Outcomes(of)
}

// ComposeAll gives those of the frames that ended without a summary one composed of what
// was done below them, to be read and not stored. It returns their ids.
func ComposeAll(tx Tx, frames ...*core.Frame) (composed map[string]bool, err error) {
	list := make([]core.Frame, len(frames))
	for i, f := range frames {
		list[i] = *f
	}
	outcomes, err := Outcomes(tx, list)
	if err != nil {
		return nil, err
	}
	composed = map[string]bool{}
	for _, f := range frames {
		if summary := outcomes.Compose(f, map[string]bool{}, outcome.Room); summary != "" {
			f.Summary, composed[f.ID] = summary, true
		}
	}
	return composed, nil
}

// OutcomesBelow returns what ended below one frame, whatever summary that has, and how
// many frames directly below it have.
func OutcomesBelow(tx Tx, id string) (below outcome.Below, ended int, err error) {
	if below, err = tx.Outcomes(Ended{Below: []string{id}, Each: outcome.Each + 1, Limit: maxOutcomes}); err != nil || len(below) == 0 {
		return nil, 0, err
	}
	counts, err := CountChildren(tx, []string{id})
	for status, n := range counts[id] {
		if status.Ended() {
			ended += n
		}
	}
	return below, ended, err
}

// How many frames are considered for a closing, and of one parent.
const (
	maxBeneath     = 500
	maxBeneathEach = 100
)

// ClosingOf returns what a root leaves to those who go on; ok is false if there is nothing
// below it, so that the frame itself says it all.
func ClosingOf(tx Tx, root core.Frame) (c closing.Closing, ok bool, err error) {
	c.Root = root
	below, err := tx.Outcomes(Ended{All: root.ID, Each: maxBeneathEach, Limit: maxBeneath})
	if err != nil || len(below) == 0 {
		return c, false, err
	}
	for _, list := range below {
		c.Below = append(c.Below, list...)
	}
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
