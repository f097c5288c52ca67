package judge

import (
	"slices"
	"strings"

	"flame/core"
)

// AsksForMore reports whether a prompt that starts no other work asks for more of the work
// at hand, so that its end is not what is due: a correction, a fault, a further wish. Going
// on, consent, praise, thanks and what a host writes by itself ask for nothing new.
func AsksForMore(prompt string) bool {
	prompt = core.Cut(prompt, maxPrompt)
	if ofHost(prompt) || core.SaysGoOn(prompt) {
		return false
	}
	said := statements(prompt)
	if slices.ContainsFunc(said, func(s statement) bool { return slices.ContainsFunc(s.words, tellsOfFault) }) {
		return true
	}
	if len(said) > 0 && closing.has(said[0].words[0]) && !slices.ContainsFunc(said, func(s statement) bool { return s.asks || s.has(turning...) }) {
		return false
	}
	wish := 0
	for _, word := range core.Keywords(prompt) {
		if !closing.has(word) && !keeping.has(word) {
			wish++
		}
	}
	return wish >= minMore || wish > 0 && strings.Contains(prompt, "?")
}

// turning are words after which praise goes over to a wish.
var turning = strings.Fields("but however also now next then only except still please aber noch mais pero")

// tellsOfFault reports whether a word says that something is wrong, or is to be taken back.
func tellsOfFault(word string) bool {
	return defectWords.has(word) || word == "revert" || word == "undo"
}

// minMore is how many words that say something make a wish.
const minMore = 2

// keeping words ask to keep what was done.
var keeping = wordSet(`commit push merge save amend tag all it that this everything now please go`)
