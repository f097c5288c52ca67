package briefing

import (
	"flame/core"
	"flame/project"
)

// An Attempt is what an agent's frame was made for. Agents that attempt the same below
// one frame are to come to their answers by themselves, whenever each of them starts.
type Attempt struct {
	Task  string `json:"task,omitempty"`  // the same for agents that were given the same task
	Name  string `json:"name,omitempty"`  // the same for agents whose tasks were called the same
	After string `json:"after,omitempty"` // frame of the agent that it goes on for, whose answer it does see
}

// Attempts are by the id of the agent's frame.
const Attempts project.Kind[Attempt] = "attempt"

// A hiding is what an agent must not see: frames of other agents, by the parent that
// they have in common with its own frame.
type hiding map[string]Attempt

// hidden returns what is hidden from the agent that works in frame, below the ancestors
// given. An agent's frame belongs to another session than the one above, once its
// session is known.
func hidden(s *project.Step, frame core.Frame, ancestors []core.Frame) (hiding, error) {
	hides := hiding{}
	for i, above := range ancestors[:min(len(ancestors), 1+maxUncleTiers)] {
		if i == 0 || frame.Session != above.Session {
			var mine Attempt
			known, err := Attempts.Load(s.Tx, frame.ID, &mine)
			if err != nil {
				return nil, err
			}
			if known {
				hides[above.ID] = mine
			}
		}
		frame = above
	}
	return hides, nil
}

// hides reports whether a frame beside the agent's, or beside one above that, is hidden.
func (h hiding) hides(s *project.Step, frame core.Frame) (bool, error) {
	mine, some := h[frame.Parent]
	if !some {
		return false, nil
	}
	var theirs Attempt
	known, err := Attempts.Load(s.Tx, frame.ID, &theirs)
	same := mine.Task != "" && mine.Task == theirs.Task || mine.Name != "" && mine.Name == theirs.Name
	return known && same && frame.ID != mine.After, err
}

// visible returns the frames that are not hidden.
func (h hiding) visible(s *project.Step, frames []core.Frame) (kept []core.Frame, err error) {
	if len(h) == 0 {
		return frames, nil
	}
	for _, frame := range frames {
		hides, err := h.hides(s, frame)
		if err != nil {
			return nil, err
		}
		if !hides {
			kept = append(kept, frame)
		}
	}
	return kept, nil
}
