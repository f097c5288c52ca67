package judge

import (
	"slices"

	"flame/core"
)

// Begins reports whether a prompt says in so many words that a planned piece of work is to
// begin now, so that it may be begun without asking anybody: "now the exporter", "write the
// exporter". That it is only spoken of, compared with or put off is not enough.
func Begins(prompt, goal string) bool {
	own := stems(core.Cut(goal, maxMessage))
	for _, s := range statements(core.Cut(prompt, maxPrompt)) {
		if s.asks || slices.ContainsFunc(s.words, func(word string) bool { return puttingOff.has(word) || defectWords.has(word) || notNow.has(word) }) {
			continue
		}
		words := s.words
		for len(words) > 1 && (closing.has(words[0]) || overWords.has(words[0]) || fillers.has(words[0]) || leading.has(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 || !slices.ContainsFunc(words, func(word string) bool { return slices.Contains(own, stemOf(word)) }) {
			continue
		}
		if starting.has(words[0]) || slices.Contains(own, stemOf(words[0])) && len(words) <= maxOrder {
			return true
		}
	}
	return false
}

// maxOrder is how many words an order without a verb has at most: longer ones tell
// something of the piece.
const maxOrder = 6

var (
	leading  = wordSet(`the a an with on to go move continue proceed pick up over`)
	starting = wordSet(`do start begin take tackle build write implement create make train run`)
	notNow   = wordSet(`after later tomorrow when once until unless if than same like instead estimate sure typo rename plan nach später morgen`)
)
