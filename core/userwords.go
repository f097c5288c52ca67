package core

import (
	"fmt"
	"slices"
	"strings"
)

// maxWords is the room for a user's words in a context, in UTF-16 code units.
const maxWords = unitsPerToken * 800

// BuildUserWords returns a text with what the user said in a session, the newest last, in at most
// maxWords UTF-16 code units, and a third of maxChars (0: no limit). Short texts stay whole; long ones
// share the room. If there is not even a line for each, those in the middle go: the first ones say
// what holds for all of the work. search is the tool that finds the rest of what was said and done.
func BuildUserWords(said []string, search string, maxChars int) string {
	room := maxWords
	if maxChars > 0 {
		room = min(room, maxChars/3)
	}
	const (
		end  = "</flame-user-words>"
		tags = len("  <said></said>\n")
		line = 60
	)
	open := func(omitted int) string {
		return "<flame-user-words" + attr("omitted", omitted) + ">\n  <note>The user said this in this session, oldest first. " +
			"What it asks or forbids in general still holds. " + search + " finds the rest of what was said and done.</note>\n"
	}
	room -= units(open(1_000_000)) + len(end)
	most := min(len(said), room/(tags+line))
	if most <= 0 {
		return ""
	}
	first := most / 3
	shown := slices.Concat(said[:first], said[len(said)-(most-first):])
	needs, texts := make([]int, len(shown)), make([]string, len(shown))
	for i, text := range shown {
		needs[i] = tags + units(EscapeXML(text))
	}
	FairShares(needs, room, func(i, share int) int {
		text := strings.TrimSpace(Printable(shown[i]))
		if short := head(text, share-tags-1, xmlWidth); needs[i] > share {
			text = short + "…"
		}
		texts[i] = fmt.Sprintf("  <said>%s</said>\n", EscapeXML(text))
		return units(texts[i])
	})
	return open(len(said)-most) + strings.Join(texts, "") + end
}
