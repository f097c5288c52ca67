package op

import (
	"regexp"
	"strings"
	"sync"

	"flame/core"
)

// A Move is what a call's answer says about the frame that the call entered or left.
type Move struct {
	Leaves bool
	Frame  string // id
	Rest   string // of a pop's answer that says which new frame it began: the answer without that line
}

// MovePatterns are the patterns of answers to calls that move between frames, for Go and JavaScript.
// Text of frames is quoted and on one line, so that it cannot look like these.
type MovePatterns struct {
	Starts string `json:"starts"` // the beginning of an answer that enters a frame
	Ends   string `json:"ends"`   // the beginning of an answer to a pop that leaves one
	GoesOn string `json:"goesOn"` // the line of that answer that names the next frame
	Began  string `json:"began"`  // the same, with the line break before it, if that frame is new
}

// PatternsOfMoves returns these patterns.
func PatternsOfMoves() MovePatterns {
	var ended []string
	for _, s := range core.Statuses {
		if s.Ended() {
			ended = append(ended, string(s))
		}
	}
	return MovePatterns{
		Starts: `^(?:Started )?(\S+) `, Ends: `^(\S+) is (?:` + strings.Join(ended, "|") + `)\b`, GoesOn: `^(?:Started|Activated) (\S+) `,
		Began: `\nStarted \S+ as your current frame\.$`,
	}
}

var (
	moveStarts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(PatternsOfMoves().Starts) })
	moveEnds   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(PatternsOfMoves().Ends) })
	moveGoesOn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)` + PatternsOfMoves().GoesOn) })
	moveBegan  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)` + PatternsOfMoves().Began) })
)

// ParseMoves returns the frames that a call entered and left, by its answer. There are none if the
// call failed, or if it is a pop that waits for a summary.
func ParseMoves(called Name, answer string) []Move {
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
		if rest := moveBegan().ReplaceAllString(answer, ""); rest != answer {
			moves[0].Rest = rest
		}
		return moves
	}
	return nil
}
