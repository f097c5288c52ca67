package core

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"
)

// unitsPerToken is how many UTF-16 code units count as one token (the first
// description: about four characters a token).
const unitsPerToken = 4

// EstimateTokens estimates the tokens of s: its length in UTF-16 code units
// divided by four, rounded up.
func EstimateTokens(s string) int { return tokensOf(units(s)) }

// tokensOf returns the tokens that n UTF-16 code units count as.
func tokensOf(n int) int { return (n + unitsPerToken - 1) / unitsPerToken }

// units returns the length of s in UTF-16 code units.
func units(s string) (n int) {
	for _, r := range s {
		n += runeUnits(r)
	}
	return n
}

func runeUnits(r rune) int {
	if r > math.MaxUint16 {
		return 2
	}
	return 1
}

// Truncate cuts s to maxTokens, indicator included, and reports whether it had
// to. It cuts at the last space if that loses less than a fifth, and never
// inside a character. If not even the indicator fits, it returns the indicator
// alone.
func Truncate(s string, maxTokens float64, indicator string) (string, bool) {
	if s == "" || float64(EstimateTokens(s)) <= maxTokens {
		return s, false
	}
	limit := maxTokens*unitsPerToken - float64(units(indicator))
	if !(limit > 0) {
		return indicator, true
	}
	return wholeWords(head(s, int(limit), runeUnits), limit, runeUnits) + indicator, true
}

// head returns the longest beginning of s that is at most limit wide.
func head(s string, limit int, width func(rune) int) string {
	for i, r := range s {
		if limit -= width(r); limit < 0 {
			return s[:i]
		}
	}
	return s
}

// wholeWords cuts s at its last space if more than four fifths of limit remain.
func wholeWords(s string, limit float64, width func(rune) int) string {
	space := strings.LastIndexByte(s, ' ')
	if space < 0 {
		return s
	}
	kept := 0
	for _, r := range s[:space] {
		kept += width(r)
	}
	if float64(kept) > 0.8*limit {
		return s[:space]
	}
	return s
}

// stopWords carry no meaning of their own.
var stopWords = lo.Keyify(strings.Fields(`the a an and or but in on at to for of with by from as is was
		are were been be have has had do does did will would could should may might must shall can
		need this that these those it its i you he she we they`))

// minKeyword is the length in characters of the shortest keyword.
const minKeyword = 3

// Keywords returns the words of s that carry meaning, in lower case, each once,
// in order of first appearance. A word is a run of letters and digits of any
// script.
func Keywords(s string) []string {
	keywords := []string{}
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !inWord(r) }) {
		if _, stop := stopWords[word]; !stop && utf8.RuneCountInString(word) >= minKeyword && !seen[word] {
			seen[word] = true
			keywords = append(keywords, word)
		}
	}
	return keywords
}

// inWord reports whether r can be part of a word. Marks can: otherwise
// decomposed accents and the vowels of Indic scripts would split words.
func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// hasWord reports whether text contains word as a whole word; both are in lower case.
func hasWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = end
	}
}

// QueryWords returns the words of a query, in lower case.
func QueryWords(query string) []string {
	return strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !inWord(r) })
}

// Matching returns the texts that contain one of the words of a query.
func Matching(texts []string, query string) []string {
	words := QueryWords(query)
	return lo.Filter(texts, func(text string, _ int) bool {
		lower := strings.ToLower(text)
		return slices.ContainsFunc(words, func(word string) bool { return hasWord(lower, word) })
	})
}

var xmlEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// EscapeXML makes s fit for an element or an attribute of XML 1.0: five
// characters become entities, and characters that XML cannot hold are dropped.
func EscapeXML(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || asciiWidths[s[i]] != 1 {
			return xmlEntities.Replace(strings.Map(legalXML, s))
		}
	}
	return s // nearly all texts need no change
}

// legalXML returns r, or -1 if XML 1.0 cannot hold it (its production Char).
func legalXML(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return r
	case r < ' ', r == 0xFFFE, r == 0xFFFF:
		return -1
	}
	return r
}

// xmlWidth returns the UTF-16 code units that r takes after EscapeXML.
func xmlWidth(r rune) int {
	switch r {
	case '<', '>':
		return len("&lt;")
	case '&':
		return len("&amp;")
	case '"', '\'':
		return len("&quot;")
	}
	if legalXML(r) < 0 {
		return 0
	}
	return runeUnits(r)
}

// asciiWidths has xmlWidth of the ASCII characters, which are most of all
// counted characters.
var asciiWidths = func() (widths [utf8.RuneSelf]uint8) {
	for r := range widths {
		widths[r] = uint8(xmlWidth(rune(r)))
	}
	return widths
}()

// xmlUnits returns the UTF-16 code units of s after EscapeXML. It stops
// counting when it exceeds limit.
func xmlUnits(s string, limit int) (n int) {
	for i := 0; i < len(s) && n <= limit; {
		if s[i] < utf8.RuneSelf {
			n += int(asciiWidths[s[i]])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += xmlWidth(r)
		i += size
	}
	return n
}

// Cut returns at most max characters of s; the last of them is an ellipsis if
// something is left out.
func Cut(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	if max < 1 {
		return ""
	}
	return Head(s, max-1) + "…"
}

// OneLine turns s into a single line of at most max characters (0: any number), with an ellipsis
// where it was cut. Each run of white space becomes one space. It drops characters that steer a
// terminal.
func OneLine(s string, max int) string {
	var b strings.Builder
	count, gap := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			gap = count > 0
			continue
		case IsTerminalControl(r):
			continue
		}
		added := 1
		if gap {
			added = 2
		}
		if max > 0 && count+added > max {
			return b.String() + "…"
		}
		if gap {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		count, gap = count+added, false
	}
	return b.String()
}

// IsTerminalControl reports whether a terminal acts on r instead of showing it: a control
// character, or a change of the writing direction. Texts come from models, files and other
// machines, so flame does not trust them with these.
func IsTerminalControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Printable drops characters that steer a terminal from text, except for line ends and tabs.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && IsTerminalControl(r) {
			return -1
		}
		return r
	}, text)
}

// CodeFence returns a run of at least least backquotes that is longer than any in a text. It can
// enclose the text in Markdown.
func CodeFence(text string, least int) string {
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		least = max(least, run+1)
	}
	return strings.Repeat("`", least)
}

// Head returns at most max characters from the beginning of s.
func Head(s string, max int) string { return head(s, max, func(rune) int { return 1 }) }

// Tail returns at most max characters from the end of s.
func Tail(s string, max int) string {
	at := len(s)
	for ; at > 0 && max > 0; max-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

// UTF16Len returns the length of s in UTF-16 code units.
func UTF16Len(s string) int { return units(s) }

// CutUTF16 cuts s to at most room UTF-16 code units, with an ellipsis at the end of a cut text. It
// returns "" if the room is too small to say anything.
func CutUTF16(s string, room int) string {
	if units(s) <= room {
		return s
	}
	if room < minField {
		return ""
	}
	return head(s, room-1, runeUnits) + "…"
}

// FairShares divides room among texts by what they need, by max-min fairness: short texts stay whole, and
// long ones divide the room that those leave. It calls use with each text's index and its share, the
// one with the least need first; use returns how much of the share the text took.
func FairShares(needs []int, room int, use func(i, share int) (taken int)) {
	var few [16]int
	order := few[:0]
	for i := range needs {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return needs[a] - needs[b] })
	for n, i := range order {
		room -= use(i, max(0, min(needs[i], room/(len(order)-n))))
	}
}

// Wrap breaks a text into lines of at most width characters, between words. It
// breaks only words that are longer than a line.
func Wrap(text string, width int) (lines []string) {
	width = max(1, width)
	line, used := strings.Builder{}, 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for _, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		if used > 0 && used+1+size > width {
			end()
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		for ; size > width; size -= width {
			cut := len(string([]rune(word)[:width]))
			line.WriteString(word[:cut])
			word = word[cut:]
			end()
		}
		line.WriteString(word)
		used += size
	}
	if used > 0 {
		end()
	}
	return lines
}
