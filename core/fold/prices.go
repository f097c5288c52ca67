package fold

import (
	"cmp"
)

// Prices are what a model's API asks for a token of a request, relative to one that the
// cache neither has nor gets.
type Prices struct {
	Read  float64 `json:"read"`  // from the cache
	Write float64 `json:"write"` // into it
}

// UsualPrices are those of Anthropic's models, but for the newest that ask less for
// reading.
var UsualPrices = Prices{Read: 0.1, Write: 1.25}

// requestsToCome is how many requests a conversation is expected to send still, at
// least; one that has sent more is expected to go on for as long again.
const requestsToCome = 20

// A saving is what an edit of a history leaves out of the requests to come.
type saving struct {
	from   int // the first message that it changes or leaves out
	tokens int
}

// best returns the first of the savings, which are in order, from which on they save
// most. Each request to come reads the less from the cache; but once, all behind the
// first has to be written into it again. As that is so for any further one behind the
// first, they are decided on together.
func (p Prices) best(history []Message, stays func(i int) bool, savings []saving, requests int) int {
	read, write := cmp.Or(p.Read, UsualPrices.Read), cmp.Or(p.Write, UsualPrices.Write)
	best, most := len(savings), 0.0
	left, i, behind := 0, len(history), 0
	for k := len(savings) - 1; k >= 0; k-- {
		for i > savings[k].from {
			if i--; stays(i) {
				behind += history[i].tokens()
			}
		}
		left += savings[k].tokens
		saved := float64(requests)*float64(left)*read - float64(behind-left)*(write-read)
		if saved > most {
			best, most = k, saved
		}
	}
	return best
}

func (m *Message) tokens() int { return max(1, m.Tokens) }
