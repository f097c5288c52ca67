package op

import (
	"regexp"
	"sync"
)

// A Move is what the answer of a call says of the frame that it entered or left.
type Move struct {
	Leaves bool
	Frame  string // id
}

// How the answers of the calls that move between frames begin, and the line of a pop that
// says with which frame it went on. Text of frames stands within quotes on one line, so
// that it cannot look like that.
var (
	moveStarts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Started )?(\S+) `) })
	moveEnds   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+) is (?:completed|failed|blocked)\b`) })
	moveGoesOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:Started|Activated) (\S+) `) })
)

// ReadMoves returns which frames a call entered and left, by its answer: none if it failed,
// or if it is a pop that waits for a summary.
func ReadMoves(called Name, answer string) []Move {
	switch called {
	case Push, Activate:
		if found := moveStarts().FindStringSubmatch(answer); found != nil {
			return []Move{{Frame: found[1]}}
		}
	case Pop:
		found := moveEnds().FindStringSubmatch(answer)
		if found == nil {
			return nil
		}
		moves := []Move{{Leaves: true, Frame: found[1]}}
		if next := moveGoesOn().FindStringSubmatch(answer); next != nil {
			moves = append(moves, Move{Frame: next[1]})
		}
		return moves
	}
	return nil
}
