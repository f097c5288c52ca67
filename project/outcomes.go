package project

import "flame/core"

// How many frames are considered for composed summaries: frames that get one, and
// frames below them.
const (
	maxComposed = 50
	maxOutcomes = 200
)

// Outcomes returns what summaries can be composed of for those of these frames that
// ended without one.
func Outcomes(tx Tx, lists ...[]core.Frame) (core.Outcomes, error) {
	var bare []string
	for _, frames := range lists {
		for _, f := range frames {
			if f.Status.Ended() && f.Summary == "" && len(bare) < maxComposed {
				bare = append(bare, f.ID)
			}
		}
	}
	if len(bare) == 0 {
		return nil, nil
	}
	return tx.Outcomes(bare, maxOutcomes)
}
