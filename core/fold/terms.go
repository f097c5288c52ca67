package fold

import "cmp"

// Prices are what a model's API asks for a token of a request, relative to one that the
// cache neither has nor gets.
type Prices struct {
	Read  float64 `json:"read"`  // from the cache
	Write float64 `json:"write"` // into it
}

// UsualPrices are those of Anthropic's models, but for the newest that ask less for
// reading.
var UsualPrices = Prices{Read: 0.1, Write: 1.25}

// Terms are what a fold depends on, beside history and tree.
type Terms struct {
	Prices Prices
	Cold   bool // the cache has nothing of the conversation any more
	// Leads says that the model's API wants a round of tools that is in progress to
	// begin with its thinking: then a frame folds once a round follows that which
	// left it.
	Leads bool
}

// requestsToCome is how many requests a conversation is expected to send still, at
// least; one that has sent more is expected to go on for as long again.
const requestsToCome = 20

// A saving is what an edit of a history leaves out of the requests to come.
type saving struct {
	from   int // the first message that it changes or leaves out
	tokens int
}

// firstToPay returns the first of the savings, which are in order, from which on they save
// most; gone has what is left out already. Where the cache is cold, all save. Each request
// to come reads the less from the cache; but once, all behind the first has to be written
// into it again. As that is so for any further one behind the first, they are decided on
// together.
func (t Terms) firstToPay(history []Message, gone []*Fold, savings []saving, requests int) int {
	if t.Cold {
		return 0
	}
	read, write := cmp.Or(t.Prices.Read, UsualPrices.Read), cmp.Or(t.Prices.Write, UsualPrices.Write)
	best, most := len(savings), 0.0
	left, i, behind := 0, len(history), 0
	for k := len(savings) - 1; k >= 0; k-- {
		for i > savings[k].from {
			if i--; gone[i] == nil {
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
