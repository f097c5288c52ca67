package fold

import (
	"cmp"

	"flame/core"
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

// pays returns those of the folds that save more than they cost. Each request to come
// reads the less from the cache; but once, all behind the first cut has to be written
// into it again. As that is so for any further cut behind the first, they are decided
// on together: from the cut on that saves most.
func (f *folding) pays(found []Fold) []Fold {
	if f.terms.Cold || len(found) == 0 {
		return found
	}
	prices := Prices{cmp.Or(f.terms.Prices.Read, UsualPrices.Read), cmp.Or(f.terms.Prices.Write, UsualPrices.Write)}
	requests := requestsToCome
	if answers := f.answers(); answers > requests {
		requests = answers
	}
	at := places(f.history)
	best, most := len(found), 0.0
	left, i, behind := 0, len(f.history), 0
	for k := len(found) - 1; k >= 0; k-- {
		for cut := at[found[k].Drop[0]]; i > cut; {
			if i--; !f.gone[i] {
				behind += f.history[i].tokens()
			}
		}
		left += found[k].Tokens
		saved := float64(requests)*float64(left)*prices.Read - float64(behind-left)*(prices.Write-prices.Read)
		if saved > most {
			best, most = k, saved
		}
	}
	return found[best:]
}

// answers returns how many answers of the model the history has.
func (f *folding) answers() (n int) {
	for i := range f.history {
		if f.history[i].Role == core.RoleAssistant {
			n++
		}
	}
	return n
}

func (m *Message) tokens() int { return max(1, m.Tokens) }
