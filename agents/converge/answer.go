package converge

import (
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// An answer is an agent's last text, parsed if it is JSON.
type answer struct {
	text  string // as given
	value any    // its JSON value, or the text as it is compared
	json  bool
	words string // around the JSON

	reading parsedText // of a text
}

// fenced matches a fenced block of Markdown. A block that is not closed extends to the end,
// as in CommonMark.
var fenced = core.Pattern("(?ms)^ *(?:```[^\n]*(\n.*?)?(?:^ *```+ *$|\\z)|~~~[^\n]*(\n.*?)?(?:^ *~~~+ *$|\\z))")

// readAnswer parses as JSON a text that is nothing else, or the only fenced
// block in the text: models put words before their results. A JSON string
// counts as the text in it.
func readAnswer(text string) answer {
	if blocks := fenced().FindAllStringSubmatchIndex(text, 2); len(blocks) == 1 {
		at := blocks[0]
		inside := text[max(at[2], at[4], 0):max(at[3], at[5], 0)]
		value, ok := decode(inside)
		switch value.(type) {
		case map[string]any, []any: // a lone number or word is more likely a sample or a command
			if ok {
				return answer{text: text, value: value, json: true, words: strings.TrimSpace(text[:at[0]] + text[at[1]:])}
			}
		}
	}
	if at := strings.Index(text, "\n{"); at >= 0 {
		if value, ok := decode(text[at:]); ok {
			return answer{text: text, value: value, json: true, words: strings.TrimSpace(text[:at])}
		}
	}
	value, ok := decode(text)
	if words, isText := value.(string); ok && isText {
		text = words
	} else if ok {
		return answer{text: text, value: value, json: true}
	}
	return answer{text: text, value: normal(text), reading: readText(text)}
}

func (a answer) blank() bool { return a.value == nil || !a.json && a.value == "" }

// object returns the answer's fields, or nil if it is not a JSON object.
func (a answer) object() map[string]any {
	fields, _ := a.value.(map[string]any)
	return fields
}

func (a answer) around() []string { return lo.Compact(strings.Split(a.words, "\n")) }

func (a answer) whole() any {
	if a.json {
		return a.value
	}
	return a.text
}
