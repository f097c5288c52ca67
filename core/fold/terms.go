package fold

import "cmp"

// Prices are a model's prices for a token of a request that is read from or written into the
// cache, relative to an uncached token.
type Prices struct {
	Read  float64 `json:"read"`  // from the cache
	Write float64 `json:"write"` // into it
}

// UsualPrices are the prices of Anthropic's models; the newest ask less for reading.
var UsualPrices = Prices{Read: 0.1, Write: 1.25}

// Conditions are the conditions of a fold beside history and tree.
type Conditions struct {
	Prices Prices
	Cold   bool // the cache no longer has anything of the conversation
	// Leads says that the model's API requires a round of tools in progress to begin with
	// its thinking. Then a frame folds only when another round follows the one that left it.
	Leads bool
	// Holds says that nothing new is left out of this request: the API would refuse the round of
	// tools in progress without its thinking, which the edit of its past would cost.
	Holds bool
}

// RequestsToCome is the least number of further requests that flame expects of a conversation.
// If the conversation has sent more already, flame expects as many again.
const RequestsToCome = 20

// A savingPerRequest is how much an edit of a history leaves out of each later request.
type savingPerRequest struct {
	from   int // the first message that the edit changes or leaves out
	tokens int
}

// firstToPay returns the index of the saving from which on the savings, which are in order, save
// most; gone has the messages that are left out already. With a cold cache all of them pay. Each
// later request reads less from the cache, but one request has to write everything behind the
// first edit into the cache again. Edits behind the first add nothing to that cost, so the
// function decides about them together.
func (t Conditions) firstToPay(history []Message, gone []*Fold, savings []savingPerRequest, requests int) int {
	if t.Cold {
		return 0
	}
	prices := Prices{cmp.Or(t.Prices.Read, UsualPrices.Read), cmp.Or(t.Prices.Write, UsualPrices.Write)}
	best, most := len(savings), 0.0
	left, i, behind := 0, len(history), 0
	for k := len(savings) - 1; k >= 0; k-- {
		for i > savings[k].from {
			if i--; gone[i] == nil {
				behind += history[i].tokens()
			}
		}
		left += savings[k].tokens
		if saved := prices.Saved(left, behind-left, requests); saved > most {
			best, most = k, saved
		}
	}
	return best
}

// Saved returns what it saves, in tokens of input that no cache has, to leave tokens out of so many
// requests, if the first of them writes what stays behind them into the cache again.
func (p Prices) Saved(tokens, behind, requests int) float64 {
	return float64(requests)*float64(tokens)*p.Read - float64(behind)*(p.Write-p.Read)
}

func (m *Message) tokens() int { return max(1, m.Tokens) }
